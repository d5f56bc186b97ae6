// The field for the next question, in words or in SQL.
import { useEffect, useRef, useState } from "preact/hooks";
import type { Schemas } from "../lib/api";
import { NEXT, draftOf, keepDraft, type Written } from "../lib/drafts";
import { visible } from "../lib/format";
import { chosen as addressWith, go, query } from "../lib/router";
import { SqlEditor } from "../ui/sql";
import { Untrusted } from "../ui/text";
import { datasourceName } from "./suggestions";

interface Props {
  /** Whether something can be asked. If not, it is hidden and keeps what is written in it. */
  isReady: boolean;
  minds: Schemas["Mind"][];
  mind: string | null;
  /** Whether the conversation has its Mind already: another one begins a new conversation. */
  fixed: boolean;
  choose: (mind: string) => void;
  busy: boolean;
  ask: (text: string) => void;
  run: (sql: string) => void;
  stop: () => void;
}

export function Composer({ isReady, minds, mind, fixed, choose, busy, ask, run, stop }: Props) {
  // A link may bring a question. It is not asked before somebody sends it, and what is written stays: SQL behind its
  // tick, and another question in the field.
  const linked = query.value.get("question") ?? "";
  const [draft] = useState(() => draftOf<Written>(NEXT));
  const [text, setText] = useState(draft?.text || linked);
  const [sql, setSql] = useState(draft?.sql ?? "");
  const [inSql, setInSql] = useState(draft?.inSql === true && linked === "");
  const [offered, setOffered] = useState(linked !== text ? linked : "");
  // The Mind of the link comes with its question.
  const [offeredMind, setOfferedMind] = useState(query.value.get("mind"));
  keepDraft<Written>(NEXT, { text, sql, inSql, mind });
  useEffect(() => {
    if (linked === "") return;
    setInSql(false);
    if (text.trim() === "") setText(linked);
    else if (text !== linked) {
      setOffered(linked);
      setOfferedMind(query.value.get("mind"));
    }
  }, [query.value]);
  const field = useRef<HTMLTextAreaElement>(null);
  const chosen = minds.find((one) => one.name === mind);
  const maySql = chosen?.parameters.allow_direct_queries === true;
  // Of a Mind that takes no SQL, the tick stays for the next one that does.
  const asSql = inSql && maySql;
  const written = (asSql ? sql : text).trim();
  useEffect(() => {
    // Whoever already writes elsewhere, such as into the search, goes on there.
    const writes = document.activeElement?.matches("input, textarea, select");
    if (isReady && !writes) field.current?.focus({ preventScroll: true });
  }, [isReady]);
  const submit = () => {
    if (!isReady || busy || written === "") return;
    // Back on its address, what was sent is nothing to send.
    if (linked !== "") go(addressWith({ question: "", mind: "" }), true);
    if (asSql) run(written);
    else {
      ask(written);
      setText("");
    }
  };
  const use = () => {
    setText(offered);
    setInSql(false);
    setOffered("");
    if (offeredMind !== null && offeredMind !== mind) choose(offeredMind);
  };
  return (
    <form
      class="composer" hidden={!isReady}
      onSubmit={(event) => {
        event.preventDefault();
        submit();
      }}
    >
      {offered !== "" && (
        <p class="notice row" role="note">
          <span class="fill">The link has another question: <Untrusted text={offered} /></span>
          <button type="button" class="small" onClick={use}>Use it</button>
          <button type="button" class="small" onClick={() => setOffered("")}>Keep mine</button>
        </p>
      )}
      {asSql ? (
        <SqlEditor
          label="SQL" value={sql} change={setSql} submit={submit}
          catalog={{ mind: mind!, datasources: chosen.datasources.map(datasourceName) }}
        />
      ) : (
        <textarea
          ref={field} rows={2} aria-label="Question" placeholder="Ask in your own words" value={text}
          onInput={(event) => setText(event.currentTarget.value)}
          onKeyDown={(event) => {
            if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
            event.preventDefault();
            submit();
          }}
        />
      )}
      <div class="row">
        <label class="row mind-choice">
          <span class="muted">Mind</span>
          <select value={mind ?? ""} title={fixed ? "Another Mind begins a new conversation" : undefined} onChange={(event) => choose(event.currentTarget.value)}>
            {minds.map((one) => <option key={one.name} value={one.name}>{visible(one.name)}</option>)}
          </select>
        </label>
        {maySql && (
          <label class="check">
            <input type="checkbox" checked={inSql} onChange={(event) => setInSql(event.currentTarget.checked)} />
            In SQL
          </label>
        )}
        <span class="grow" />
        {/* Two elements: one that became a submit button in its own click would send the statement again. */}
        {busy ? (
          // It stands where Ask stood: the second half of a double click there stops nothing.
          <button key="stop" type="button" onClick={(event) => event.detail < 2 && stop()}>Stop</button>
        ) : (
          <button key="submit" type="submit" class="primary" disabled={written === ""}>{asSql ? "Run" : "Ask"}</button>
        )}
      </div>
    </form>
  );
}
