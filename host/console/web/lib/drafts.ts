// What is written and not sent yet, by its place: for those who look something up on another page and come back, and
// for those who sign in again after their key was renewed. It is in memory alone.
import { effect } from "@preact/signals";
import { me } from "./session";

const drafts = new Map<string, unknown>();
let holder: string | null = null;

// What was written with one key is nothing for the reader with another: it may be another person. A key that was renewed
// is the same.
effect(() => {
  if (me.value === null) return;
  const now = `${me.value.workspace}/${me.value.id}`;
  if (now !== holder) drafts.clear();
  holder = now;
});

export const draftOf = <T,>(place: string): T | null => (drafts.get(place) as T | undefined) ?? null;

/** Null forgets it. */
export function keepDraft<T>(place: string, draft: T | null): void {
  if (draft === null) drafts.delete(place);
  else drafts.set(place, draft);
}

export const forgetDrafts = (): void => drafts.clear();

/** What is written in the field for the next question. */
export interface Written {
  text: string;
  sql: string;
  inSql: boolean;
  /** Which Mind it goes to. */
  mind: string | null;
}

export const NEXT = "next";

/** The Mind that the next question goes to: that of a link, unless the link brings a question and another one is written
 * already. */
export function nextMind(link: URLSearchParams): string | null {
  const own = draftOf<Written>(NEXT);
  const linked = link.get("question") ?? "";
  const isWritten = own !== null && own.text.trim() !== "";
  const staysOwn = isWritten && linked !== "" && own.text !== linked;
  return staysOwn ? own.mind : (link.get("mind") ?? (isWritten ? own.mind : null));
}

/** Gives back what was sent and refused, so that it can be sent again. */
export function giveBack(text: string, sql: string | undefined, mind: string): void {
  const known = draftOf<Written>(NEXT) ?? { text: "", sql: "", inSql: false, mind };
  keepDraft<Written>(NEXT, { ...known, text: known.text || text, sql: known.sql || (sql ?? "") });
}
