// What the server says of a chart: a Vega-Lite specification with the rows in it. Rules of the server choose it, and name
// its fields by position, so nothing of a result is anything but a value or a title.

export interface Channel {
  field?: string;
  type?: string;
  title?: string | null;
  aggregate?: string;
  bin?: unknown;
  axis?: Record<string, unknown>;
  [other: string]: unknown;
}

export interface ChartSpec {
  title: string;
  description: string;
  data: { values: Record<string, unknown>[]; [other: string]: unknown };
  mark: { type: string; [other: string]: unknown };
  encoding: Record<string, Channel>;
  [other: string]: unknown;
}

export interface Chart {
  spec: ChartSpec;
  /** Why this chart. */
  reason: string | null;
}

/** The chart of an item or a page of rows; null if there is none. */
export function chartOf(from: { chart?: unknown; chart_reason?: string | null }): Chart | null {
  return from.chart ? { spec: from.chart as ChartSpec, reason: from.chart_reason ?? null } : null;
}

const PLACES: [string, string][] = [
  ["x", "From left to right"],
  ["y", "From bottom to top"],
  ["color", "By colour"],
];

/** The chart in words: what it shows, and what is on which axis. The values are in the table. */
export function describe({ description, data, encoding }: ChartSpec): string {
  const parts = [description];
  const several = encoding["row"] ?? encoding["column"];
  const measures = several?.field ? [...new Set(data.values.map((row) => String(row[several.field!])))] : [];
  for (const [channel, place] of PLACES) {
    const shown = encoding[channel];
    if (!shown) continue;
    // Several measures share an axis, which has no title then.
    const title = shown.title ?? measures.join(", ");
    const isTopDown = channel === "y" && (shown.type === "nominal" || shown.type === "ordinal");
    parts.push(`${isTopDown ? "From top to bottom" : place}: ${title}`);
  }
  if (measures.length > 0) parts.push(`A chart for each of: ${measures.join(", ")}`);
  return `${parts.join(". ")}.`;
}
