// Waiting over WASI, never longer than the host allows.

import control from "mindhost:plugin/control@0.1.0";
import { PluginError } from "./error.js";
import { clock, poll } from "./wasi.js";

/** Milliseconds until the host ends this call. */
export const remainingMs = () => Number(control.remainingMs());

/** Whether the host wants this call to end early. */
export const isCancelled = () => control.isCancelled();

/**
 * Waits for a pollable: not longer than `ms`, the host's deadline and the host's patience. `what` is what did not
 * happen in time: `no answer came`.
 */
export function wait(ready, ms, what) {
  const limit = Math.max(0, Math.min(ms, remainingMs()));
  const [cancelled, isReady] = waited(limit, [ready]);
  if (cancelled) throw new PluginError("cancelled", "the host cancelled the call");
  if (!isReady) throw new PluginError("timeout", `${what} within ${limit} ms`);
}

/** Waits; false if the host cancelled the call before that. */
export const sleep = (ms) => !waited(Math.min(ms, remainingMs()), [])[0];

/** Whether the call was cancelled, and whether a pollable became ready, after at most so long. */
function waited(ms, pollables) {
  const timer = clock.subscribeDuration(Math.ceil(ms * 1_000_000));
  const cancelled = control.cancelled();
  try {
    const woken = [...poll.poll([cancelled, timer, ...pollables])];
    return [woken.includes(0), woken.includes(2)];
  } finally {
    cancelled[Symbol.dispose]();
    timer[Symbol.dispose]();
  }
}
