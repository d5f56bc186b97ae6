// Ways to sign in: with a key, with the key that the tab kept, and with a one-time link.
import { ApiError, api, send, take, toError } from "./api";
import { begin, ended, isKept, key } from "./session";

/** Signs in with a key. Throws what the server says of a wrong one. */
export async function signIn(text: string, keep: boolean): Promise<void> {
  // No header can hold it, and what the browser says of that tells nobody what to do.
  if (/[^\x21-\x7E]/.test(text)) throw new ApiError("This is no API key: it has a space or another character that no key has. Copy it again.", "console", 0, null);
  key.value = text;
  try {
    const who = await take(api.GET("/api/v1/keys/current"));
    begin(text, who, keep);
  } catch (error) {
    ended(null);
    throw error;
  }
}

/** The code of a one-time link. It leaves the address at once, so that no history and no copied address holds it. */
function takeCode(): string | null {
  const code = new URLSearchParams(location.hash.slice(1)).get("code");
  if (code !== null) history.replaceState(null, "", location.pathname + location.search);
  return code;
}

/** Signs in with a link or with the kept key, if there is one. */
export async function resume(): Promise<void> {
  const code = takeCode();
  try {
    if (code !== null) {
      const body = JSON.stringify({ code });
      const headers = { "Content-Type": "application/json" };
      ended(null);
      const answer = await send("/api/v1/console/sign-in", { method: "POST", headers, body });
      await signIn(((await answer.json()) as { key: string }).key, false);
    } else if (key.value) {
      await signIn(key.value, isKept.value);
    }
  } catch (error) {
    ended(toError(error));
  }
}
