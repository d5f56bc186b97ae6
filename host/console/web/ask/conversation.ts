// One conversation as it is shown: its stored messages, and the answer that is being made.
import { useEffect, useRef, useState } from "preact/hooks";
import { chartOf, type Chart } from "../chart/spec";
import { ApiError, api, isAbort, send, take, toError, type Schemas } from "../lib/api";
import { events, type ServerEvent } from "../lib/events";
import { go, href } from "../lib/router";
import { me } from "../lib/session";

export type Step = Schemas["Step"];
export type Given = Schemas["AnswerRating"];

export interface Turn {
  /** Of the message; empty until the server has named it. */
  id: string;
  role: "user" | "assistant";
  text: string;
  sql: string | null;
  at: number | null;
  steps: Step[];
  state: "running" | "done" | "stopped" | "failed";
  error: ApiError | null;
  /** Of the answer, to say whether it was right; null of what runs a statement, and of a question. */
  response: string | null;
  assumptions: string[];
  followUps: string[];
  /** Whether the model got fewer rows than there are. */
  truncated: boolean;
  /** Why the answer ended; null if by itself. */
  ending: string | null;
  /** How it was rated before it was loaded. */
  given: Given | null;
  /** Null if there is none; undefined of a stored answer, whose rows say it. */
  chart?: Chart | null | undefined;
}

/** Nothing is known of what an answer is based on. */
const UNKNOWN = { response: null, assumptions: [], followUps: [], truncated: false, ending: null, given: null };

const PAGE = 100;
const TITLE = 200;

function stored(item: Schemas["Item"]): Turn {
  const known = item.answer;
  const failed = known?.error && known.error.code !== "cancelled" ? new ApiError(known.error.message, known.error.code, 200, null) : null;
  return {
    id: item.id,
    role: item.role === "user" ? "user" : "assistant",
    text: item.content.map((part) => part.text).join(""),
    sql: item.sql,
    at: item.created_at,
    steps: known?.steps ?? [],
    state: failed ? "failed" : item.status === "completed" || known?.ending ? "done" : "stopped",
    error: failed,
    response: item.response_id ?? null,
    assumptions: known?.assumptions ?? [],
    followUps: known?.follow_up_questions ?? [],
    truncated: known?.truncated ?? false,
    ending: known?.ending ?? null,
    given: known?.feedback ?? null,
  };
}

async function load(id: string, signal: AbortSignal): Promise<Turn[]> {
  const turns: Turn[] = [];
  let after: string | undefined;
  for (;;) {
    const query = { limit: PAGE, order: "asc" as const, include: "answer", ...(after ? { after } : {}) };
    const page = await take(api.GET("/api/v1/conversations/{id}/items", { params: { path: { id }, query }, signal }));
    turns.push(...page.data.map(stored));
    if (!page.has_more || !page.last_id) return turns;
    after = page.last_id;
  }
}

const fresh = (role: Turn["role"], text: string): Turn => ({
  id: "", role, text, sql: null, at: null, steps: [], state: role === "user" ? "done" : "running", error: null, ...UNKNOWN,
});

/** What one event changes of the answer. */
function changed(turn: Turn, event: ServerEvent, requestId: string | null): Turn {
  switch (event.type) {
    case "error":
      return { ...turn, state: "failed", error: new ApiError(String(event["message"]), String(event["code"]), 200, requestId) };
    case "response.output_item.added": {
      const item = event["item"] as { id: string };
      return { ...turn, id: item.id };
    }
    case "response.mindhost.step":
      return { ...turn, steps: [...turn.steps, event["step"] as Step] };
    case "response.output_text.delta":
      return { ...turn, text: turn.text + String(event["delta"]) };
    case "response.completed":
    case "response.incomplete":
    case "response.failed":
    case "response.cancelled":
      return ended(turn, event["response"] as Schemas["Response"], requestId);
    default:
      return turn;
  }
}

