// One conversation as it is shown: its stored messages, and the answer that is being made.
import { effect } from "@preact/signals";
import { useEffect, useRef, useState } from "preact/hooks";
import { api, brokenOff, isAbort, mayPass, requestIdOf, send, take, toError, type ApiError, type Schemas } from "../lib/api";
import { events } from "../lib/events";
import { giveBack } from "../lib/drafts";
import { later } from "../lib/later";
import { go, href } from "../lib/router";
import { key, me } from "../lib/session";
import { changed, ended, fresh, load, type Turn } from "./turns";

const TITLE = 200;
/** Milliseconds until an answer that is made elsewhere is looked at again. */
const EVERY = 1000;

export interface Question {
  mind: string;
  text: string;
  /** Runs this statement instead of asking in words. */
  sql?: string;
}

interface Statement {
  mind: string;
  sql: string;
  /** Null until the server has named it. */
  response: string | null;
}

/** The last statement that was sent here, by its conversation. A question is stored when it is asked, a statement only
 * once it has run: whoever comes back before that, or after it failed, is shown what was sent. */
const statements = new Map<string, Statement>();

effect(() => {
  if (key.value === null) statements.clear();
});

const isMade = (response: Schemas["Response"]): boolean => response.status === "created" || response.status === "in_progress";

/** The response whose answer is not stored: of the statement that was sent here, or of the last question. */
function openResponse(turns: Turn[], statement: Statement | undefined): string | null {
  const last = turns[turns.length - 1];
  if (statement) return statement.response;
  return last?.role === "user" ? last.response : null;
}

/** What became of it; null if nothing is known of it. */
async function fate(id: string, signal: AbortSignal): Promise<Schemas["Response"] | null> {
  try {
    return (await take(api.GET("/api/v1/responses/{id}", { params: { path: { id } }, signal }))) as Schemas["Response"];
  } catch (thrown) {
    if (isAbort(thrown) || toError(thrown).status !== 404) throw thrown;
    return null;
  }
}

