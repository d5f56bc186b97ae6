// A rollout: how far it is, how its checks went, and how old and new version compare while both serve.
import { useEffect, useRef } from "preact/hooks";
import { api, may, take, type Schemas } from "../lib/api";
import { milliseconds, number, percent } from "../lib/format";
import { useLoad } from "../lib/load";
import { Failure } from "../ui/failure";
import { Badge } from "../ui/page";
import { Time } from "../ui/time";
import { Untrusted } from "../ui/text";
import { Curve, type Point } from "./curve";

type Rollout = Schemas["Rollout"];

const STAGES: Rollout["stage"][] = ["compiling", "checking", "canary", "probation", "completed"];
const WORDS: Record<Rollout["stage"], string> = {
  compiling: "Compiling",
  checking: "Trying it on each target",
  canary: "Serves a share",
  probation: "Serves all, watched",
  completed: "Completed",
  rolled_back: "Rolled back",
  failed: "Failed",
};
const KEPT = 600;
const EVERY = 1000;

export function RolloutView({ rollout }: { rollout: Rollout }) {
  const place = STAGES.indexOf(rollout.stage);
  return (
    <section class="card stack" aria-label="Rollout">
      <div class="row">
        <h2 class="grow">Rollout of <Untrusted text={rollout.version} /></h2>
        <Badge tone="busy">{WORDS[rollout.stage]}{rollout.stage === "canary" && rollout.canary_share !== null && ` of ${percent(rollout.canary_share)}`}</Badge>
      </div>
      <ol class="stages">
        {STAGES.map((stage, index) => <li key={stage} class={index < place ? "past" : index === place ? "now" : undefined} aria-current={index === place ? "step" : undefined}>{WORDS[stage]}</li>)}
      </ol>
      {may("get_plugin_usage") && place >= STAGES.indexOf("canary") && <Live rollout={rollout} />}
    </section>
  );
}

/** What a version did since this page began to look. */
interface Side {
  calls: number;
  faults: number;
  ns: number;
}

const NONE: Side = { calls: 0, faults: 0, ns: 0 };

function sideOf(usage: Schemas["PluginUsage"], digest: string | null): Side {
  const found = usage.since_start.find((one) => one.digest === digest)?.figures;
  return found ? { calls: found.calls, faults: found.plugin_errors + found.traps, ns: found.call_ns } : NONE;
}

const minus = (one: Side, other: Side): Side => ({ calls: one.calls - other.calls, faults: one.faults - other.faults, ns: one.ns - other.ns });
const meanMs = (side: Side): number => (side.calls === 0 ? 0 : side.ns / side.calls / 1e6);
const faultRate = (side: Side): number => (side.calls === 0 ? 0 : side.faults / side.calls);

/** Both versions side by side while both serve: each second, what it had to do in that second. */
function Live({ rollout }: { rollout: Rollout }) {
  const path = { name: rollout.plugin };
  const usage = useLoad((signal) => take(api.GET("/api/v1/plugins/{name}/usage", { params: { path }, signal })), [rollout.id], () => EVERY);
  const seen = useRef<{ first: [Side, Side]; last: [Side, Side]; latency: Point[]; faults: Point[] } | null>(null);
  const now: [Side, Side] | null = usage.data && [sideOf(usage.data, rollout.from), sideOf(usage.data, rollout.to)];
  useEffect(() => {
    if (!now) return;
    if (!seen.current) {
      seen.current = { first: now, last: now, latency: [], faults: [] };
      return;
    }
    const { last, latency, faults } = seen.current;
    const [old, young] = [minus(now[0], last[0]), minus(now[1], last[1])];
    const at = Date.now();
    latency.push({ at, old: meanMs(old), new: meanMs(young) });
    faults.push({ at, old: faultRate(old), new: faultRate(young) });
    for (const list of [latency, faults]) list.splice(0, list.length - KEPT);
    seen.current.last = now;
  }, [usage.data]);
  if (usage.error && !now) return <Failure error={usage.error} />;
  if (!now || !seen.current) return null;
  const { first, latency, faults } = seen.current;
  const rows: [string, Side][] = [["Old", minus(now[0], first[0])], ["New", minus(now[1], first[1])]];
  return (
    <>
      <div class="scroll" tabIndex={0} role="region" aria-label="Old and new version">
        <table>
          <thead><tr><th scope="col">Since this page was opened</th><th scope="col" class="right">Calls</th><th scope="col" class="right">Faults</th><th scope="col" class="right">Mean time</th></tr></thead>
          <tbody>
            {rows.map(([title, side]) => (
              <tr key={title}>
                <th scope="row">{title}</th>
                <td class="right">{number(side.calls)}</td>
                <td class="right">{number(side.faults)}</td>
                <td class="right">{milliseconds(meanMs(side))}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      {latency.length > 1 && (
        <div class="two">
          <Curve title="Mean latency" points={latency} show={milliseconds} />
          <Curve title="Faults per call" points={faults} show={percent} />
        </div>
      )}
    </>
  );
}

/** Those that ended, newest first. */
export function Rollouts({ rollouts }: { rollouts: Rollout[] }) {
  return (
    <>
      <h2>Rollouts</h2>
      <div class="card flush scroll" tabIndex={0} role="region" aria-label="Rollouts">
        <table>
          <thead><tr><th scope="col">Began</th><th scope="col">Version</th><th scope="col">How it ended</th><th scope="col">Checks</th></tr></thead>
          <tbody>
            {rollouts.map((one) => (
              <tr key={one.id}>
                <td><Time at={one.started_at} /></td>
                <td><Untrusted text={one.version} />{one.is_rollback && <span class="muted"> (back)</span>}</td>
                <td>
                  <Badge tone={one.stage === "completed" ? "good" : "bad"}>{WORDS[one.stage]}</Badge>
                  {one.reason && <p class="muted"><Untrusted text={one.reason} max={600} /></p>}
                </td>
                <td>{one.checks.filter((check) => check.outcome === "passed").length} of {one.checks.length} passed</td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </>
  );
}
