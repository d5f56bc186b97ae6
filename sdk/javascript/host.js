// What the host gives to a plugin. In a component build.mjs puts the real one here; in Node testing.js puts a stand-in.

/**
 * @typedef {object} Host
 * @property {(level: string, line: string) => void} log one line for the plugin log
 * @property {() => number} remainingMs until the host ends the call
 * @property {() => boolean} isCancelled
 * @property {(ms: number) => boolean} sleep false if the host cancelled the call before that
 * @property {(request: object) => object} send `{status, headers, read(), close()}` for
 *     `{url, method, headers, bytes, timeoutMs}`; `read` gives bytes, and null at the end
 * @property {(path: string) => object} openFile `{read(length, at), close()}`; `read` gives bytes, none at the end
 * @property {(path: string) => string[]} list names in a directory
 */

let given = null;

/** From here on this is the host. Returns what was it before. */
export function provide(host) {
  const before = given;
  given = host;
  return before;
}

/** The host; an error where there is none. */
export function host() {
  if (given === null) {
    throw new Error("there is no host here; a unit test calls `replay()` or `standIn()` of mindhost/testing.js first");
  }
  return given;
}

/** While a component is made there is no host to talk to. */
let isLive = false;

/** The host calls: what is logged from here on has somewhere to go. */
export const called = () => {
  isLive = true;
};

/** Logs each line of a text. Says nothing where nobody listens. */
export function logLines(level, text) {
  if (!isLive || given === null) return;
  for (const line of String(text).split("\n")) given.log(level, line);
}
