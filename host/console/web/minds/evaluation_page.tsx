// One evaluation: its figures, what changed since an earlier one, and each question.
import { useRef, useState } from "preact/hooks";
import { api, take, toError, type ApiError } from "../lib/api";
import { milliseconds, number, percent, plural, price } from "../lib/format";
import { useLoad } from "../lib/load";
import { Link, go, href, query } from "../lib/router";
import { save } from "../lib/save";
import { Reason } from "../ui/failure";
import { Load } from "../ui/page";
import { Time } from "../ui/time";
import { Untrusted } from "../ui/text";
import { again, countsOf, suiteOf, type Evaluation, type Report } from "./evaluation";
import { Comparison } from "./evaluation_difference";
import { Delete, HowFar, Shares, Status, Stop } from "./evaluation_parts";
import { Questions } from "./evaluation_questions";

interface Shown {
  report: Report;
  /** Why it cannot be compared with what the address names. */
  incomparable: ApiError | null;
}

/** The report; without the difference if there is no such earlier run. */
async function load(name: string, id: string, baseline: string, signal: AbortSignal): Promise<Shown> {
  const get = (query: { baseline?: string }) =>
    take(api.GET("/api/v1/minds/{name}/evaluations/{id}", { params: { path: { name, id }, query }, signal }));
  if (baseline === "") return { report: await get({}), incomparable: null };
  try {
    return { report: await get({ baseline }), incomparable: null };
  } catch (thrown) {
    const error = toError(thrown);
    if (error.code !== "evaluation_not_found") throw thrown;
    return { report: await get({}), incomparable: error };
  }
}

export function EvaluationPage({ name, id }: { name: string; id: string }) {
  const baseline = query.value.get("baseline") ?? "";
  const [opened, setOpened] = useState<string | null>(null);
  const loaded = useLoad((signal) => load(name, id, baseline, signal), [name, id, baseline], ({ report }) => again(report));
  // While another comparison is loaded, the page stays as it is.
  const last = useRef<Shown | null>(null);
  last.current = loaded.data ?? last.current;
  return (
    <>
      <p class="up"><Link to={href("minds", name, "evaluations")}>All evaluations</Link></p>
      <Load of={{ ...loaded, data: last.current }}>
        {({ report, incomparable }) => (
          <>
            <About name={name} report={report} changed={loaded.reload} />
            <FiguresOf evaluation={report} />
            <Comparison name={name} report={report} baseline={baseline} error={incomparable} open={setOpened} />
            <Questions name={name} report={report} opened={opened} shown={() => setOpened(null)} />
          </>
        )}
      </Load>
    </>
  );
}

function About({ name, report, changed }: { name: string; report: Report; changed: () => void }) {
  const took = report.ended_at === null ? null : Date.parse(report.ended_at) - Date.parse(report.started_at);
  return (
    <section class="stack tight" aria-label="This evaluation">
      <div class="row" role="status"><h2><Untrusted text={suiteOf(report)} /></h2><Status of={report} /></div>
      <p class="muted"><Time at={report.started_at} /> · {plural(report.questions_count, "question")}{took !== null && ` · took ${milliseconds(took)}`}</p>
      {report.error !== null && <Reason text={report.error} request={report.request_id} />}
      {report.status === "interrupted" && <Reason text="The server ended before the run did." request={report.request_id} />}
      <HowFar of={report} />
      <div class="actions">
        <button type="button" class="small" onClick={() => download(name, report)}>Download</button>
        <Stop name={name} of={report} done={changed} />
        <Delete name={name} of={report} done={() => go(href("minds", name, "evaluations"))} />
      </div>
    </section>
  );
}

/** The report as `mindhost eval --out` writes it, so that its `--baseline` reads it. */
function download(mind: string, { suite, started_at, status, figures, questions }: Report): void {
  const report = { suite, mind, server: location.origin, began_at: started_at, is_complete: status === "completed", figures, questions };
  const name = `${mind} ${suite} ${started_at.slice(0, 19)}`.replace(/[^\w.-]+/g, "_");
  save(`${name}.json`, "application/json", [JSON.stringify(report, null, 2)]);
}

const share = (fraction: number | null | undefined) => (typeof fraction === "number" ? percent(fraction) : "–");
const time = (value: number | null | undefined) => (typeof value === "number" ? milliseconds(value) : "–");

function FiguresOf({ evaluation: { figures, currency } }: { evaluation: Evaluation }) {
  const judged = figures.answerable + figures.unanswerable;
  const wrong = countsOf(figures).find(([mark]) => mark === "wrong")![1];
  const tiles = [
    ["Accuracy", share(figures.accuracy), `${number(figures.right)} of ${number(figures.answerable)} answerable`],
    ["Wrong", share(figures.wrong_share), `${number(wrong)} of ${number(judged)} judged`],
    ["Rightly declined", figures.unanswerable > 0 ? percent(figures.rightly_declined / figures.unanswerable) : "–", figures.unanswerable > 0 ? `${number(figures.rightly_declined)} of ${number(figures.unanswerable)} unanswerable` : "none to decline"],
    ["Median time", time(figures.latency_p50_ms), `95% within ${time(figures.latency_p95_ms)}`],
  ] as const;
  return (
    <section class="stack" aria-label="Figures">
      <dl class="figures">
        {tiles.map(([title, value, about]) => (
          <div key={title} class="figure"><dt class="muted">{title}</dt><dd><b>{value}</b><span class="muted">{about}</span></dd></div>
        ))}
      </dl>
      <Shares of={figures} />
      <dl class="facts">
        {figures.recall_known > 0 && (
          <>
            <dt>Recall</dt>
            <dd>{share(figures.recall_tables)} of the tables, {share(figures.recall_columns)} of the columns <span class="muted">in {plural(figures.recall_known, "answer")} that {figures.recall_known === 1 ? "shows" : "show"} it</span></dd>
          </>
        )}
        <dt>Numbers from nowhere</dt><dd>{figures.unsupported ? `in ${plural(figures.unsupported, "answer")}` : "none"}</dd>
        <dt>Repairs</dt><dd>{number(figures.repairs)} <span class="muted">statements that were refused or failed</span></dd>
        <dt>Tokens</dt><dd>{number(figures.input_tokens)} read, {number(figures.output_tokens)} written</dd>
        {typeof figures.cost === "number" && <><dt>Cost</dt><dd>{price(figures.cost)} <Untrusted text={currency} /></dd></>}
      </dl>
    </section>
  );
}
