// Dates and decimals: what filters hand over, and what sources write.

const DAY_MS = 86_400_000;

/** Days since 1970 (the value of a filter on a `date`) as `2024-02-29`. */
export const isoDate = (days) => new Date(Number(days) * DAY_MS).toISOString().replace(/T.*$/, "");

/** Microseconds since 1970 (the value of a filter on a `timestamp`) as `2024-02-29T13:45:00.000001`, without a zone. */
export function isoTimestamp(micros) {
  // Also what `json.parse` makes of nanoseconds, divided.
  micros = Number(micros);
  const ms = Math.floor(micros / 1_000);
  const rest = String(micros - ms * 1_000).padStart(3, "0");
  const text = new Date(ms).toISOString().slice(0, -1);
  return rest === "000" ? text.replace(/\.000$/, "") : text + rest;
}

/** As `isoTimestamp`, for a `timestamp-utc`: with a `Z`. */
export const isoTimestampUtc = (micros) => `${isoTimestamp(micros)}Z`;

/** Microseconds since midnight (the value of a filter on a `time`) as `13:45:00` or `13:45:00.5`. */
export function isoTime(micros) {
  const text = isoTimestamp(micros).slice(11);
  return text.includes(".") ? text.replace(/0+$/, "") : text;
}

/** `2024-02-29` as days since 1970. */
export const daysOf = (date) => numbered(Date.parse(`${date}T00:00:00Z`), date, "date") / DAY_MS;

/** A timestamp in ISO 8601 form as microseconds since 1970. Without a zone it is in UTC. */
export function microsOf(timestamp) {
  const [, head, fraction = "", zone = ""] =
    /^(\d{4}-\d\d-\d\d[T ]\d\d:\d\d(?::\d\d)?)(?:\.(\d+))?(Z|[+-]\d\d:?\d\d)?$/i.exec(timestamp) ?? [null, ""];
  const seconds = Date.parse(`${head.replace(" ", "T")}${zone || "Z"}`);
  return numbered(seconds, timestamp, "timestamp") * 1_000 + Number(fraction.padEnd(6, "0").slice(0, 6));
}

function numbered(value, text, what) {
  if (Number.isNaN(value)) throw new RangeError(`${text} is no ${what} in ISO 8601 form`);
  return value;
}

/**
 * A decimal in the smallest unit: `minorOf("12.50", 2)` is `1250n`, and so is `minorOf("125e-1", 2)`. More digits than that
 * are a `RangeError`.
 */
export function minorOf(decimal, digits) {
  const text = String(decimal);
  const match = /^([+-]?)(\d*)\.?(\d*)(?:e([+-]?\d{1,4}))?$/i.exec(text);
  if (!match || match[2] + match[3] === "") throw new RangeError(`${text} is no decimal`);
  const [, sign, whole, fraction, exponent = "0"] = match;
  const shift = Number(exponent) + digits - fraction.length;
  const scale = 10n ** BigInt(Math.abs(shift));
  let units = BigInt(whole + fraction);
  if (shift < 0 && units % scale !== 0n) {
    throw new RangeError(`${text} has more than ${digits} digits after the point`);
  }
  units = shift < 0 ? units / scale : units * scale;
  return sign === "-" ? -units : units;
}

/** The smallest unit as a decimal: `decimalOf(1250n, 2)` is `"12.50"`. */
export function decimalOf(minor, digits) {
  const units = BigInt(minor);
  const text = String(units < 0n ? -units : units).padStart(digits + 1, "0");
  const split = text.length - digits;
  return `${units < 0n ? "-" : ""}${text.slice(0, split)}${digits > 0 ? `.${text.slice(split)}` : ""}`;
}
