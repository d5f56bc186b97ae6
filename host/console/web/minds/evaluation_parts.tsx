// What the list of evaluations and the page of one have in common.
import { useState } from "preact/hooks";
import { api, may, take } from "../lib/api";
import { number, percent, plural, visible } from "../lib/format";
import { useAction } from "../lib/load";
import { Confirm } from "../ui/dialog";
import { Failure } from "../ui/failure";
import { Badge, Progress } from "../ui/page";
import { MARKS, STATUSES, countsOf, suiteOf, type Evaluation, type Figures } from "./evaluation";

export function Status({ of: { status } }: { of: Evaluation }) {
  const { title, tone } = STATUSES[status];
  return <Badge tone={tone}>{title}</Badge>;
}

/** How far a run is, or how far it came. */
export function HowFar({ of: evaluation }: { of: Evaluation }) {
  const { judged_count: judged, questions_count: all, status } = evaluation;
  if (status === "completed") return null;
  return (
    <div class="run">
      <p class="muted">{number(judged)} of {plural(all, "question")} judged</p>
      {status === "running" && <Progress label={`Progress of ${visible(suiteOf(evaluation))}`} value={all > 0 ? judged / all : 0} />}
    </div>
  );
}

/** What share of the questions has which mark. */
export function Shares({ of: figures }: { of: Figures }) {
  const counts = countsOf(figures);
  const judged = figures.answerable + figures.unanswerable;
  if (judged === 0) return null;
  return (
    <div class="shares">
      <div class="shares-bar" aria-hidden="true">
        {counts.map(([mark, count]) => count > 0 && <span key={mark} class={mark} style={{ flexGrow: count }} />)}
      </div>
      <ul>
        {counts.map(([mark, count]) => <li key={mark}><i class={mark} aria-hidden="true" />{percent(count / judged)} {MARKS[mark].title}</li>)}
        {figures.invalid > 0 && <li><i class="invalid" aria-hidden="true" />{number(figures.invalid)} not judged</li>}
      </ul>
    </div>
  );
}

interface ActionProps {
  name: string;
  of: Evaluation;
  done: () => void;
}

export function Stop({ name, of: evaluation, done }: ActionProps) {
  const [asked, setAsked] = useState(false);
  const { busy, error, run } = useAction();
  if (evaluation.status !== "running" || !may("cancel_evaluation")) return null;
  const stop = () =>
    void run(async () => {
      await take(api.POST("/api/v1/minds/{name}/evaluations/{id}/cancel", { params: { path: { name, id: evaluation.id } } }));
      setAsked(false);
      done();
    });
  return (
    <>
      <button type="button" class="small" onClick={() => setAsked(true)}>Stop …</button>
      {asked && (
        <Confirm title="Stop this evaluation?" action="Stop" busy={busy} close={() => setAsked(false)} confirm={stop}>
          <p>What it asks now is stopped too. What was judged until now is kept.</p>
          {error && <Failure error={error} />}
        </Confirm>
      )}
    </>
  );
}

export function Delete({ name, of: evaluation, done }: ActionProps) {
  const [asked, setAsked] = useState(false);
  const { busy, error, run } = useAction();
  if (!may("delete_evaluation")) return null;
  const remove = () =>
    void run(async () => {
      await take(api.DELETE("/api/v1/minds/{name}/evaluations/{id}", { params: { path: { name, id: evaluation.id } } }));
      setAsked(false);
      done();
    });
  return (
    <>
      <button type="button" class="small danger" onClick={() => setAsked(true)}>Delete …</button>
      {asked && (
        <Confirm title="Delete this evaluation?" action="Delete" busy={busy} close={() => setAsked(false)} confirm={remove}>
          <p>{evaluation.status === "running" && "It is stopped first. "}Its figures and answers are gone, and later runs cannot be compared with it.</p>
          {error && <Failure error={error} />}
        </Confirm>
      )}
    </>
  );
}
