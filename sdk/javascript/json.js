// JSON whose numbers keep their digits. JavaScript's own are exact to 2^53 and to some 15 digits.

/** A number as text, for what JavaScript cannot hold: `new Decimal("0.1234567890123456789")`. */
export class Decimal {
  #text;

  constructor(text) {
    if (!/^[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d{1,4})?$/i.test(String(text))) throw new SyntaxError(`${text} is no number`);
    this.#text = String(text);
  }

  /** Its digits as they were written. */
  toString() {
    return this.#text;
  }

  toJSON() {
    return this.#text;
  }

  /** The nearest number of JavaScript. */
  valueOf() {
    return Number(this.#text);
  }
}

/** Strings, so that no number is looked for in one, and numbers. */
const TOKEN = /"(?:[^"\\]|\\.)*"|-?\d[\d.eE+-]*/g;
/** Numbers of this size stand for the others while a text is parsed; one that is larger by itself is another's, too. */
const STAND_IN = 1e300;
/** A number may have an exponent of at most four digits: `1e99999999` is a short text and a long number. */
const LONGEST_EXPONENT = 4;

/**
 * As `JSON.parse`, but a whole number beyond 2^53 becomes a `BigInt`, and another number whose digits JavaScript would
 * change becomes a `Decimal`. All others are numbers.
 */
export function parse(text) {
  const exact = [];
  const marked = text.replace(TOKEN, (token) => {
    if (token[0] === '"' || isExact(token)) return token;
    return `${exact.push(number(token))}e300`;
  });
  if (exact.length === 0) return JSON.parse(text);
  return JSON.parse(marked, (_key, value) =>
    typeof value === "number" && value >= STAND_IN ? exact[Math.round(value / STAND_IN) - 1] : value,
  );
}

/** As `JSON.stringify`, but a `BigInt` and a `Decimal` are written as numbers, with all their digits. */
export function stringify(value) {
  if (typeof value === "bigint" || value instanceof Decimal) return String(value);
  if (value === null || typeof value !== "object") return JSON.stringify(value);
  if (Array.isArray(value)) return `[${value.map((one) => stringify(one) ?? "null").join(",")}]`;
  if (typeof value.toJSON === "function") return JSON.stringify(value);
  const members = Object.entries(value).map(([name, own]) => [name, stringify(own)]);
  const known = members.filter(([, text]) => text !== undefined);
  return `{${known.map(([name, text]) => `${JSON.stringify(name)}:${text}`).join(",")}}`;
}

function isExact(token) {
  // Fifteen digits always come back as they were.
  if (token.length <= 15 && !/e/i.test(token)) return true;
  const value = Number(token);
  if (!(Math.abs(value) < STAND_IN)) return false;
  return /[.e]/i.test(token) ? sameDigits(token, value) : Number.isSafeInteger(value);
}

/** Whether a number, written by JavaScript, has the digits and the size of the token. */
function sameDigits(token, value) {
  const [own, shown] = [canonical(token), canonical(String(value))];
  return own.digits === shown.digits && (own.digits === "" || own.exponent === shown.exponent);
}

/** Digits without zeros around them, and the power of ten of the last. */
function canonical(text) {
  const [, whole, fraction = "", exponent = "0"] = /^[+-]?(\d*)\.?(\d*)(?:e([+-]?\d+))?$/i.exec(text) ?? [null, "x"];
  const digits = (whole + fraction).replace(/^0+/, "");
  const kept = digits.replace(/0+$/, "");
  return { digits: kept, exponent: Number(exponent) - fraction.length + digits.length - kept.length };
}

function number(token) {
  const exponent = /e[+-]?0*(\d*)$/i.exec(token)?.[1] ?? "";
  if (!/^-?(0|[1-9]\d*)(\.\d+)?(e[+-]?\d+)?$/i.test(token) || exponent.length > LONGEST_EXPONENT) {
    throw new SyntaxError(`${token.slice(0, 40)} is no number that can be read`);
  }
  return /[.e]/i.test(token) ? new Decimal(token) : BigInt(token);
}
