// One message: a question, or an answer with its steps, its SQL and its rows.
import { Component } from "preact";
import { useState } from "preact/hooks";
import { mayPass, type ApiError, type Schemas } from "../lib/api";
import { milliseconds, plural, visible } from "../lib/format";
import { draftOf, keepDraft } from "../lib/drafts";
import { Markdown } from "../lib/markdown";
import { useOpener } from "../lib/opener";
import { Link, href } from "../lib/router";
import { Failure } from "../ui/failure";
import { SqlEditor, SqlText, SqlView } from "../ui/sql";
import { Copy } from "../ui/copy";
import { Time } from "../ui/time";
import { Untrusted } from "../ui/text";
import { Basis, FollowUps } from "./basis";
import type { Step, Turn } from "./turns";
import { Rating } from "./rating";
import { Result } from "./result";
import { datasourceName } from "./suggestions";

/** The status of what failed after the server had accepted it. */
const ANSWERED = 200;

interface Props {
  turn: Turn;
  conversation: string | null;
  marked: boolean;
  newest: boolean;
  mind: Schemas["Mind"] | null;
  /** Runs a statement as the next message; null while that is not possible. */
  run: ((sql: string) => void) | null;
  /** Asks in words as the next message; null while that is not possible. */
  ask: ((text: string) => void) | null;
  /** What was asked: of an answer, the turn before it. */
  question: Turn | null;
  /** Whether the reader's key asked: others read only. */
  isOwn: boolean;
  /** Whether this question has no answer: it failed or was stopped before its first word, or its answer was deleted. */
  isUnanswered: boolean;
}

/** Drawn again only if something of it changes: each word of a new answer would draw all others. */
export class TurnView extends Component<Props> {
  override shouldComponentUpdate(next: Props) {
    return (Object.keys(next) as (keyof Props)[]).some((name) => next[name] !== this.props[name]);
  }

  override render(props: Props) {
    const { turn, marked, isUnanswered } = props;
    return (
      <article id={turn.id ? `message-${turn.id}` : undefined} class={`turn ${turn.role}${marked ? " marked" : ""}`}>
        <h2 class="hidden">{turn.role === "user" ? "You" : "Answer"}</h2>
        {turn.role === "user" ? <p class="said">{visible(turn.text || turn.sql || "")}</p> : <Answer {...props} />}
        {isUnanswered && <Unanswered {...props} />}
      </article>
    );
  }
}

interface Again {
  action: string;
  act: () => void;
}

/** What asks the question of a turn once more, as the next message; null while that is not possible, and where the same
 * request would only be refused again. */
function againOf({ turn, question, mind, ask, run }: Props): Again | null {
  const mayHelp = turn.error === null || turn.error.status === ANSWERED || mayPass(turn.error);
  if (question?.role !== "user" || !mayHelp) return null;
  if (question.text !== "") return ask && { action: "Ask again", act: () => ask(question.text) };
  const maySql = mind?.parameters.allow_direct_queries === true && question.sql !== null;
  return maySql && run ? { action: "Run again", act: () => run(question.sql!) } : null;
}

function Unanswered(props: Props) {
  const { turn } = props;
  if (turn.error) return <Failed error={turn.error} again={againOf(props)} />;
  return <Ended text={turn.state === "stopped" ? "Stopped." : "No answer is stored for this question."} again={againOf(props)} />;
}

function Failed({ error, again }: { error: ApiError; again: Again | null }) {
  return <Failure error={error} {...(again && { retry: again.act, action: again.action })} />;
}

/** An end that is no failure. */
function Ended({ text, again }: { text: string; again: Again | null }) {
  return (
    <div class="row">
      <p class="muted" role="note">{text}</p>
      {again && <button type="button" class="small" onClick={again.act}>{again.action}</button>}
    </div>
  );
}

function waiting(turn: Turn, question: Turn | null): string {
  const isStatement = question?.text === "" && question.sql !== null;
  if (turn.isElsewhere) return isStatement ? "Still running …" : "Still answering …";
  return isStatement ? "Running …" : "Thinking …";
}

