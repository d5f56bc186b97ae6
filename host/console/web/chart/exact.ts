// Values beside the pointer, which are exact where an axis has no room for that.
import type { ChartSpec } from "./spec";

/** The name of `exactly` in expressions of Vega. */
export const EXACTLY = "exactly";

const DIGITS = 15;
/** A number whose last digits are the noise of binary fractions is shorter by more than this without them. */
const NOISE = 4;
const plain = new Intl.NumberFormat(undefined, { maximumFractionDigits: 20 });

const digitsOf = (value: number): number => String(value).replace(/e.*/, "").replace(/\D/g, "").replace(/^0+|0+$/g, "").length;

/** A number with all its digits. */
export function exactly(value: unknown): string {
  if (typeof value !== "number" || !Number.isFinite(value)) return value === null || value === undefined ? "NULL" : String(value);
  const short = Number(value.toPrecision(DIGITS));
  const text = String(digitsOf(value) - digitsOf(short) > NOISE ? short : value);
  // The text, not the number: all digits are written as they are.
  const shown = text.includes("e") ? text : plain.format(text as Intl.StringNumericLiteral);
  return shown.replace(/^-/, "−");
}

const DATE = "%-d %b %Y";

/** The format of times, as fine as the finest of them. */
export function timeFormat({ data, encoding }: ChartSpec): string {
  const fields = Object.values(encoding).filter((one) => one.type === "temporal" && one.field).map((one) => one.field!);
  const texts = data.values.flatMap((row) => fields.map((field) => String(row[field])));
  const clocks = texts.map((text) => /\d[T ](\d\d:\d\d)(?::(\d\d)(\.\d+)?)?/.exec(text));
  if (clocks.some((clock) => Number(clock?.[3] ?? 0) !== 0)) return `${DATE} %H:%M:%S.%L`;
  if (clocks.some((clock) => Number(clock?.[2] ?? 0) !== 0)) return `${DATE} %H:%M:%S`;
  return clocks.some((clock) => (clock?.[1] ?? "00:00") !== "00:00") ? `${DATE} %H:%M` : DATE;
}
