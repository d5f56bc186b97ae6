// Numbers, sizes and times, as the reader's locale writes them.

const whole = new Intl.NumberFormat();
const short = new Intl.NumberFormat(undefined, { maximumFractionDigits: 1 });
const compact = new Intl.NumberFormat(undefined, { notation: "compact", maximumFractionDigits: 1 });
const dateTime = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "short" });
const secondTime = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "medium" });
const utcTime = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "medium", timeZone: "UTC" });
const clockTime = new Intl.DateTimeFormat(undefined, { timeStyle: "medium" });
const monthDay = new Intl.DateTimeFormat(undefined, { day: "numeric", month: "short", timeZone: "UTC" });
const shares = new Intl.NumberFormat(undefined, { style: "percent", maximumFractionDigits: 1 });

const points = new Intl.NumberFormat(undefined, { maximumFractionDigits: 1, signDisplay: "exceptZero" });
const prices = new Intl.NumberFormat(undefined, { maximumSignificantDigits: 3 });

export const number = (value: number): string => whole.format(value);
export const brief = (value: number): string => compact.format(value);
export const percent = (fraction: number): string => shares.format(fraction);
/** The difference of two fractions. */
export const percentagePoints = (fraction: number): string => `${points.format(100 * fraction)} percentage points`;
/** An amount of money, small ones in full. */
export const price = (value: number): string => (value < 100 ? prices : whole).format(value);

export function bytes(value: number): string {
  const units = ["bytes", "kB", "MB", "GB", "TB"];
  const power = value < 1000 ? 0 : Math.min(Math.floor(Math.log10(value) / 3), units.length - 1);
  return `${short.format(value / 1000 ** power)} ${units[power]}`;
}

export function milliseconds(value: number): string {
  return value < 1000 ? `${short.format(value)} ms` : `${short.format(value / 1000)} s`;
}

/** A time of the API: seconds since 1970, or text. */
export function toDate(time: number | string): Date {
  return typeof time === "number" ? new Date(time * 1000) : new Date(time);
}

export const local = (time: Date): string => dateTime.format(time);
/** As `local`, with seconds. */
export const precise = (time: Date): string => secondTime.format(time);
/** The time of day, with seconds, in the reader's zone. */
export const clock = (time: Date): string => clockTime.format(time);
/** A day of the API, such as `2026-01-15`, which is a day in UTC. */
export const shortDay = (day: string): string => monthDay.format(new Date(day));
export const utc = (time: Date): string => `${utcTime.format(time)} UTC`;

export function plural(count: number, one: string, many = `${one}s`): string {
  return `${number(count)} ${count === 1 ? one : many}`;
}

/** What is not seen, or changes how other text is seen: controls, format characters, line separators, fillers and blanks.
 * Joiners are needed in many scripts, and the Arabic and Kaithi signs of numbers are seen. */
export const INVISIBLE = new RegExp(
  "(?![\\t\\n\\u200C\\u200D\\u0600-\\u0605\\u06DD\\u070F\\u0890\\u0891\\u08E2\\u{110BD}\\u{110CD}])" +
    "[\\p{Cc}\\p{Cf}\\p{Zl}\\p{Zp}\\u034F\\u115F\\u1160\\u17B4\\u17B5\\u2065\\u2800\\u3164\\uFFA0\\uFFF0-\\uFFF8\\u{E0000}-\\u{E007F}]",
  "gu",
);
/** A character as text that can be seen. */
export const codeOf = (code: number): string => `␛U+${code.toString(16).toUpperCase().padStart(4, "0")}`;
/** Most text has none, and is looked at quickly. */
const PLAIN = /^[\t\n\x20-\x7E]*$/;

/** Bidirectional controls and other invisible characters as visible codes, so that no text shows as another. */
export function visible(text: string): string {
  if (PLAIN.test(text)) return text;
  return text.replace(INVISIBLE, (character) => codeOf(character.codePointAt(0)!));
}
