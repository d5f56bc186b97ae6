// What the console saw of a rollout: the counters of both versions, each time it asked. Kept while the tab is open, so that
// leaving the page and coming back loses nothing.
import type { Schemas } from "../lib/api";
import { faultsOf } from "../lib/plugin_usage";

type Rollout = Schemas["Rollout"];

/** Counters of a version. */
export interface Counters {
  calls: number;
  faults: number;
  ns: number;
}

interface Sample {
  /** Milliseconds since 1970. */
  at: number;
  stage: Rollout["stage"];
  old: Counters;
  new: Counters;
}

/** What a version did between two samples; null if it was not called. */
export interface Value {
  latency: number;
  faultRate: number;
}

export interface Point {
  /** Milliseconds since 1970. */
  at: number;
  old: Value | null;
  new: Value | null;
}

export interface Mark {
  at: number;
  stage: Rollout["stage"];
}

/** Samples of a rollout that are kept; beyond that, every other one goes. */
const KEPT = 600;
const seen = new Map<string, Sample[]>();

function countersOf(usage: Schemas["PluginUsage"], digest: string | null): Counters {
  const found = usage.since_start.find((one) => one.digest === digest)?.figures;
  return found ? { calls: found.calls, faults: faultsOf(found), ns: found.call_ns } : { calls: 0, faults: 0, ns: 0 };
}

/** Keeps what the server counts now. */
export function keep(rollout: Rollout, usage: Schemas["PluginUsage"]): void {
  const samples = seen.get(rollout.id) ?? [];
  samples.push({ at: Date.now(), stage: rollout.stage, old: countersOf(usage, rollout.from), new: countersOf(usage, rollout.to) });
  // Counters only grow, so what remains still tells all, in longer steps.
  const rest = samples.length > KEPT ? samples.filter((_, index) => index % 2 === 0 || index === samples.length - 1) : samples;
  seen.set(rollout.id, rest);
}

function between(before: Counters, after: Counters): Value | null {
  const calls = after.calls - before.calls;
  // Fewer than before: the server was started again.
  if (calls <= 0) return null;
  return { latency: (after.ns - before.ns) / calls / 1e6, faultRate: Math.min((after.faults - before.faults) / calls, 1) };
}

/** What was seen of a rollout. */
export interface Seen {
  /** Since when, in milliseconds since 1970. */
  from: number;
  /** What both versions did from one sample to the next. */
  points: Point[];
  marks: Mark[];
  /** What they did in all that time. */
  old: Counters;
  new: Counters;
}

function added(before: Counters, after: Counters): Counters {
  const less = (name: keyof Counters) => Math.max(after[name] - before[name], 0);
  return { calls: less("calls"), faults: less("faults"), ns: less("ns") };
}

/** Null until there are two samples. */
export function seenOf(id: string): Seen | null {
  const samples = seen.get(id);
  if (!samples || samples.length < 2) return null;
  const points = samples.slice(1).map((one, index): Point => {
    const before = samples[index]!;
    return { at: one.at, old: between(before.old, one.old), new: between(before.new, one.new) };
  });
  const marks = samples.filter((one, index) => index > 0 && one.stage !== samples[index - 1]!.stage).map(({ at, stage }) => ({ at, stage }));
  const [first, last] = [samples[0]!, samples[samples.length - 1]!];
  return { from: first.at, points, marks, old: added(first.old, last.old), new: added(first.new, last.new) };
}
