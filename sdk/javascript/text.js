// UTF-8, for an engine that has no TextEncoder.

import { PluginError } from "./error.js";

/** The bytes of a text. A lone surrogate becomes U+FFFD. */
export function encode(text) {
  const bytes = [];
  for (const char of text) {
    let code = char.codePointAt(0);
    if (code >= 0xd800 && code <= 0xdfff) code = 0xfffd;
    if (code < 0x80) {
      bytes.push(code);
      continue;
    }
    const last = 0x80 | (code & 63);
    const middle = 0x80 | ((code >> 6) & 63);
    if (code < 0x800) bytes.push(0xc0 | (code >> 6), last);
    else if (code < 0x10000) bytes.push(0xe0 | (code >> 12), middle, last);
    else bytes.push(0xf0 | (code >> 18), 0x80 | ((code >> 12) & 63), middle, last);
  }
  return new Uint8Array(bytes);
}

/** How many bytes `encode` would give. */
export function byteLength(text) {
  let length = text.length;
  for (let index = 0; index < text.length; index++) {
    const unit = text.charCodeAt(index);
    if (unit < 0x80) continue;
    length += unit < 0x800 ? 1 : 2;
    // The two units of a pair are four bytes together.
    if (unit >= 0xd800 && unit < 0xdc00 && text.charCodeAt(index + 1) >= 0xdc00) index++;
  }
  return length;
}

/** The text of bytes. What is no UTF-8 becomes U+FFFD. */
export function decode(bytes) {
  const decoder = new Decoder();
  return decoder.push(bytes) + decoder.end();
}

/** More arguments than this are too many for one call. */
const PLAIN = 32_768;

/** Decodes bytes that arrive in pieces, which may cut a character. */
export class Decoder {
  #needed = 0;
  #code = 0;
  #least = 0;

  /** The text of the next bytes, but for a character that they begin and do not end. */
  push(bytes) {
    let text = "";
    for (let at = 0; at < bytes.length; at += PLAIN) text += this.#part(bytes.subarray(at, at + PLAIN));
    return text;
  }

  #part(bytes) {
    if (this.#needed > 0) return this.#push(bytes);
    const plain = String.fromCharCode.apply(null, bytes);
    return /[^\0-\x7f]/.test(plain) ? this.#push(bytes) : plain;
  }

  #push(bytes) {
    const units = [];
    let text = "";
    for (const byte of bytes) {
      this.#take(byte, units);
      if (units.length > 8192) text += String.fromCharCode(...units.splice(0));
    }
    return text + String.fromCharCode(...units);
  }

  /** What is left when nothing follows. */
  end() {
    const cut = this.#needed > 0;
    this.#needed = 0;
    return cut ? "\ufffd" : "";
  }

  #take(byte, units) {
    if (this.#needed > 0) {
      if ((byte & 0xc0) === 0x80) {
        this.#code = (this.#code << 6) | (byte & 63);
        if (--this.#needed === 0) this.#emit(units);
        return;
      }
      this.#needed = 0;
      units.push(0xfffd);
    }
    if (byte < 0x80) units.push(byte);
    else if (byte >= 0xc2 && byte < 0xe0) this.#begin(1, byte & 31, 0x80);
    else if (byte >= 0xe0 && byte < 0xf0) this.#begin(2, byte & 15, 0x800);
    else if (byte >= 0xf0 && byte < 0xf5) this.#begin(3, byte & 7, 0x10000);
    else units.push(0xfffd);
  }

  #begin(needed, code, least) {
    this.#needed = needed;
    this.#code = code;
    this.#least = least;
  }

  #emit(units) {
    const code = this.#code;
    const surrogate = code >= 0xd800 && code <= 0xdfff;
    if (code < this.#least || code > 0x10ffff || surrogate) units.push(0xfffd);
    else if (code < 0x10000) units.push(code);
    else units.push(0xd7c0 + (code >> 10), 0xdc00 + (code & 1023));
  }
}

/** The lines of a text that arrives in pieces of bytes, without their ends. One beyond `limit` is `too-large`. */
export function* lines(pieces, limit = 16 << 20) {
  const decoder = new Decoder();
  let rest = "";
  for (const piece of pieces) {
    const seen = rest.length;
    rest += decoder.push(piece);
    let from = 0;
    for (let at = rest.indexOf("\n", seen); at >= 0; at = rest.indexOf("\n", from)) {
      yield rest.slice(from, rest[at - 1] === "\r" && at > from ? at - 1 : at);
      from = at + 1;
    }
    rest = rest.slice(from);
    if (rest.length > limit) throw new PluginError("too-large", `a line is longer than ${limit} characters`);
  }
  rest += decoder.end();
  if (rest !== "") yield rest;
}
