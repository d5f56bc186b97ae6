// A rollout: how far it is, how its checks went, and how old and new version compare while both serve.
import { useRef } from "preact/hooks";
import { may, type Schemas } from "../lib/api";
import { milliseconds, number, percent, plural } from "../lib/format";
import { useLoad } from "../lib/load";
import { meanMs, usageOf } from "../lib/plugin_usage";
import { Failure, RequestId } from "../ui/failure";
import { Badge } from "../ui/page";
import { Time } from "../ui/time";
import { Untrusted } from "../ui/text";
import { Curve } from "./curve";
import { keep, seenOf, type Counters } from "./samples";

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
      {place >= STAGES.indexOf("canary") && <Compared rollout={rollout} />}
      {place >= STAGES.indexOf("canary") && may("get_plugin_usage") && <Curves rollout={rollout} />}
    </section>
  );
}

/** What the server counted since the rollout began. */
function Compared({ rollout }: { rollout: Rollout }) {
  const { stable, candidate } = rollout;
  const rowOf = (title: string, figures: Schemas["Figures"]) => [title, number(figures.calls), number(figures.faults), time(figures.median_ms), time(figures.p95_ms)];
  return (
    <>
      <Sides title="Since the rollout began" columns={["Calls", "Faults", "Median", "95th percentile"]} rows={[rowOf("Old", stable), rowOf("New", candidate)]} />
      <p class="muted">A call is a statement, a turn of a model or a step of a catalog.</p>
    </>
  );
}

/** A time of calls, which is 0 if none was measured. */
const time = (ms: number): string => (ms === 0 ? "none" : milliseconds(ms));

/** A table of the old and the new version. */
function Sides({ title, columns, rows }: { title: string; columns: string[]; rows: string[][] }) {
  return (
    <div class="scroll" tabIndex={0} role="region" aria-label={title}>
      <table>
        <thead><tr><th scope="col">{title}</th>{columns.map((one) => <th key={one} scope="col" class="right">{one}</th>)}</tr></thead>
        <tbody>
          {rows.map(([name, ...cells]) => <tr key={name}><th scope="row">{name}</th>{cells.map((one, index) => <td key={columns[index]} class="right">{one}</td>)}</tr>)}
        </tbody>
      </table>
    </div>
  );
}

/** Both versions side by side while both serve: each second, what it did in that second. */
function Curves({ rollout }: { rollout: Rollout }) {
  const now = useRef(rollout);
  now.current = rollout;
  const usage = useLoad(
    async (signal) => {
      const usage = await usageOf(rollout.plugin, { limit: 1 }, signal);
      if (usage) keep(now.current, usage);
      return true;
    },
    [rollout.id],
    () => EVERY,
  );
  const seen = seenOf(rollout.id);
  if (usage.error && !seen) return <Failure error={usage.error} />;
  if (!seen) return null;
  const { from, points, marks } = seen;
  const same = { from, points, marks, nameOf: (one: Rollout["stage"]) => WORDS[one] };
  const rowOf = (title: string, { calls, faults, ns }: Counters) => [title, number(calls), number(faults), time(meanMs({ calls, ns }))];
  return (
    <>
      <p class="muted">This console watches the rollout since <Time at={from / 1000} />. It counts each function of the plugin that is called.</p>
      <Sides title="Since then" columns={["Functions called", "Faults", "Mean time"]} rows={[rowOf("Old", seen.old), rowOf("New", seen.new)]} />
      <div class="two curves">
        <Curve title="Mean latency" of={(one) => one.latency} show={milliseconds} least={1} {...same} />
        <Curve title="Faults per call" of={(one) => one.faultRate} show={percent} least={0.1} {...same} />
      </div>
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
          <thead><tr><th scope="col">Began</th><th scope="col">Version</th><th scope="col">How it ended</th><th scope="col">Checks</th><th scope="col">New version</th></tr></thead>
          <tbody>
            {rollouts.map((one) => (
              <tr key={one.id}>
                <td><Time at={one.started_at} /></td>
                <td><Untrusted text={one.version} />{one.is_rollback && <span class="muted"> (back)</span>}</td>
                <td>
                  <Badge tone={one.stage === "completed" ? "good" : "bad"}>{WORDS[one.stage]}</Badge>
                  {one.reason && <p class="muted"><Untrusted text={one.reason} max={600} /></p>}
                  {one.stage !== "completed" && <RequestId id={one.request_id} />}
                </td>
                <td>{number(one.checks.filter((check) => check.outcome === "passed").length)} of {number(one.checks.length)} passed</td>
                <td><Served figures={one.candidate} /></td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </>
  );
}

/** What a version did until its rollout ended. */
function Served({ figures }: { figures: Schemas["Figures"] }) {
  if (figures.calls === 0) return <span class="muted">not called</span>;
  return <>{plural(figures.calls, "call")}, {plural(figures.faults, "fault")}{figures.median_ms > 0 && `, median ${milliseconds(figures.median_ms)}`}</>;
}
