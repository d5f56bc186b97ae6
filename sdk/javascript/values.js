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

/** A date, perhaps with a time of day, perhaps with a zone. */
const ISO =
  /^(\d{4}-\d\d-(\d\d))(?:[T ]([01]\d|2[0-3]):([0-5]\d)(?::([0-5]\d)(?:\.(\d+))?)?(?: ?(?:Z|([+-])(\d\d)(?::?(\d\d))?))?)?$/i;

/**
 * Text in ISO 8601 form as milliseconds and microseconds since 1970, without a zone in UTC; null for any other. For the
 * SDK itself: `Date.parse` takes other forms too, by rules of its own, and makes 1 March of 30 February.
 */
export function instantOf(text) {
  const match = ISO.exec(text);
  if (!match) return null;
  const [, date, day, hours = 0, minutes = 0, seconds = 0, fraction = "", sign, zoneHours = 0, zoneMinutes = 0] = match;
  const midnight = Date.parse(`${date}T00:00:00Z`);
  if (Number.isNaN(midnight) || new Date(midnight).getUTCDate() !== Number(day)) return null;
  const offset = (Number(zoneHours) * 60 + Number(zoneMinutes)) * (sign === "-" ? -1 : 1);
  const minute = Number(hours) * 60 + Number(minutes) - offset;
  const whole = midnight + minute * 60_000 + Number(seconds) * 1_000;
  const micros = Number(fraction.padEnd(6, "0").slice(0, 6));
  return { ms: whole + Math.floor(micros / 1_000), micros: whole * 1_000 + micros };
}

/** `2024-02-29` as days since 1970. */
export function daysOf(date) {
  const instant = /^[\d-]*$/.test(date) ? instantOf(date) : null;
  if (instant === null) throw new RangeError(`${date} is no date in ISO 8601 form`);
  return instant.ms / DAY_MS;
}

/** A timestamp in ISO 8601 form as microseconds since 1970. Without a zone it is in UTC. */
export function microsOf(timestamp) {
  const instant = instantOf(timestamp);
  if (instant === null) throw new RangeError(`${timestamp} is no timestamp in ISO 8601 form`);
  return instant.micros;
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
