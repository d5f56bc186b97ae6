// What is written and not sent yet, by its place: for those who look something up on another page and come back, and
// for those who sign in again after the server refused the key. It is in memory alone.
import { effect } from "@preact/signals";
import { me } from "./session";

const drafts = new Map<string, unknown>();
let workspace: string | null = null;

// What was written about one workspace is nothing for the reader of another.
effect(() => {
  if (me.value === null) return;
  if (me.value.workspace !== workspace) drafts.clear();
  workspace = me.value.workspace;
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
}

export const NEXT = "next";

/** Gives back what was sent and refused, so that it can be sent again. */
export function giveBack(text: string, sql: string | undefined): void {
  const known = draftOf<Written>(NEXT) ?? { text: "", sql: "", inSql: false };
  keepDraft<Written>(NEXT, { ...known, text: known.text || text, sql: known.sql || (sql ?? "") });
}
