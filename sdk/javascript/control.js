// The host's word on the call that is running, and its log.

import control from "mindhost:plugin/control@0.1.0";
import hostLog from "mindhost:plugin/log@0.1.0";
import { PluginError } from "./error.js";
import { clock, poll } from "./wasi.js";

/** Milliseconds until the host ends this call. */
export const remainingMs = () => Number(control.remainingMs());

/** Whether the host wants this call to end early. */
export const isCancelled = () => control.isCancelled();

/** Throws `cancelled` when the host wants this call to end early. Ask in every long loop. */
export function check() {
  if (control.isCancelled()) throw new PluginError("cancelled", "the host cancelled the call");
}

/**
 * Waits for a pollable: not longer than `ms`, the host's deadline and the host's patience. `what` is what did not
 * happen in time: `no answer came`.
 */
export function wait(ready, ms, what) {
  const limit = Math.max(0, Math.min(ms, remainingMs()));
  const timer = clock.subscribeDuration(limit * 1_000_000);
  const cancelled = control.cancelled();
  try {
    const woken = [...poll.poll([ready, cancelled, timer])];
    if (woken.includes(1)) throw new PluginError("cancelled", "the host cancelled the call");
    if (!woken.includes(0)) throw new PluginError("timeout", `${what} within ${limit} ms`);
  } finally {
    cancelled[Symbol.dispose]();
    timer[Symbol.dispose]();
  }
}

/** Lines for the host's log, limited in rate and length. No secrets. */
export const log = {
  debug: (message) => hostLog.log("debug", String(message)),
  info: (message) => hostLog.log("info", String(message)),
  warn: (message) => hostLog.log("warn", String(message)),
  error: (message) => hostLog.log("error", String(message)),
};
