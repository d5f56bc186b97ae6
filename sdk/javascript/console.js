// `console` for an engine that has none: its lines go to the plugin log.

import { logLines } from "./host.js";
import { traced } from "./trace.js";

/** Longer texts are cut: a line of the log has 2,048 bytes. */
const LONGEST = 8_192;

function shown(value) {
  if (typeof value === "string") return value;
  if (value instanceof Error) return traced(value).join("\n");
  if (typeof value === "function") return `[function ${value.name || "without a name"}]`;
  if (value instanceof Uint8Array) return `Uint8Array(${value.length})`;
  if (typeof value !== "object" || value === null) return typeof value === "bigint" ? `${value}n` : String(value);
  try {
    return JSON.stringify(value, plain);
  } catch {
    return Object.prototype.toString.call(value);
  }
}

/** What JSON has no word for. */
function plain(_key, value) {
  if (typeof value === "bigint") return `${value}n`;
  if (value instanceof Map) return Object.fromEntries(value);
  if (value instanceof Set) return [...value];
  if (value instanceof Uint8Array) return `Uint8Array(${value.length})`;
  return value;
}

const logger = (level) => (...values) => logLines(level, values.map(shown).join(" ").slice(0, LONGEST));

/** `console` of a component. */
export const console = {
  debug: logger("debug"),
  log: logger("info"),
  info: logger("info"),
  warn: logger("warn"),
  error: logger("error"),
  trace: (...values) => logger("debug")(...values, `\n${traced(new Error("trace")).slice(1).join("\n")}`),
  assert: (holds, ...values) => {
    if (!holds) logger("error")("assertion failed:", ...values);
  },
};

globalThis.console = console;
