// Rows of JavaScript values on their way to the host.

import { PluginError } from "./error.js";
import { Decimal, stringify } from "./json.js";
import { byteLength } from "./text.js";
import { instantOf, minorOf } from "./values.js";

/** How long the first row of a batch waits for more: a page of a slow API takes about that. */
const PATIENCE_MS = 200;
/** What a value takes beside its text or bytes. */
const FIXED = 16;

/** A column as the contract wants it: `{name, type, nativeType?, nullable?, dynamic?}`. */
export function column({ name, type = "any", nativeType = "", nullable = true, dynamic = false }) {
  if (!(type in ENCODERS)) {
    throw new PluginError("internal", `column ${name} has the unknown type ${type}`);
  }
  return { name: cut(name), dataType: type, nativeType, nullable, extra: dynamic ? [["dynamic", "true"]] : [] };
}

/** Engines name a column after its expression, however long that is; a name has 4,096 bytes and no NUL. */
function cut(name) {
  return String(name).slice(0, 1000).replaceAll("\0", "\ufffd");
}

/** An answer in progress: columns, and rows taken from an iterable as the host asks for them. */
export class Answer {
  #columns;
  #names;
  #iterator;
  #maxCellBytes;
  #isTyped;
  #waiting = null;

  /** `isTyped`: the host computes with the values, so that none may travel as text in the place of a number. */
  constructor({ columns, rows }, maxCellBytes = 16 << 20, isTyped = false) {
    this.#isTyped = isTyped;
    this.#columns = columns.map(column);
    this.#names = columns.map(({ name }) => name);
    this.#iterator = rows[Symbol.iterator]();
    this.#maxCellBytes = Number(maxCellBytes);
  }

  get columns() {
    return this.#columns;
  }

  /**
   * The next rows in both limits, and no more than there are after a fifth of a second; a larger row comes alone. Null
   * at the end.
   */
  next(maxRows, maxBytes) {
    // The engine hands numbers of 32 bits over with a sign.
    maxRows >>>= 0;
    maxBytes >>>= 0;
    const batch = [];
    let bytes = 0;
    const since = Date.now();
    while (batch.length < maxRows && (batch.length === 0 || Date.now() - since < PATIENCE_MS)) {
      const row = this.#waiting ?? this.#row();
      this.#waiting = null;
      if (row === null) break;
      if (batch.length > 0 && bytes + row.bytes > maxBytes) {
        this.#waiting = row;
        break;
      }
      bytes += row.bytes;
      batch.push(row.values);
    }
    return batch.length === 0 ? null : { tag: "rows", val: batch };
  }

  /** Ends the iteration, finished or not. */
  close() {
    this.#iterator.return?.();
  }

  #row() {
    const { done, value } = this.#iterator.next();
    if (done) return null;
    // The properties of a text would all be missing, and so NULL.
    if (value === null || typeof value !== "object") {
      const given = value === null ? "null" : typeof value;
      throw new PluginError("internal", `a row is ${given}, and neither an array nor an object`);
    }
    if (Array.isArray(value) && value.length !== this.#columns.length) {
      throw new PluginError("internal", `a row has ${value.length} values for ${this.#columns.length} columns`);
    }
    let bytes = 0;
    const values = this.#columns.map((own, index) => {
      const cell = encode(own, Array.isArray(value) ? value[index] : value[this.#names[index]]);
      if (this.#isTyped && cell.tag === "other" && /int64$/.test(own.dataType)) {
        const why = "which a scanner in JavaScript cannot give exactly; give the column the type decimal";
        // A fault of the plugin and not of the statement.
        const message = `a value of ${own.name} is beyond 2^53, ${why}`;
        throw new PluginError("internal", message, { connectionUsable: true });
      }
      const size = sizeOf(cell);
      if (size > this.#maxCellBytes) {
        throw new PluginError("too-large", `a value of ${own.name} is larger than ${this.#maxCellBytes} bytes`);
      }
      bytes += FIXED + size;
      return cell;
    });
    return { values, bytes };
  }
}

/** `Tagged("int64", 5)`: a value whose type the column does not say, for columns of type `any` and dynamic ones. */
export class Tagged {
  constructor(type, value) {
    this.type = type;
    this.value = value;
  }
}

function encode({ name, dataType, extra }, value) {
  if (value === null || value === undefined) return { tag: "null" };
  if (value instanceof Tagged) return ENCODERS[value.type](value.value, name);
  // A dynamic column is one whose engine does not enforce its type.
  if (dataType !== "any" && extra.length > 0 && !SUITS[dataType]?.(value)) return ENCODERS.any(value, name);
  return ENCODERS[dataType](value, name);
}

function sizeOf({ val }) {
  if (typeof val === "string") return byteLength(val);
  return val instanceof Uint8Array ? val.length : 0;
}

const SUITS = {
  boolean: (value) => typeof value === "boolean",
  int64: (value) => Number.isSafeInteger(value) || typeof value === "bigint",
  uint64: (value) => Number.isSafeInteger(value) || typeof value === "bigint",
  float64: (value) => typeof value === "number",
  text: (value) => typeof value === "string",
  bytes: (value) => value instanceof Uint8Array,
};

