// What changed since an earlier evaluation of the same Mind.
import type { ApiError } from "../lib/api";
import { local, milliseconds, number, percent, percentagePoints, price, toDate, visible } from "../lib/format";
import { useLoad } from "../lib/load";
import { chosen, go } from "../lib/router";
import { Failure } from "../ui/failure";
import { Badge } from "../ui/page";
import { Untrusted } from "../ui/text";
import { MARKS, allOf, suiteOf, type Evaluation, type Figures, type Mark, type Report } from "./evaluation";

/** Most questions of a group that are listed; the filter of questions shows all. */
const SHOWN = 50;

interface Props {
  name: string;
  report: Report;
  /** Id of the earlier run; empty without one. */
  baseline: string;
  error: ApiError | null;
  /** Opens a question by its id. */
  open: (id: string) => void;
}

export function Comparison({ name, report, baseline, error, open }: Props) {
  const loaded = useLoad((signal) => allOf(name, signal), [name]);
  const earlier = (loaded.data ?? []).filter((one) => one.id < report.id || one.id === baseline);
  if (earlier.length === 0 && baseline === "") return loaded.error && <Failure error={loaded.error} retry={loaded.reload} />;
  const before = earlier.find((one) => one.id === baseline) ?? null;
  return (
    <section class="stack tight" aria-label="Comparison">
      <div class="row compare">
        <h2>Compared with</h2>
        <select class="grow" aria-label="Compare with" value={baseline} onChange={(event) => go(chosen({ baseline: event.currentTarget.value }), true)}>
          <option value="">no earlier run</option>
          {earlier.map((one) => <option key={one.id} value={one.id}>{titleOf(one)}</option>)}
          {baseline !== "" && !before && <option value={baseline}>{loaded.data ? "a run that is gone" : "…"}</option>}
        </select>
      </div>
      {loaded.error && <Failure error={loaded.error} retry={loaded.reload} />}
      {error && <Failure error={error} />}
      {baseline !== "" && report.difference && <Changes report={report} before={before} open={open} />}
    </section>
  );
}

function titleOf(one: Evaluation): string {
  const { accuracy } = one.figures;
  const name = visible(suiteOf(one).slice(0, 60));
  return [name, local(toDate(one.started_at)), typeof accuracy === "number" && `accuracy ${percent(accuracy)}`].filter(Boolean).join(" · ");
}

const isWhole = (one: Evaluation) => one.judged_count >= one.questions_count;

function Changes({ report, before, open }: { report: Report; before: Evaluation | null; open: (id: string) => void }) {
  const { changed, added, removed, accuracy, before: earlier, now } = report.difference!;
  const texts = new Map(report.questions.map((one) => [one.id, one.question]));
  const newly = (mark: Mark) => changed.filter((one) => one.now === mark);
  const rest = changed.filter((one) => one.now !== "right" && one.now !== "wrong");
  const groups = [
    { title: "Newly wrong", all: newly("wrong") },
    { title: "Newly right", all: newly("right") },
    { title: "Other changes", all: rest },
  ].filter((one) => one.all.length > 0);
  return (
    <div class="card stack">
      <p role="status">
        {typeof accuracy === "number" ? <><b>{accuracy === 0 ? "The same accuracy" : percentagePoints(accuracy)}</b>{accuracy !== 0 && " of accuracy"} over the questions of both runs</> : "The runs have no question with an answer in common"}
        {changed.length === 0 ? ". No mark changed." : "."}
      </p>
      <Totals before={earlier} now={now} />
      {groups.map(({ title, all }) => (
        <section key={title} class="stack tight" aria-label={title}>
          <h3>{title} <span class="muted">{number(all.length)}</span></h3>
          <ul class="changes">
            {all.slice(0, SHOWN).map((one) => (
              <li key={one.id}>
                <button type="button" class="link" onClick={() => open(one.id)}><Untrusted text={one.question} /></button>
                <span class="marks"><Badge tone={MARKS[one.before].tone}>{MARKS[one.before].title}</Badge> → <Badge tone={MARKS[one.now].tone}>{MARKS[one.now].title}</Badge></span>
              </li>
            ))}
          </ul>
          {all.length > SHOWN && <p class="muted">And {number(all.length - SHOWN)} more: choose “changed” below.</p>}
        </section>
      ))}
      <Ids title={before && !isWhole(before) ? "Not judged in the earlier run, or added" : "Added"} ids={added} texts={texts} open={open} />
      <Ids title={isWhole(report) ? "Removed" : "Not judged in this run, or removed"} ids={removed} texts={texts} open={open} />
    </div>
  );
}

type Total = [title: string, of: (figures: Figures) => number | null | undefined, write: (value: number) => string];

const TOTALS: Total[] = [
  ["Wrong", (one) => one.wrong_share, percent],
  ["Recall of tables", (one) => one.recall_tables, percent],
  ["Recall of columns", (one) => one.recall_columns, percent],
  ["Repairs", (one) => one.repairs, number],
  ["Tokens read", (one) => one.input_tokens, number],
  ["Tokens written", (one) => one.output_tokens, number],
  ["Cost", (one) => one.cost, price],
  ["Median time", (one) => one.latency_p50_ms, milliseconds],
  ["95% within", (one) => one.latency_p95_ms, milliseconds],
];

/** Figures over the questions of both runs, as far as both know them. */
function Totals({ before, now }: { before: Figures; now: Figures }) {
  if (now.answerable + now.unanswerable + now.invalid === 0) return null;
  return (
    <dl class="facts">
      {TOTALS.flatMap(([title, of, write]) => {
        const [from, to] = [of(before), of(now)];
        if (typeof from !== "number" || typeof to !== "number") return [];
        return [<dt key={title}>{title}</dt>, <dd key={`${title} then and now`}>{write(from)} → {write(to)}</dd>];
      })}
    </dl>
  );
}

/** Questions of one run alone. Those of the earlier run have no text here. */
function Ids({ title, ids, texts, open }: { title: string; ids: string[]; texts: Map<string, string>; open: (id: string) => void }) {
  if (ids.length === 0) return null;
  return (
    <section class="stack tight" aria-label={title}>
      <h3>{title} <span class="muted">{number(ids.length)}</span></h3>
      <ul class={ids.some((id) => texts.has(id)) ? "changes" : "changes ids"}>
        {ids.slice(0, SHOWN).map((id) => {
          const text = texts.get(id);
          return <li key={id}>{text === undefined ? <code><Untrusted text={id} /></code> : <button type="button" class="link" onClick={() => open(id)}><Untrusted text={text} /></button>}</li>;
        })}
      </ul>
      {ids.length > SHOWN && <p class="muted">And {number(ids.length - SHOWN)} more.</p>}
    </section>
  );
}
