// JSON values out of a body that arrives in pieces.

import { PluginError } from "./error.js";

const [QUOTE, ESCAPE, COMMA, OBJECT, OBJECT_END, LIST, LIST_END] = Array.from('"\\,{}[]', (sign) => sign.charCodeAt(0));
const isBlank = (byte) => byte === 0x20 || byte === 0x09 || byte === 0x0a || byte === 0x0d;
const isMark = (byte) => byte === COMMA || byte === OBJECT_END || byte === LIST_END;
const opens = (byte) => byte === OBJECT || byte === LIST;

/** What may stand between two values, by where that is. */
const EXPECTED = {
  top: "a value",
  arrayStart: "a value or `]`",
  afterComma: "a value",
  afterElement: "`,` or `]`",
};

/**
 * The bytes of each value, and the byte of the body at which it begins, counted from 1. An array at the top is opened:
 * its elements are the values. With `lines` it is a value itself.
 */
export function* jsonValues(pieces, { limit, lines = false, status }) {
  let rest = [];
  let length = 0;
  let place = "top";
  let [depth, isString, isEscaped, isScalar] = [0, false, false, false];
  // Bytes before this piece, and before the value.
  let [before, start] = [0, 0];
  for (const piece of pieces) {
    let kept = 0;
    for (let at = 0; at < piece.length; at += 1) {
      const byte = piece[at];
      let end = at + 1;
      if (isString) {
        if (isEscaped || byte === ESCAPE) isEscaped = !isEscaped;
        else if (byte === QUOTE) isString = false;
        if (isString || depth > 0) continue;
      } else if (depth > 0) {
        if (byte === QUOTE) isString = true;
        else if (opens(byte)) depth += 1;
        else if (byte === OBJECT_END || byte === LIST_END) depth -= 1;
        if (depth > 0) continue;
      } else if (isScalar) {
        if (!isBlank(byte) && !isMark(byte) && !opens(byte) && byte !== QUOTE) continue;
        // This byte is read again, as one behind the value.
        [isScalar, end] = [false, at];
      } else {
        if (isBlank(byte)) continue;
        const next = following(place, byte, lines);
        if (next) {
          place = next;
          continue;
        }
        if (place === "afterElement" || isMark(byte)) throw notJson(status, before + at + 1, EXPECTED[place]);
        [kept, start, isString, depth] = [at, before + at, byte === QUOTE, opens(byte) ? 1 : 0];
        isScalar = !isString && depth === 0;
        continue;
      }
      const value = joined(rest, length, piece.subarray(kept, end));
      if (value.length > limit) throw tooLarge(limit);
      [rest, length, at] = [[], 0, end - 1];
      if (place !== "top") place = "afterElement";
      yield [start + 1, value];
    }
    if (isString || isScalar || depth > 0) {
      rest.push(piece.subarray(kept));
      length += piece.length - kept;
    }
    if (length > limit) throw tooLarge(limit);
    before += piece.length;
  }
  if (depth > 0 || isString || place !== "top") {
    throw new PluginError("connection-lost", "the response ended in the middle of a JSON value");
  }
  if (isScalar) yield [start + 1, joined(rest, length, new Uint8Array(0))];
}

/** Where the body goes on after a sign of the array at the top; null if the byte is none. */
function following(place, byte, lines) {
  if (place === "top") return byte === LIST && !lines ? "arrayStart" : null;
  if (byte === LIST_END && place !== "afterComma") return "top";
  return byte === COMMA && place === "afterElement" ? "afterComma" : null;
}

function notJson(status, at, expected) {
  return new PluginError("upstream", `the response (status ${status}) is not JSON at byte ${at}: expected ${expected}`);
}

function tooLarge(limit) {
  return new PluginError("too-large", `a value of the response is longer than ${limit} bytes`);
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
