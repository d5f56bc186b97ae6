// The server's specification, made for the room that there is: its width, the labels of its axes, and its text.
import { visible } from "../lib/format";
import type { Channel, ChartSpec } from "./spec";

/** A chart that is narrower is one on a phone. */
const NARROW_PX = 520;
const LETTER_PX = 7;
/** What an axis with its labels takes beside the bars or points. */
const AXIS_PX = 70;
/** The label of a month or a year, with space around it. */
const DATE_PX = 72;
const BAR_PX = 22;
/** From here on, the digits of a number say less than its exponent, and have no room beside an axis. */
const LARGE = 1e15;
/** Of the labels alone: a format would be that of the values beside the pointer too. */
const LARGE_LABEL = "format(datum.value, '.3~e')";

const isDiscrete = (channel: Channel | undefined): boolean => channel?.type === "nominal" || channel?.type === "ordinal";

/** Text as it may be shown: invisible characters as codes. */
function shown<T>(value: T): T {
  if (typeof value === "string") return visible(value) as T;
  if (Array.isArray(value)) return value.map(shown) as T;
  if (value === null || typeof value !== "object") return value;
  return Object.fromEntries(Object.entries(value).map(([name, one]) => [name, shown(one)])) as T;
}

const valuesOf = (spec: ChartSpec, channel: Channel): string[] => [...new Set(spec.data.values.map((row) => String(row[channel.field ?? ""])))];

const isLarge = (spec: ChartSpec, channel: Channel): boolean => spec.data.values.some((row) => Math.abs(Number(row[channel.field ?? ""])) >= LARGE);

/** Names below an axis stand flat if they fit, else they lean. */
function labelAngle(names: string[], width: number): number {
  const room = (width - AXIS_PX) / Math.max(names.length, 1);
  const longest = Math.max(...names.map((name) => name.length), 1);
  if (longest * LETTER_PX + 8 <= room) return 0;
  return room >= 20 ? -40 : -90;
}

/** Months or years between ticks: more often than once in each, they would be named twice. */
function everyMonthOrYear(spec: ChartSpec, channel: Channel, width: number): object | null {
  const unit = channel.axis?.["format"] === "%Y" ? "year" : channel.axis?.["format"] === "%b %Y" ? "month" : null;
  if (unit === null) return null;
  const times = valuesOf(spec, channel).map((text) => Date.parse(text)).filter(Number.isFinite);
  if (times.length === 0) return null;
  const [first, last] = [new Date(Math.min(...times)), new Date(Math.max(...times))];
  const years = last.getUTCFullYear() - first.getUTCFullYear();
  const count = unit === "year" ? years + 1 : years * 12 + last.getUTCMonth() - first.getUTCMonth() + 1;
  const needed = Math.ceil((count * DATE_PX) / Math.max(width - AXIS_PX, DATE_PX));
  const step = unit === "year" ? needed : ([1, 2, 3, 4, 6].find((step) => step >= needed) ?? 12 * Math.ceil(needed / 12));
  return step > 12 ? { interval: "year", step: step / 12 } : { interval: unit, step };
}

function height(spec: ChartSpec, isNarrow: boolean): number | { step: number } {
  if (isDiscrete(spec.encoding["y"])) return { step: spec.encoding["yOffset"] ? BAR_PX / 2 : BAR_PX };
  if (spec.encoding["row"]) return 130;
  return isNarrow ? 220 : 280;
}

/** How many charts stand beside one another. */
export const across = (spec: ChartSpec): number => (spec.encoding["column"] ? valuesOf(spec, spec.encoding["column"]).length : 1);

/** The specification for a width in pixels. */
export function fit(from: ChartSpec, width: number): ChartSpec {
  const { title: _title, description: _description, ...spec } = shown(from);
  const isNarrow = width < NARROW_PX;
  const { column, ...rest } = spec.encoding;
  const encoding = isNarrow && column ? { ...rest, row: column } : spec.encoding;
  const made = { ...spec, encoding: { ...encoding } } as ChartSpec;
  const x = made.encoding["x"];
  if (x) {
    const axis = isDiscrete(x) ? { labelAngle: labelAngle(valuesOf(made, x), width) } : { tickCount: everyMonthOrYear(made, x, width) ?? Math.ceil(width / 90) };
    made.encoding["x"] = { ...x, axis: { ...x.axis, ...axis } };
  }
  for (const name of ["x", "y"]) {
    const channel = made.encoding[name];
    if (channel?.type === "quantitative" && isLarge(from, channel)) made.encoding[name] = { ...channel, axis: { ...channel.axis, labelExpr: LARGE_LABEL } };
  }
  for (const name of ["row", "column"]) {
    const several = made.encoding[name];
    // Beside a chart the names would take its width. Their order is that of the columns.
    const header = { labelAngle: 0, labelOrient: "top", labelAnchor: "start", labelPadding: 4, title: null };
    if (several) made.encoding[name] = { ...several, sort: valuesOf(made, several), header };
  }
  const color = made.encoding["color"];
  if (color && isNarrow) made.encoding["color"] = { ...color, legend: { orient: "bottom", columns: 2 } };
  const isOne = !made.encoding["row"] && !made.encoding["column"];
  return {
    ...made,
    width: isOne ? width : Math.floor((width - AXIS_PX) / across(made)),
    height: height(made, isNarrow),
    ...(isOne && { autosize: { type: "fit-x", contains: "padding" } }),
  };
}
