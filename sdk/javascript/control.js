// The host's word on the call that is running, and its log.

import { PluginError } from "./error.js";
import { host, logLines } from "./host.js";

/** Milliseconds until the host ends this call. */
export const remainingMs = () => host().remainingMs();

/** Whether the host wants this call to end early. */
export const isCancelled = () => host().isCancelled();

/** Throws `cancelled` when the host wants this call to end early. Ask in every long loop. */
export function check() {
  if (host().isCancelled()) throw new PluginError("cancelled", "the host cancelled the call");
}

/** Waits. Throws `cancelled` if the host ends the call before that, and `timeout` at once when there is less time left. */
export function sleep(ms) {
  if (!(ms >= 0)) throw new RangeError(`sleep needs a number of milliseconds from 0, not ${ms}`);
  if (ms > remainingMs()) {
    throw new PluginError("timeout", `a wait of ${Math.ceil(ms)} ms is longer than the call may take`);
  }
  if (!host().sleep(ms)) throw new PluginError("cancelled", "the host cancelled the call");
}

/** Lines for the host's log, limited in rate and length. No secrets. */
export const log = {
  debug: (message) => logLines("debug", message),
  info: (message) => logLines("info", message),
  warn: (message) => logLines("warn", message),
  error: (message) => logLines("error", message),
};
