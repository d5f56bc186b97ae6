// A rollout: how far it is, how its checks went, and how old and new version compare while both serve.
import { useEffect, useRef } from "preact/hooks";
import type { Schemas } from "../lib/api";
import { milliseconds, number, percent } from "../lib/format";
import { Badge } from "../ui/page";
import { Time } from "../ui/time";
import { Untrusted } from "../ui/text";
import { Curve, type Point } from "./curve";

type Rollout = Schemas["Rollout"];
type Figures = Schemas["Figures"];

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

export function RolloutView({ rollout }: { rollout: Rollout }) {
  const points = useRef<{ id: string; p95: Point[]; faults: Point[] }>({ id: rollout.id, p95: [], faults: [] });
  const { stable, candidate } = rollout;
  if (points.current.id !== rollout.id) points.current = { id: rollout.id, p95: [], faults: [] };
  useEffect(() => {
    const now = Date.now();
    const add = (list: Point[], value: (figures: Figures) => number) => {
      list.push({ at: now, old: value(stable), new: value(candidate) });
      list.splice(0, list.length - KEPT);
    };
    add(points.current.p95, (figures) => figures.p95_ms);
    add(points.current.faults, (figures) => (figures.calls === 0 ? 0 : figures.faults / figures.calls));
  }, [rollout]);
  const place = STAGES.indexOf(rollout.stage);
  return (
    <section class="card stack" aria-label="Rollout">
      <div class="row">
        <h2 class="grow">Rollout of <Untrusted text={rollout.version} /></h2>
        <Badge tone="busy">{WORDS[rollout.stage]}{rollout.stage === "canary" && rollout.canary_share !== null && ` of ${percent(rollout.canary_share / 100)}`}</Badge>
      </div>
      <ol class="stages">
        {STAGES.map((stage, index) => <li key={stage} class={index < place ? "past" : index === place ? "now" : undefined} aria-current={index === place ? "step" : undefined}>{WORDS[stage]}</li>)}
      </ol>
      <Comparison rollout={rollout} />
      {points.current.p95.length > 1 && (
        <div class="two">
          <Curve title="Latency (95 of 100 calls are faster)" points={points.current.p95} show={milliseconds} />
          <Curve title="Faults per call" points={points.current.faults} show={percent} />
        </div>
      )}
    </section>
  );
}

function Comparison({ rollout }: { rollout: Rollout }) {
  const rows: [string, Figures][] = [["Serves until now", rollout.stable], ["New", rollout.candidate]];
  return (
    <div class="scroll" tabIndex={0} role="region" aria-label="Old and new version">
      <table>
        <thead><tr><th scope="col">Version</th><th scope="col" class="right">Calls</th><th scope="col" class="right">Faults</th><th scope="col" class="right">Median</th><th scope="col" class="right">95 %</th></tr></thead>
        <tbody>
          {rows.map(([title, figures]) => (
            <tr key={title}>
              <th scope="row">{title}</th>
              <td class="right">{number(figures.calls)}</td>
              <td class="right">{number(figures.faults)}</td>
              <td class="right">{milliseconds(figures.median_ms)}</td>
              <td class="right">{milliseconds(figures.p95_ms)}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
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
