// Files that the configuration names. A path in the configuration is already the path inside of the sandbox.

import { PluginError } from "./error.js";
import { host } from "./host.js";
import { decode, lines } from "./text.js";

const READ = 64 * 1024;

/** The bytes of a file in pieces. */
export function* pieces(path) {
  const file = host().openFile(path);
  try {
    let at = 0;
    for (;;) {
      const bytes = file.read(READ, at);
      if (bytes.length === 0) return;
      at += bytes.length;
      yield bytes;
    }
  } finally {
    file.close();
  }
}

/** The lines of a text file, without their ends. */
export const readLines = (path) => lines(pieces(path));

/** A whole text file; more than `limit` bytes are the error `too-large`. */
export function readText(path, limit = 8 << 20) {
  const bytes = [];
  for (const piece of pieces(path)) {
    if (bytes.length + piece.length > limit) throw new PluginError("too-large", `${path} is larger than ${limit} bytes`);
    for (const byte of piece) bytes.push(byte);
  }
  return decode(new Uint8Array(bytes));
}

/** The names in a directory, sorted. */
export const list = (path) => host().list(path).sort();
