// The turns of a conversation: as they are stored, and as the events of an answer make them.
import { chartOf, type Chart } from "../chart/spec";
import { ApiError, api, take, type Schemas } from "../lib/api";
import type { ServerEvent } from "../lib/events";

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
  /** Of a question: why its answer failed. */
  error: ApiError | null;
  /** Of the answer, to say whether it was right; null of what runs a statement. Of a question, the one that answers it. */
  response: string | null;
  assumptions: string[];
  followUps: string[];
  /** Numbers of the text that are in nothing that the model has read. */
  unverified: string[];
  /** Whether the model got fewer rows than there are. */
  truncated: boolean;
  /** Why the answer ended; null if by itself. */
  ending: string | null;
  /** How it was rated before it was loaded. */
  given: Given | null;
  /** Whether it is made for another page, which gets its words. */
  isElsewhere?: boolean;
  /** Null if there is none; undefined of a stored answer, whose rows say it. */
  chart?: Chart | null | undefined;
}

/** Nothing is known of what an answer is based on. */
const UNKNOWN = { response: null, assumptions: [], followUps: [], unverified: [], truncated: false, ending: null, given: null };

const PAGE = 100;

const failureOf = ({ message, code, request_id }: Schemas["AnswerFailure"]): ApiError => new ApiError(message, code, 200, request_id);

function stored(item: Schemas["Item"]): Turn {
  const known = item.answer;
  const why = known?.error ?? item.failure;
  const failed = why && why.code !== "cancelled" ? failureOf(why) : null;
  return {
    id: item.id,
    role: item.role === "user" ? "user" : "assistant",
    text: item.content.map((part) => part.text).join(""),
    sql: item.sql,
    at: item.created_at,
    steps: known?.steps ?? [],
    state: failed ? "failed" : (item.status === "completed" && !why) || known?.ending ? "done" : "stopped",
    error: failed,
    response: item.response_id ?? null,
    assumptions: known?.assumptions ?? [],
    followUps: known?.follow_up_questions ?? [],
    unverified: known?.unverified_numbers ?? [],
    truncated: known?.truncated ?? false,
    ending: known?.ending ?? null,
    given: known?.feedback ?? null,
  };
}

/** A statement that a caller sent has no question: it is what was asked. */
function asked(item: Schemas["Item"], before: Turn | undefined): Turn[] {
  const isAnswerOf = before?.role === "user" && before.response === null;
  const isStatement = item.role === "assistant" && item.sql !== null && !item.response_id && !isAnswerOf;
  return isStatement ? [fresh("user", "", item.sql)] : [];
}

export async function load(id: string, signal: AbortSignal): Promise<Turn[]> {
  const turns: Turn[] = [];
  let after: string | undefined;
  for (;;) {
    const query = { limit: PAGE, order: "asc" as const, include: "answer", ...(after ? { after } : {}) };
    const page = await take(api.GET("/api/v1/conversations/{id}/items", { params: { path: { id }, query }, signal }));
    for (const item of page.data) turns.push(...asked(item, turns[turns.length - 1]), stored(item));
    if (!page.has_more || !page.last_id) return paired(turns);
    after = page.last_id;
  }
}

/** Puts each answer behind its question: those of questions that are asked at once are stored as they end. */
function paired(turns: Turn[]): Turn[] {
  const asked = new Map<string | null, Turn>();
  for (const turn of turns) if (turn.role === "user" && turn.response !== null) asked.set(turn.response, turn);
  const isAnswer = (turn: Turn) => turn.role === "assistant" && asked.has(turn.response);
  const answers = Map.groupBy(turns.filter(isAnswer), (turn) => turn.response);
  const others = turns.filter((turn) => !isAnswer(turn));
  return others.flatMap((turn) => (asked.get(turn.response) === turn ? [turn, ...(answers.get(turn.response) ?? [])] : [turn]));
}

const isAnswerOf = (answer: Turn | undefined, question: Turn | undefined): boolean =>
  question?.role === "user" && answer?.role === "assistant" &&
  (question.response === null || answer.response === null || question.response === answer.response);

export const isAnswered = (turns: Turn[], index: number): boolean => isAnswerOf(turns[index + 1], turns[index]);

/** What was asked: of a question, itself. Null if it is not known. */
export function questionOf(turns: Turn[], index: number): Turn | null {
  if (turns[index]!.role === "user") return turns[index]!;
  return isAnswerOf(turns[index], turns[index - 1]) ? turns[index - 1]! : null;
}

/** A statement takes the place of the text of what is asked in SQL. */
export const fresh = (role: Turn["role"], text: string, sql: string | null = null): Turn => ({
  id: "", role, text, sql, at: null, steps: [], state: role === "user" ? "done" : "running", error: null, ...UNKNOWN,
});

/** What one event changes of the answer. */
export function changed(turn: Turn, event: ServerEvent, requestId: string | null): Turn {
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
      return ended(turn, event["response"] as Schemas["Response"]);
    default:
      return turn;
  }
}

/** The answer as its response ended. */
export function ended(turn: Turn, response: Schemas["Response"]): Turn {
  const item = response.output[0];
  const at = response.completed_at;
  if (response.status === "cancelled" || response.error?.code === "cancelled") return { ...turn, at, state: "stopped", error: null };
  if (response.error) {
    return { ...turn, at, state: "failed", error: turn.error ?? failureOf(response.error) };
  }
  if (!item) return { ...turn, at, state: "done" };
  if ("query" in item) return { ...turn, id: item.id, sql: item.query, at, state: "done", chart: chartOf(item) };
  const { assumptions, follow_up_questions: followUps, unverified_numbers: unverified = [], truncated, ending } = item;
  const text = item.content.map((part) => part.text).join("");
  const basis = { assumptions, followUps, unverified, truncated, ending, chart: chartOf(item) };
  return { ...turn, id: item.id, text, sql: item.sql, at, state: "done", response: response.id, ...basis };
}