/** The conversation with this id, or one that begins with the first question. */
export function useConversation(id: string | null, began: () => void) {
  const [turns, setTurns] = useState<Turn[]>([]);
  const [error, setError] = useState<ApiError | null>(null);
  /** Why an answer could not be stopped. */
  const [unstopped, setUnstopped] = useState<ApiError | null>(null);
  const [loading, setLoading] = useState(id !== null);
  const [mind, setMind] = useState<string | null>(null);
  const [isOwn, setOwn] = useState(true);
  const asking = useRef<AbortController | null>(null);
  const response = useRef<string | null>(null);
  const own = useRef<string | null>(null);

  useEffect(() => {
    // The conversation that was just begun here is known.
    if (id !== null && id === own.current) return;
    asking.current?.abort();
    asking.current = null;
    own.current = id;
    setTurns([]);
    setError(null);
    setUnstopped(null);
    setMind(null);
    setOwn(true);
    setLoading(id !== null);
    if (id === null) return;
    const abort = new AbortController();
    let callOff = () => {};
    const failed = (thrown: unknown) => {
      if (isAbort(thrown)) return;
      setError(toError(thrown));
      setLoading(false);
    };
    const show = async () => {
      const stored = await load(id, abort.signal);
      const statement = statements.get(id);
      const turns = statement ? [...stored, fresh("user", "", statement.sql)] : stored;
      const open = openResponse(stored, statement);
      const last = open === null ? null : await fate(open, abort.signal);
      const isUnnamed = statement?.response === null;
      if (isUnnamed || (last && isMade(last))) {
        response.current = open;
        setTurns([...turns, { ...fresh("assistant", ""), isElsewhere: true }]);
        return lookAgain();
      }
      // The server knows nothing of the statement any more.
      if (last === null) return setTurns(statement ? [...turns, { ...fresh("assistant", ""), state: "stopped" }] : turns);
      // Between the two requests the answer may have been stored.
      if (last.output.length > 0) {
        statements.delete(id);
        return setTurns(await load(id, abort.signal));
      }
      const isBroken = last.error !== null || last.status === "cancelled";
      setTurns(isBroken ? [...turns, ended(fresh("assistant", ""), last)] : turns);
    };
    const lookAgain = () => {
      callOff = later(EVERY, () => void show().catch((thrown: unknown) => (mayPass(toError(thrown)) && !isAbort(thrown) ? lookAgain() : failed(thrown))));
    };
    const about = async () => {
      const about = await take(api.GET("/api/v1/conversations/{id}", { params: { path: { id } }, signal: abort.signal }));
      setMind(about.model ?? statements.get(id)?.mind ?? null);
      setOwn(about.key_id === me.value?.id);
    };
    Promise.all([show(), about()]).then(() => setLoading(false), failed);
    return () => {
      abort.abort();
      callOff();
    };
  }, [id]);
  // An answer goes on while another page is shown, and does not lead back to itself.
  useEffect(() => () => { asking.current = null; }, []);

  const last = (change: (turn: Turn) => Turn) => setTurns((turns) => [...turns.slice(0, -1), change(turns[turns.length - 1]!)]);

  async function begin(question: Question): Promise<string> {
    if (own.current !== null) return own.current;
    const title = (question.sql ?? question.text).slice(0, TITLE);
    return (await take(api.POST("/api/v1/conversations", { body: { metadata: { title } } }))).id;
  }

  async function ask(question: Question): Promise<void> {
    if (asking.current) return;
    const abort = new AbortController();
    const statement = question.sql === undefined ? null : { mind: question.mind, sql: question.sql, response: null as string | null };
    asking.current = abort;
    response.current = null;
    const isNew = own.current === null;
    let conversation: string | null = null;
    // Another conversation, or another page, is shown once this is not what is asked.
    const isShown = () => asking.current === abort;
    const update = (change: (turn: Turn) => Turn) => isShown() && last(change);
    setMind(question.mind);
    setTurns((turns) => [...turns, fresh("user", question.text, question.sql), fresh("assistant", "")]);
    try {
      conversation = await begin(question);
      if (isShown()) {
        own.current = conversation;
        if (isNew) go(href("ask", conversation));
      }
      // It may have been stopped before there was a conversation.
      abort.signal.throwIfAborted();
      statements.delete(conversation);
      if (statement) statements.set(conversation, statement);
      const wanted = { model: question.mind, conversation, stream: true, include: ["steps", "chart"] };
      const tool = { type: "sql_query", query: question.sql, max_inline_rows: 1 };
      const body = question.sql === undefined ? { ...wanted, input: question.text } : { ...wanted, tools: [tool] };
      const headers = { "Content-Type": "application/json" };
      const answer = await send("/api/v1/responses", { method: "POST", headers, body: JSON.stringify(body), signal: abort.signal });
      for await (const event of events(answer)) {
        if (event.type === "response.created") {
          const { id } = event["response"] as Schemas["Response"];
          if (statement) statement.response = id;
          if (isShown()) response.current = id;
        }
        if (event.type === "response.completed") statements.delete(conversation);
        update((turn) => changed(turn, event, requestIdOf(answer)));
      }
      update((turn) => (turn.state === "running" ? { ...turn, state: "failed", error: brokenOff(answer) } : turn));
    } catch (thrown) {
      if (isAbort(thrown)) update((turn) => ({ ...turn, state: "stopped" }));
      else update((turn) => ({ ...turn, state: "failed", error: toError(thrown) }));
      // The session ended, and the page with it.
      if (toError(thrown).status === 401) giveBack(question.text, question.sql, question.mind);
    } finally {
      if (isShown()) asking.current = null;
      // It was refused before it had a name.
      if (conversation !== null && statement?.response === null) statements.delete(conversation);
      if (isNew) began();
    }
  }

  /** Stops the answer, down to the database. */
  async function stop(): Promise<void> {
    const id = response.current;
    if (id === null) return asking.current?.abort();
    setUnstopped(null);
    try {
      await take(api.POST("/api/v1/responses/{id}/cancel", { params: { path: { id } } }));
    } catch (thrown) {
      // Without its reader the server stops it too. What is made elsewhere has none here.
      if (asking.current) asking.current.abort();
      else if (!isAbort(thrown)) setUnstopped(toError(thrown));
    }
  }

  return { turns, mind, isOwn, error, unstopped, loading, ask, stop, busy: turns[turns.length - 1]?.state === "running" };
}