function ended(turn: Turn, response: Schemas["Response"], requestId: string | null): Turn {
  const item = response.output[0];
  const at = response.completed_at;
  if (response.status === "cancelled" || response.error?.code === "cancelled") return { ...turn, at, state: "stopped", error: null };
  if (response.error) {
    const { code, message } = response.error;
    return { ...turn, at, state: "failed", error: turn.error ?? new ApiError(message, code, 200, requestId) };
  }
  if (!item) return { ...turn, at, state: "done" };
  if ("query" in item) return { ...turn, id: item.id, sql: item.query, at, state: "done", chart: chartOf(item) };
  const { assumptions, follow_up_questions: followUps, truncated, ending } = item;
  const text = item.content.map((part) => part.text).join("");
  const basis = { assumptions, followUps, truncated, ending, chart: chartOf(item) };
  return { ...turn, id: item.id, text, sql: item.sql, at, state: "done", response: response.id, ...basis };
}

export interface Question {
  mind: string;
  text: string;
  /** Runs this statement instead of asking in words. */
  sql?: string;
}

/** The conversation with this id, or one that begins with the first question. */
export function useConversation(id: string | null, began: () => void) {
  const [turns, setTurns] = useState<Turn[]>([]);
  const [error, setError] = useState<ApiError | null>(null);
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
    setMind(null);
    setOwn(true);
    setLoading(id !== null);
    if (id === null) return;
    const abort = new AbortController();
    const about = take(api.GET("/api/v1/conversations/{id}", { params: { path: { id } }, signal: abort.signal }));
    Promise.all([load(id, abort.signal), about])
      .then(([turns, about]) => {
        setTurns(turns);
        setMind(about.model);
        setOwn(about.key_id === me.value?.id);
        setLoading(false);
      })
      .catch((thrown: unknown) => {
        if (isAbort(thrown)) return;
        setError(toError(thrown));
        setLoading(false);
      });
    return () => abort.abort();
  }, [id]);

  const last = (change: (turn: Turn) => Turn) => setTurns((turns) => [...turns.slice(0, -1), change(turns[turns.length - 1]!)]);

  async function begin(question: Question): Promise<string> {
    if (own.current !== null) return own.current;
    const title = (question.sql ?? question.text).slice(0, TITLE);
    return (await take(api.POST("/api/v1/conversations", { body: { metadata: { title } } }))).id;
  }

  async function ask(question: Question): Promise<void> {
    const abort = new AbortController();
    asking.current = abort;
    response.current = null;
    const isNew = own.current === null;
    // Another conversation is shown once this is not what is asked.
    const isShown = () => asking.current === abort;
    const update = (change: (turn: Turn) => Turn) => isShown() && last(change);
    setMind(question.mind);
    setTurns((turns) => [...turns, fresh("user", question.sql ?? question.text), fresh("assistant", "")]);
    try {
      const conversation = await begin(question);
      if (!isShown()) return;
      own.current = conversation;
      if (isNew) go(href("ask", conversation));
      const wanted = { model: question.mind, conversation, stream: true, include: ["steps", "chart"] };
      const tool = { type: "sql_query", query: question.sql, max_inline_rows: 1 };
      const body = question.sql === undefined ? { ...wanted, input: question.text } : { ...wanted, tools: [tool] };
      const headers = { "Content-Type": "application/json" };
      const answer = await send("/api/v1/responses", { method: "POST", headers, body: JSON.stringify(body), signal: abort.signal });
      for await (const event of events(answer.body!)) {
        if (event.type === "response.created") response.current = (event["response"] as Schemas["Response"]).id;
        update((turn) => changed(turn, event, answer.headers.get("x-request-id")));
      }
      update((turn) => (turn.state === "running" ? { ...turn, state: "stopped" } : turn));
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
    await take(api.POST("/api/v1/responses/{id}/cancel", { params: { path: { id } } })).catch(() => asking.current?.abort());
  }

  return { turns, mind, isOwn, error, loading, ask, stop, busy: turns[turns.length - 1]?.state === "running" };
}
