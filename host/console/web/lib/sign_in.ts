// Ways to sign in: with a key, with the key that the tab kept, and with a one-time link.
import { signal } from "@preact/signals";
import { forgetDrafts } from "./drafts";
import { ApiError, api, send, take, toError } from "./api";
import { begin, endReason, ended, isKept, key } from "./session";

/** The code of a link in a tab that has a key, until somebody says which of the two to take. */
export const offered = signal<string | null>(null);

/** Signs in with a key. Throws what the server says of a wrong one. */
export async function signIn(text: string, keep: boolean): Promise<void> {
  // No header can hold it, and what the browser says of that tells nobody what to do.
  if (/[^\x21-\x7E]/.test(text)) throw new ApiError("This is no API key: it has a space or another character that no key has. Copy it again.", "console", 0, null);
  const before = key.value;
  key.value = text;
  try {
    const who = await take(api.GET("/api/v1/keys/current"));
    begin(text, who, keep);
  } catch (error) {
    // Only a refusal is about the key: a server that starts again takes it a moment later.
    if (toError(error).status === 401) ended(null);
    else key.value = before;
    throw error;
  }
}

/** The code of a one-time link. It leaves the address at once, so that no history and no copied address holds it. */
function takeCode(): string | null {
  const code = new URLSearchParams(location.hash.slice(1)).get("code");
  if (code !== null) history.replaceState(null, "", location.pathname + location.search);
  return code;
}

/** Signs in with a link or with the kept key, if there is one. Where there are both it only asks: anybody can make a
 * link to a workspace of theirs. */
export async function resume(): Promise<void> {
  const code = takeCode();
  if (code !== null && key.value) offered.value = code;
  else await enter(code);
}

/** Signs in with the code of a link, or without one with the kept key, if there is one. */
export async function enter(code: string | null): Promise<void> {
  try {
    if (code !== null) {
      const body = JSON.stringify({ code });
      const headers = { "Content-Type": "application/json" };
      ended(null);
      forgetDrafts();
      const answer = await send("/api/v1/console/sign-in", { method: "POST", headers, body });
      await signIn(((await answer.json()) as { key: string }).key, false);
    } else if (key.value) {
      await signIn(key.value, isKept.value);
    }
  } catch (error) {
    const reason = toError(error);
    if (reason.status === 401) ended(reason);
    else endReason.value = reason;
  } finally {
    offered.value = null;
  }
}
