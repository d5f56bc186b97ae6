// JSON values out of a body that arrives in pieces.

import { PluginError } from "./error.js";

const [QUOTE, ESCAPE, COMMA, OBJECT, OBJECT_END, LIST, LIST_END] = Array.from('"\\,{}[]', (sign) => sign.charCodeAt(0));
const isBetween = (byte) => byte === COMMA || byte === LIST || byte === 0x20 || (byte >= 0x09 && byte <= 0x0d);

/** The bytes of values of lines, of a sequence without anything between them, or of arrays at the top. */
export function* jsonValues(pieces, limit) {
  let rest = [];
  let length = 0;
  let [depth, isString, isEscaped, arrays] = [0, false, false, 0];
  for (const piece of pieces) {
    let kept = 0;
    for (let at = 0; at < piece.length; at += 1) {
      const byte = piece[at];
      if (isString) {
        isString = byte !== QUOTE || isEscaped;
        isEscaped = byte === ESCAPE && !isEscaped;
      } else if (byte === QUOTE) {
        isString = true;
      } else if (byte === OBJECT || (byte === LIST && (depth > 0 || length > 0 || at > kept))) {
        depth += 1;
      } else if (depth > 1 && (byte === OBJECT_END || byte === LIST_END)) {
        depth -= 1;
      } else if (byte === OBJECT_END || byte === LIST_END || (depth === 0 && isBetween(byte))) {
        // The end of a value; or what stands between two, or around all of them.
        arrays += Number(byte === LIST) - Number(byte === LIST_END && depth === 0);
        const value = joined(rest, length, piece.subarray(kept, at + depth));
        [rest, length, depth, kept] = [[], 0, 0, at + 1];
        if (value.length > 0) yield value;
      }
    }
    if (kept < piece.length) rest.push(piece.subarray(kept));
    length += piece.length - kept;
    if (length > limit) throw new PluginError("too-large", `a value of the response is longer than ${limit} bytes`);
  }
  if (depth > 0 || isString || arrays > 0) {
    throw new PluginError("connection-lost", "the response ended in the middle of a JSON value");
  }
  if (length > 0) yield joined(rest, length, new Uint8Array(0));
}

function joined(parts, length, last) {
  const all = new Uint8Array(length + last.length);
  let at = 0;
  for (const part of [...parts, last]) {
    all.set(part, at);
    at += part.length;
  }
  return all;
}