function Answer(props: Props) {
  const { turn, conversation, newest, mind, run, ask, isOwn } = props;
  const running = turn.state === "running";
  return (
    <>
      {turn.steps.length > 0 && <Steps steps={turn.steps} running={running && turn.text === ""} />}
      {running && turn.text === "" && turn.steps.length === 0 && <p class="muted pulse" role="status">{waiting(turn, props.question)}</p>}
      <div aria-live={newest ? "polite" : undefined} aria-busy={running}>
        {turn.text !== "" && <Markdown text={turn.text} />}
      </div>
      {turn.state === "stopped" && <Ended text="Stopped." again={againOf(props)} />}
      {turn.error && <Failed error={turn.error} again={againOf(props)} />}
      <Basis turn={turn} />
      {turn.sql !== null && <Sql sql={turn.sql} id={turn.id} mind={isOwn ? mind : null} run={run} />}
      {turn.sql !== null && turn.state === "done" && conversation && turn.id && mind && (
        <Result conversation={conversation} message={turn.id} chart={turn.chart} open={newest && (!!turn.chart || !/^\s*\|/m.test(turn.text))} />
      )}
      {!running && conversation && turn.id && (
        <div class="muted turn-foot">
          <Link to={href("ask", conversation, turn.id)}>{turn.at ? <Time at={turn.at} /> : "Link"}</Link>
          {turn.text !== "" && <Copy text={turn.text} label="Copy the answer" />}
          <Copy text={location.origin + href("ask", conversation, turn.id)} label="Copy the link" />
          {isOwn && mind && turn.response && <Rating response={turn.response} before={turn.given} sql={turn.sql} mind={mind} />}
        </div>
      )}
      {newest && ask && <FollowUps turn={turn} ask={ask} />}
    </>
  );
}

const DOES: Record<string, string> = {
  context: "Read the catalog",
  search_catalog: "Searched the catalog",
  describe_tables: "Read about tables",
  find_values: "Looked for values",
  run_sql: "Ran SQL",
};

function Steps({ steps, running }: { steps: Step[]; running: boolean }) {
  const last = steps[steps.length - 1]!;
  return (
    <details class="steps">
      <summary>
        <span class={running ? "pulse" : undefined}>{running ? `${DOES[last.name] ?? last.name} …` : plural(steps.length, "step")}</span>
      </summary>
      <ol>
        {steps.map((step, index) => (
          <li key={index}>
            <strong><Untrusted text={DOES[step.name] ?? step.name} /></strong>
            <span class="muted"> · {milliseconds(step.duration_ms)}</span>
            {step.status !== "completed" && <span class="muted"> · <Untrusted text={step.status} /></span>}
            {step.message && <p class="muted"><Untrusted text={step.message} /></p>}
            {step.sql && <pre tabIndex={0}><code>{visible(step.sql)}</code></pre>}
          </li>
        ))}
      </ol>
    </details>
  );
}

/** The SQL behind an answer; where the Mind takes SQL, it can be changed and run as the next message. `mind` is null for
 * those who read only. */
function Sql({ sql, id, mind, run }: { sql: string; id: string; mind: Schemas["Mind"] | null; run: ((sql: string) => void) | null }) {
  const place = `sql of ${id}`;
  const [edited, setText] = useState(() => draftOf<string>(place));
  // Editors are made for what is looked at: those of a long conversation would keep the page busy for a minute.
  const [isOpen, setOpen] = useState(edited !== null);
  const setEdited = (text: string | null) => {
    keepDraft(place, text);
    setText(text);
  };
  const maySql = mind?.parameters.allow_direct_queries === true;
  const opener = useOpener(edited !== null);
  const submit = () => {
    if (!run || edited === null || edited.trim() === "") return;
    run(edited);
    setEdited(null);
  };
  return (
    <details class="sql" open={isOpen} onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>SQL</summary>
      {!isOpen ? (
        <SqlText sql={sql} />
      ) : edited === null || !mind ? (
        <SqlView sql={sql} />
      ) : (
        <SqlEditor
          label="SQL to run" value={edited} change={setEdited} submit={submit}
          catalog={{ mind: mind.name, datasources: mind.datasources.map(datasourceName) }}
        />
      )}
      <div class="row">
        <Copy text={edited ?? sql} />
        {maySql && edited === null && <button ref={opener} type="button" class="small" onClick={() => setEdited(sql)}>Edit</button>}
        {edited !== null && (
          <>
            <button type="button" class="small primary" disabled={!run} onClick={submit}>Run</button>
            <button type="button" class="small" onClick={() => setEdited(null)}>Cancel</button>
          </>
        )}
      </div>
    </details>
  );
}
