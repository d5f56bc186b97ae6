// Who is signed in. The key is kept in memory; in `sessionStorage`, which ends with the tab, only on request.
import { signal } from "@preact/signals";
import type { ApiError, Schemas } from "./api";

const KEPT = "mindhost.key";

export const key = signal<string | null>(sessionStorage.getItem(KEPT));
export const me = signal<Schemas["CurrentKey"] | null>(null);
/** Why the last session ended, or why a link did not begin one; null if it ended by choice. */
export const endReason = signal<ApiError | null>(null);
export const isKept = signal(key.value !== null);

let requests = new AbortController();

/** Ends with the session: what was asked with its key is not waited for any more. */
export const sessionSignal = (): AbortSignal => requests.signal;

export function begin(text: string, who: Schemas["CurrentKey"], keep: boolean): void {
  endReason.value = null;
  key.value = text;
  me.value = who;
  keepInTab(keep);
}

export function keepInTab(keep: boolean): void {
  isKept.value = keep;
  if (keep && key.value) sessionStorage.setItem(KEPT, key.value);
  else sessionStorage.removeItem(KEPT);
}

export function ended(reason: ApiError | null): void {
  requests.abort();
  requests = new AbortController();
  sessionStorage.removeItem(KEPT);
  isKept.value = false;
  key.value = null;
  me.value = null;
  endReason.value = reason;
}
