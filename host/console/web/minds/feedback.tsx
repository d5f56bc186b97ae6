// What callers said of answers; what is right becomes a verified question.
import { useState } from "preact/hooks";
import { api, may, take, type Schemas } from "../lib/api";
import { useAction, useLoad } from "../lib/load";
import { Link, href } from "../lib/router";
import { Dialog } from "../ui/dialog";
import { Failure } from "../ui/failure";
import { Field } from "../ui/field";
import { Badge, Empty, Load } from "../ui/page";
import { Untrusted } from "../ui/text";
import { Time } from "../ui/time";
import { SqlField } from "./entry_field";

type Feedback = Schemas["Feedback"];
const PAGE = 50;

export function FeedbackList({ name }: { name: string }) {
  const [more, setMore] = useState<Feedback[]>([]);
  const [after, setAfter] = useState<string | null>(null);
  const { busy, error, run } = useAction();
  const get = (query: { limit: number; after?: string }, signal?: AbortSignal) =>
    take(api.GET("/api/v1/minds/{name}/feedback", { params: { path: { name }, query }, ...(signal && { signal }) }));
  const loaded = useLoad(async (signal) => {
    const page = await get({ limit: PAGE }, signal);
    setMore([]);
    setAfter(page.has_more ? page.last_id : null);
    return page.data;
  }, [name]);
  const next = () =>
    void run(async () => {
      const page = await get({ limit: PAGE, after: after! });
      setMore((known) => [...known, ...page.data]);
      setAfter(page.has_more ? page.last_id : null);
    });
  return (
    <>
      <p class="muted">What callers said of answers to them, beside the question and its statement. Their rows are not shown.</p>
      <Load of={loaded}>
        {(first) =>
          first.length === 0 ? <Empty title="Nobody has said anything yet" /> : (
            <>
              <ul class="entries">{[...first, ...more].map((one) => <Item key={one.id} name={name} feedback={one} changed={loaded.reload} />)}</ul>
              {error && <Failure error={error} />}
              {after !== null && <div><button type="button" disabled={busy} onClick={next}>Show more</button></div>}
            </>
          )
        }
      </Load>
    </>
  );
}

function Item({ name, feedback, changed }: { name: string; feedback: Feedback; changed: () => void }) {
  const [open, setOpen] = useState(false);
  const { rating, question, sql, comment, corrected_sql: corrected, knowledge_id: promoted } = feedback;
  return (
    <li class="card stack tight">
      <h2 class="row">
        <Badge tone={rating === "up" ? "good" : "bad"}>{rating === "up" ? "right" : "wrong"}</Badge>
        {question === null ? <span class="muted">The conversation is deleted</span> : <Untrusted text={question} />}
      </h2>
      <dl class="facts">
        {comment && <><dt>Comment</dt><dd><Untrusted text={comment} max={2000} /></dd></>}
        {sql && <><dt>Statement</dt><dd><code><Untrusted text={sql} max={2000} /></code></dd></>}
        {corrected && <><dt>Corrected</dt><dd><code><Untrusted text={corrected} max={2000} /></code></dd></>}
      </dl>
      <div class="row">
        <span class="muted grow"><Time at={feedback.updated_at} /></span>
        {promoted && <Link to={href("minds", name, "knowledge", promoted)}>Its verified question</Link>}
        {!promoted && may("promote_feedback") && <button type="button" class="small" onClick={() => setOpen(true)}>Make it a verified question …</button>}
      </div>
      {open && <Promote name={name} feedback={feedback} close={() => setOpen(false)} done={() => { setOpen(false); changed(); }} />}
    </li>
  );
}

function Promote({ name, feedback, close, done }: { name: string; feedback: Feedback; close: () => void; done: () => void }) {
  const [question, setQuestion] = useState(feedback.question ?? "");
  const [sql, setSql] = useState(feedback.corrected_sql ?? feedback.sql ?? "");
  const [notes, setNotes] = useState("");
  const { busy, error, run } = useAction();
  const mind = useLoad((signal) => take(api.GET("/api/v1/minds/{name}", { params: { path: { name } }, signal })), [name]);
  const promote = () =>
    void run(async () => {
      const body = { question, sql, notes: notes.trim() === "" ? null : notes };
      await take(api.POST("/api/v1/minds/{name}/feedback/{id}/promote", { params: { path: { name, id: feedback.id } }, body }));
      done();
    });
  return (
    <Dialog title="Make it a verified question" close={close}>
      <Load of={mind}>
        {({ datasource_tables: tables }) => (
          <form class="stack" onSubmit={(event) => { event.preventDefault(); promote(); }}>
            <Field label="Question">{(id) => <input id={id} required value={question} onInput={(event) => setQuestion(event.currentTarget.value)} />}</Field>
            <SqlField label="Statement" title="Statement" value={sql} catalog={{ mind: name, datasources: tables.map((one) => one.name) }} change={setSql} submit={promote} />
            <Field label={<>Notes<span class="muted"> optional</span></>}>{(id) => <textarea id={id} rows={2} value={notes} onInput={(event) => setNotes(event.currentTarget.value)} />}</Field>
            {error && <Failure error={error} />}
            <div class="actions end">
              <button type="button" onClick={close}>Cancel</button>
              <button type="submit" class="primary" disabled={busy}>{busy ? "Checking …" : "Teach it"}</button>
            </div>
          </form>
        )}
      </Load>
    </Dialog>
  );
}
