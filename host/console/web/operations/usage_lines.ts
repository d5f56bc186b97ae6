// Sums of what keys or plugins used, as rows of one table.
import { api, may, take, type Schemas } from "../lib/api";
import { number } from "../lib/format";
import { LINES, sum, usageOf } from "../lib/plugin_usage";

export type Group = "key" | "mind" | "day" | "plugin";
/** Those whose lines the server sums. */
type ServerGroup = Exclude<Group, "plugin">;

export interface Row {
  id: string;
  name: string;
  requests: number;
  rows: number;
  bytes: number;
  input_tokens: number;
  output_tokens: number;
}

export interface Rows {
  rows: Row[];
  /** Why there may be more than these. */
  left: string | null;
}

export const GROUPS: Record<Group, string> = { key: "Key", mind: "Mind", day: "Day", plugin: "Plugin" };
export const groups = (): Group[] => (Object.keys(GROUPS) as Group[]).filter((one) => one !== "plugin" || may("list_plugins", "get_plugin_usage"));

/** Lines that the server sums at most. */
const MOST = 1000;

export function usageBy(group: ServerGroup, from: string, signal: AbortSignal): Promise<Schemas["Usage"]> {
  return take(api.GET("/api/v1/usage", { params: { query: { group, from, limit: MOST } }, signal }));
}

const NAMES: Record<ServerGroup, (line: Schemas["UsageLine"]) => { id: string; name: string }> = {
  // Names of keys may be alike.
  key: (line) => ({ id: line.key_id ?? "", name: line.key_name ?? line.key_id ?? "no key" }),
  mind: (line) => ({ id: line.mind ?? "", name: line.mind ?? "no Mind" }),
  day: (line) => ({ id: line.day ?? "", name: line.day ?? "" }),
};

export function rowsOf(group: ServerGroup, usage: Schemas["Usage"]): Rows {
  const rows = usage.data.map((line) => ({ ...line, ...NAMES[group](line) }));
  rows.sort((a, b) => (group === "day" ? b.name.localeCompare(a.name) : b.requests - a.requests));
  return { rows, left: usage.has_more ? `Only the first ${number(MOST)} are listed.` : null };
}

/** Of the whole host, by plugin. A plugin counts calls, of which one request may need several. */
export async function byPlugin(from: string, signal: AbortSignal): Promise<Rows> {
  const plugins = await take(api.GET("/api/v1/plugins", { signal }));
  const usages = await Promise.all(plugins.map((one) => usageOf(one.name, { from, limit: LINES }, signal)));
  const used = usages.filter((one) => one !== null).filter((one) => one.days.length > 0);
  const rows = used.map((one): Row => {
    const total = sum(one.days.map((line) => line.figures));
    return { id: one.plugin, name: one.plugin, requests: total.calls, ...total };
  });
  rows.sort((a, b) => b.requests - a.requests);
  const cut = used.filter((one) => one.has_more).map((one) => one.plugin);
  return { rows, left: cut.length > 0 ? `Only the newest ${number(LINES)} lines were counted of: ${cut.join(", ")}.` : null };
}
