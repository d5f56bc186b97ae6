// What plugins used, as their page and the operations show it.
import { api, take, toError, type Schemas } from "./api";

export type Figures = Schemas["PluginFigures"];
export type DayLine = Schemas["PluginUsageLine"];

/** Lines of days that are asked for at most; the server gives no more at a time. */
export const LINES = 10_000;

/** The sum of some figures. */
export interface Total {
  calls: number;
  faults: number;
  ns: number;
  rows: number;
  bytes: number;
  input_tokens: number;
  output_tokens: number;
}

/** Null for a plugin that was never used, which the server answers with 404. */
export async function usageOf(name: string, query: { from?: string; limit?: number }, signal: AbortSignal): Promise<Schemas["PluginUsage"] | null> {
  try {
    return await take(api.GET("/api/v1/plugins/{name}/usage", { params: { path: { name }, query }, signal }));
  } catch (thrown) {
    const error = toError(thrown);
    if (error.status === 404 && error.code === "plugin_not_found") return null;
    throw thrown;
  }
}

/** Failures that the plugin alone caused. Its errors include its traps, and the calls that were refused in a quarantine. */
export const faultsOf = (figures: Figures): number => Math.max(figures.plugin_errors - figures.refused, figures.traps);

export function sum(all: Figures[]): Total {
  const total: Total = { calls: 0, faults: 0, ns: 0, rows: 0, bytes: 0, input_tokens: 0, output_tokens: 0 };
  for (const one of all) {
    total.calls += one.calls;
    total.faults += faultsOf(one);
    total.ns += one.call_ns;
    total.rows += one.rows;
    total.bytes += one.result_bytes;
    total.input_tokens += one.input_tokens;
    total.output_tokens += one.output_tokens;
  }
  return total;
}

export const tokensOf = (total: Total): number => total.input_tokens + total.output_tokens;

/** Mean time of a call, in milliseconds; 0 without any. */
export const meanMs = (total: Pick<Total, "calls" | "ns">): number => (total.calls === 0 ? 0 : total.ns / total.calls / 1e6);

/** The first day, in UTC, of so many that end today. */
export function firstDay(days: number): string {
  return new Date(Date.now() - (days - 1) * 86_400_000).toISOString().slice(0, 10);
}
