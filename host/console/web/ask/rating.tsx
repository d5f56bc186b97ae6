// Whether an answer was right, as the one who asked says it; and what would have been right.
import { useLayoutEffect, useRef, useState } from "preact/hooks";
import { api, take, type Schemas } from "../lib/api";
import { useAction } from "../lib/load";
import { useOpener } from "../lib/opener";
import { Failure } from "../ui/failure";
import { SqlEditor, type CatalogOf } from "../ui/sql";
import { datasourceName } from "./suggestions";
import type { Given } from "./turns";

const MAX_COMMENT = 2000;
const LABELS: [Schemas["Rating"], string][] = [["up", "This is right"], ["down", "This is wrong"]];

/** A thumb. Not an emoji: not every system has a font with it. */
function Thumb({ rating }: { rating: Schemas["Rating"] }) {
  return (
    <svg class="thumb" viewBox="0 0 16 16" aria-hidden="true">
      <path transform={rating === "down" ? "rotate(180 8 8)" : undefined} d="M2 7h2.5v7H2zM5.5 7.2 8 1.6c1.2 0 1.9.9 1.7 2.1L9.3 6h3.6c.9 0 1.5.8 1.3 1.7l-1 4.9c-.2.8-.8 1.4-1.6 1.4H5.5z" />
    </svg>
  );
}

interface Props {
  response: string;
  before: Given | null;
  /** The statement of the answer, which a right one is made of. */
  sql: string | null;
  /** Null if it is gone. */
  mind: Schemas["Mind"] | null;
}

export function Rating({ response, before, sql, mind }: Props) {
  const [given, setGiven] = useState<Given | null>(before);
  const [isNew, setNew] = useState(false);
  const [open, setOpen] = useState<"comment" | "sql" | null>(null);
  const { busy, error, run } = useAction();
  const [ofComment, ofSql] = [useOpener(open === "comment"), useOpener(open === "sql")];
  // The API replaces all of a rating, so what it has already is sent back.
  const send = (changes: Partial<Given> & { rating: Schemas["Rating"] }) => run(async () => {
    const body = { comment: given?.comment ?? null, corrected_sql: given?.corrected_sql ?? null, ...changes };
    setGiven(await take(api.POST("/api/v1/responses/{id}/feedback", { params: { path: { id: response } }, body })));
    setNew(true);
    setOpen(null);
  });
  const catalog = mind && { mind: mind.name, datasources: mind.datasources.map(datasourceName) };
  const mayCorrect = given?.rating === "down" && catalog !== null;
  return (
    <>
      {LABELS.map(([rating, label]) => (
        <button
          key={rating} type="button" class="small" aria-label={label} title={label} disabled={busy}
          aria-pressed={given?.rating === rating} onClick={() => void send({ rating })}
        >
          <Thumb rating={rating} />
        </button>
      ))}
      {given && open === null && (
        <>
          <button ref={ofComment} type="button" class="small" onClick={() => setOpen("comment")}>{given.comment ? "Change the comment" : "Add a comment"}</button>
          {mayCorrect && <button ref={ofSql} type="button" class="small" onClick={() => setOpen("sql")}>{given.corrected_sql ? "Change the right SQL" : "Give the right SQL"}</button>}
        </>
      )}
      {given && open === "comment" && <Comment text={given.comment ?? ""} busy={busy} close={() => setOpen(null)} send={(comment) => void send({ rating: given.rating, comment })} />}
      {mayCorrect && open === "sql" && (
        <Correction text={given.corrected_sql ?? sql ?? ""} catalog={catalog} busy={busy} close={() => setOpen(null)} send={(corrected_sql) => void send({ rating: given.rating, corrected_sql })} />
      )}
      <span class="hidden" role="status">{isNew ? "Thank you. Editors of the Mind can see it." : ""}</span>
      {error && <Failure error={error} />}
    </>
  );
}

interface FormProps {
  text: string;
  busy: boolean;
  close: () => void;
  /** Null if it was emptied. */
  send: (text: string | null) => void;
}

function Comment({ text: before, busy, close, send }: FormProps) {
  const [text, setText] = useState(before);
  const field = useRef<HTMLInputElement>(null);
  // At once, so that no letter is lost that is typed next.
  useLayoutEffect(() => field.current?.focus(), []);
  return (
    <form class="comment" onSubmit={(event) => { event.preventDefault(); send(text.trim() || null); }}>
      <input
        ref={field} aria-label="Comment" maxLength={MAX_COMMENT} value={text} placeholder="What is wrong, or what was meant"
        onInput={(event) => setText(event.currentTarget.value)}
      />
      <button type="submit" class="small primary" disabled={busy}>Send</button>
      <button type="button" class="small" onClick={close}>Cancel</button>
    </form>
  );
}

/** The statement that would have been right. It is not run here: who makes it a verified question checks it. */
function Correction({ text: before, catalog, busy, close, send }: FormProps & { catalog: CatalogOf }) {
  const [text, setText] = useState(before);
  const submit = () => send(text.trim() || null);
  return (
    <form class="correction stack tight" onSubmit={(event) => { event.preventDefault(); submit(); }}>
      <SqlEditor label="The right SQL" value={text} change={setText} submit={submit} catalog={catalog} hint="The SQL that would have been right   (Ctrl+Enter sends it)" />
      <div class="row">
        <button type="submit" class="small primary" disabled={busy}>Send</button>
        <button type="button" class="small" onClick={close}>Cancel</button>
      </div>
    </form>
  );
}
