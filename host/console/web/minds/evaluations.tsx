// How well a Mind answers: its runs of suites of questions, newest first.
import { may } from "../lib/api";
import { percent, plural } from "../lib/format";
import { useLoad } from "../lib/load";
import { Link, href } from "../lib/router";
import { Empty, Load } from "../ui/page";
import { Time } from "../ui/time";
import { Untrusted } from "../ui/text";
import { EXAMPLE, allOf, suiteOf, type Evaluation } from "./evaluation";
import { Delete, HowFar, Shares, Status, Stop } from "./evaluation_parts";

/** Milliseconds until the list is looked at again while something runs. */
const EVERY = 1000;

export function Evaluations({ name }: { name: string }) {
  const loaded = useLoad(
    (signal) => allOf(name, signal),
    [name],
    (all) => (all.some((one) => one.status === "running") ? EVERY : null),
  );
  return (
    <>
      <p class="muted">How well the Mind answers a suite of questions whose right answers are known. The newest 50 runs are kept.</p>
      {may("start_evaluation") && <div class="actions"><Link class="button primary" to={href("minds", name, "evaluations", "new")}>Evaluate it</Link></div>}
      <Load of={loaded}>
        {(all) =>
          all.length === 0 ? <None /> : (
            <ul class="entries">{all.map((one) => <Item key={one.id} name={name} evaluation={one} changed={loaded.reload} />)}</ul>
          )
        }
      </Load>
    </>
  );
}

function None() {
  return (
    <Empty title="It was not evaluated yet">
      <p>A suite is a file with questions. Each has the SQL or the rows of a right answer, or says that it is to be declined.</p>
      <pre class="example" tabIndex={0} role="region" aria-label="Example of a suite"><code>{EXAMPLE}</code></pre>
    </Empty>
  );
}

function Item({ name, evaluation, changed }: { name: string; evaluation: Evaluation; changed: () => void }) {
  const { figures } = evaluation;
  return (
    <li class="card stack tight">
      <div class="row">
        <h2><Link to={href("minds", name, "evaluations", evaluation.id)}><Untrusted text={suiteOf(evaluation)} /></Link></h2>
        <Status of={evaluation} />
        <span class="grow" />
        {typeof figures.accuracy === "number" && <span><span class="muted">Accuracy </span><b>{percent(figures.accuracy)}</b></span>}
      </div>
      <HowFar of={evaluation} />
      <Shares of={figures} />
      <div class="row">
        <span class="muted grow"><Time at={evaluation.started_at} /> · {plural(evaluation.questions_count, "question")}</span>
        <Stop name={name} of={evaluation} done={changed} />
        <Delete name={name} of={evaluation} done={changed} />
      </div>
    </li>
  );
}