const ENCODERS = {
  boolean,
  int64: (value, name) => integer("int64", value, name),
  uint64: (value, name) => integer("uint64", value, name),
  float64,
  decimal: (value) => ({ tag: "decimal", val: String(value) }),
  text,
  bytes: (value) => ({ tag: "bytes", val: value }),
  date: (value, name) => temporal("date", value, name),
  time: (value) => time(value),
  timestamp: (value, name) => temporal("timestamp", value, name),
  "timestamp-utc": (value, name) => temporal("timestamp-utc", value, name),
  json: (value) => ({ tag: "json", val: typeof value === "string" ? value : stringify(value) }),
  other: (value) => ({ tag: "other", val: String(value) }),
  any: (value, name) => {
    if (typeof value === "boolean") return ENCODERS.boolean(value, name);
    if (typeof value === "bigint" || Number.isSafeInteger(value)) return ENCODERS.int64(value, name);
    if (typeof value === "number") return ENCODERS.float64(value, name);
    if (typeof value === "string") return ENCODERS.text(value, name);
    if (value instanceof Uint8Array) return ENCODERS.bytes(value);
    if (value instanceof Date) return ENCODERS["timestamp-utc"](value, name);
    if (value instanceof Decimal) return ENCODERS.decimal(value);
    return ENCODERS.json(value);
  },
};

/** The fault of a plugin whose value its column cannot hold. */
const misfit = (name, what) => new PluginError("internal", `a value of ${name} is no ${what}`);

/** Some engines have no truth values but 0 and 1. A text is none: "false" would be true. */
function boolean(value, name) {
  if (![true, false, 0, 1, 0n, 1n].includes(value)) throw misfit(name, "boolean");
  return { tag: "boolean", val: Boolean(value) };
}

/** JavaScript takes an empty text for 0, and any other that is no number for NaN. */
const FLOAT = /^\s*[+-]?((\d+(\.\d*)?|\.\d+)(e[+-]?\d+)?|NaN|Infinity)\s*$/i;

function float64(value, name) {
  const isNumber = typeof value === "number" || typeof value === "bigint" || value instanceof Decimal;
  if (!isNumber && !(typeof value === "string" && FLOAT.test(value))) throw misfit(name, "float64");
  // JavaScript reads `Infinity` in this spelling alone.
  return { tag: "float64", val: Number(typeof value === "string" ? value.replace(/infinity/i, "Infinity") : value) };
}

/** What has parts is no text: JavaScript would write `[object Object]`. */
function text(value, name) {
  const isPlain = ["string", "number", "bigint", "boolean"].includes(typeof value) || value instanceof Decimal;
  if (!isPlain) throw misfit(name, "text");
  return { tag: "text", val: String(value) };
}

/**
 * Numbers cross the boundary as JavaScript has them, exact to 2^53. A larger one keeps its digits as text, which a
 * reader of the answer cannot tell from how the host writes large numbers.
 */
function integer(tag, value, name) {
  if (Number.isSafeInteger(value)) return { tag, val: value };
  const exact = wholeOf(value);
  if (exact === null) throw misfit(name, "whole number");
  const number = Number(exact);
  return Number.isSafeInteger(number) ? { tag, val: number } : { tag: "other", val: String(exact) };
}

/** A whole number as a `BigInt`; null if it is none. `BigInt` by itself takes a blank text for 0. */
function wholeOf(value) {
  if (typeof value === "string" && !/^\s*[+-]?\d+\s*$/.test(value)) return null;
  if (typeof value === "object" && !(value instanceof Decimal)) return null;
  try {
    return value instanceof Decimal ? minorOf(value, 0) : BigInt(value);
  } catch {
    return null;
  }
}

/** A `Date`, milliseconds since 1970 in UTC, or ISO text; what cannot be read travels as the engine writes it. */
function temporal(tag, value, name) {
  let ms = value instanceof Date ? value.getTime() : value;
  if (typeof value === "string") {
    const instant = instantOf(value);
    if (instant === null) return { tag: "other", val: value };
    // Date knows no microseconds.
    if (tag !== "date" && Number.isSafeInteger(instant.micros)) return { tag, val: instant.micros };
    ms = instant.ms;
  }
  if (!Number.isFinite(ms)) throw misfit(name, tag);
  return { tag, val: tag === "date" ? Math.floor(ms / 86_400_000) : Math.floor(ms) * 1000 };
}

/** Microseconds since midnight, or `13:45:00.5`. */
function time(value) {
  if (typeof value === "number") return { tag: "time", val: value };
  const match = /^([01]\d|2[0-3]):([0-5]\d)(?::([0-5]\d)(?:\.(\d{1,6})\d*)?)?$/.exec(value);
  if (!match) return { tag: "other", val: String(value) };
  const [, hours, minutes, seconds = "0", fraction = "0"] = match;
  const whole = Number(hours) * 3600 + Number(minutes) * 60 + Number(seconds);
  return { tag: "time", val: whole * 1_000_000 + Number(fraction.padEnd(6, "0")) };
}
