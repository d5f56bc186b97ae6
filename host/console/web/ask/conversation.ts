// One conversation as it is shown: its stored messages, and the answer that is being made.
import { useEffect, useRef, useState } from "preact/hooks";
import { api, brokenOff, isAbort, mayPass, requestIdOf, send, take, toError, type ApiError, type Schemas } from "../lib/api";
import { events } from "../lib/events";
import { later } from "../lib/later";
import { go, href } from "../lib/router";
import { me } from "../lib/session";
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

const isMade = (response: Schemas["Response"]): boolean => response.status === "created" || response.status === "in_progress";

/** What became of the last question, if its answer is not stored: null if nothing is known of it. */
async function unanswered(turns: Turn[], signal: AbortSignal): Promise<Schemas["Response"] | null> {
  const last = turns[turns.length - 1];
  if (last?.role !== "user" || last.response === null) return null;
  try {
    return (await take(api.GET("/api/v1/responses/{id}", { params: { path: { id: last.response } }, signal }))) as Schemas["Response"];
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
      const turns = await load(id, abort.signal);
      const last = await unanswered(turns, abort.signal);
      if (last === null) return setTurns(turns);
      // Between the two requests the answer may have been stored.
      if (last.output.length > 0 && !isMade(last)) return setTurns(await load(id, abort.signal));
      const isBroken = last.error !== null || last.status === "cancelled";
      if (!isMade(last)) return setTurns(isBroken ? [...turns, ended(fresh("assistant", ""), last)] : turns);
      response.current = last.id;
      setTurns([...turns, { ...fresh("assistant", ""), isElsewhere: true }]);
      lookAgain();
    };
    const lookAgain = () => {
      callOff = later(EVERY, () => void show().catch((thrown: unknown) => (mayPass(toError(thrown)) && !isAbort(thrown) ? lookAgain() : failed(thrown))));
    };
    const about = async () => {
      const about = await take(api.GET("/api/v1/conversations/{id}", { params: { path: { id } }, signal: abort.signal }));
      setMind(about.model);
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
    asking.current = abort;
    response.current = null;
    const isNew = own.current === null;
    // Another conversation, or another page, is shown once this is not what is asked.
    const isShown = () => asking.current === abort;
    const update = (change: (turn: Turn) => Turn) => isShown() && last(change);
    setMind(question.mind);
    setTurns((turns) => [...turns, fresh("user", question.text, question.sql), fresh("assistant", "")]);
    try {
      const conversation = await begin(question);
      if (abort.signal.aborted) return;
      if (isShown()) {
        own.current = conversation;
        if (isNew) go(href("ask", conversation));
      }
      const wanted = { model: question.mind, conversation, stream: true, include: ["steps", "chart"] };
      const tool = { type: "sql_query", query: question.sql, max_inline_rows: 1 };
      const body = question.sql === undefined ? { ...wanted, input: question.text } : { ...wanted, tools: [tool] };
      const headers = { "Content-Type": "application/json" };
      const answer = await send("/api/v1/responses", { method: "POST", headers, body: JSON.stringify(body), signal: abort.signal });
      for await (const event of events(answer)) {
        if (event.type === "response.created" && isShown()) response.current = (event["response"] as Schemas["Response"]).id;
        update((turn) => changed(turn, event, requestIdOf(answer)));
      }
      update((turn) => (turn.state === "running" ? { ...turn, state: "failed", error: brokenOff(answer) } : turn));
    } catch (thrown) {
      if (isAbort(thrown)) update((turn) => ({ ...turn, state: "stopped" }));
      else update((turn) => ({ ...turn, state: "failed", error: toError(thrown) }));
    } finally {
      if (isShown()) asking.current = null;
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
