// A vendor with the API of OpenAI: a conversation goes out, and the answer is streamed as server-sent events.

import { PluginError, http } from "./mindhost/index.js";
import type {
  ErrorKind, Event, Message, Model, Request, Response, StopReason, Tool, ToolCall,
} from "./mindhost/index.js";

/** The vendor's reasons for the end of an answer, in the contract's words. */
const STOPS: Record<string, StopReason> = {
  stop: "end", tool_calls: "tool-calls", length: "length", content_filter: "refused",
};

/** Refusals that mean the same everywhere; other statuses below 500 are about the request. */
const KINDS: Record<number, ErrorKind> = {
  401: "auth", 403: "permission", 404: "not-found", 408: "timeout", 413: "too-large", 429: "rate-limited",
};

/** What the provider is configured with; manifest.json has its schema. The host adds `api_key` to the requests. */
interface Config {
  base_url: string;
  model: string;
}

/** A piece of an answer, as far as it is read; the vendor may leave out all of it. */
interface Chunk {
  choices?: { delta?: { content?: string | null; tool_calls?: CallPiece[] | null }; finish_reason?: string | null }[];
  usage?: { prompt_tokens: number; completion_tokens: number } | null;
  error?: { message?: string };
}

interface CallPiece {
  index: number;
  id?: string;
  function?: { name?: string; arguments?: string };
}

export default class Vendor implements Model {
  readonly url: string;
  readonly model: string;

  constructor({ base_url, model }: Config) {
    this.url = base_url.replace(/\/+$/, "");
    this.model = model;
  }

  /** Yields each piece as soon as it is there. */
  *complete(request: Request): Generator<Event | undefined> {
    const body = JSON.stringify({ ...written(request), model: request.model || this.model });
    const headers = { "content-type": "application/json", accept: "text/event-stream" };
    const response = accepted(http.post(`${this.url}/chat/completions`, body, { headers }));
    // Nothing is said yet, but the vendor accepted.
    yield;
    yield* answer(response);
  }

  /** The list of models proves the address and the key, and costs nothing. */
  check() {
    const isThere = this.models().includes(this.model);
    if (!isThere) throw new PluginError("not-found", `the vendor has no model ${this.model}`);
    return `The vendor answers; the model is ${this.model}.`;
  }

  models(): string[] {
    const list: { id?: unknown }[] | undefined = accepted(http.get(`${this.url}/models`)).json()?.data;
    if (!Array.isArray(list)) throw new PluginError("upstream", "the address does not answer with a list of models");
    return list.map((model) => String(model?.id));
  }
}

/** The events of a streamed answer. */
function* answer(response: Response): Generator<Event> {
  const calls = new Map<number, ToolCall>();
  let reason: string | null = null;
  for (const data of response.events()) {
    if (data === "[DONE]") break;
    const { choices, usage, error } = parsed(data);
    if (error) throw new PluginError("upstream", `the vendor failed: ${error.message ?? "it does not say why"}`);
    const { delta, finish_reason } = choices?.[0] ?? {};
    if (delta?.content) yield { text: delta.content };
    for (const piece of delta?.tool_calls ?? []) collect(calls, piece);
    reason = finish_reason ?? reason;
    if (usage) yield { usage: { input: usage.prompt_tokens, output: usage.completion_tokens } };
  }
  if (reason === null) throw new PluginError("connection-lost", "the answer was cut off before its end; ask again");
  for (const toolCall of calls.values()) yield { toolCall };
  yield { stop: STOPS[reason] ?? "other", reason };
}

/** Adds a piece of a tool call to the calls; `index` says which. */
function collect(calls: Map<number, ToolCall>, { index, id, function: piece }: CallPiece) {
  const call = calls.get(index) ?? { id: "", name: "", arguments: "" };
  calls.set(index, {
    id: call.id || (id ?? ""),
    name: call.name || (piece?.name ?? ""),
    arguments: call.arguments + (piece?.arguments ?? ""),
  });
}

function parsed(data: string): Chunk {
  try {
    return JSON.parse(data) ?? {};
  } catch (cause) {
    throw new PluginError("upstream", "the vendor sent an event that is not JSON", { cause });
  }
}

/** A request as the vendor wants it. What is undefined is not written. */
function written({ messages, tools, toolChoice, maxOutputTokens, temperature, responseSchema }: Request) {
  const schema = responseSchema && { name: "answer", schema: JSON.parse(responseSchema) };
  return {
    messages: messages.flatMap(message),
    tools: tools.length > 0 ? tools.map(tool) : undefined,
    tool_choice: tools.length > 0 ? choice(toolChoice) : undefined,
    max_tokens: maxOutputTokens ?? undefined,
    temperature: temperature ?? undefined,
    response_format: schema ? { type: "json_schema", json_schema: schema } : undefined,
    stream: true,
    stream_options: { include_usage: true },
  };
}

/** A message of the host; each result of a tool is a message of its own. */
function message({ role, parts }: Message): object[] {
  if (parts.some(({ tag }) => tag === "media")) throw new PluginError("unsupported", "this model only reads text");
  if (role === "tool") {
    const results = parts.flatMap((part) => (part.tag === "tool-result" ? [part.val] : []));
    return results.map(({ callId, content }) => ({ role, tool_call_id: callId, content }));
  }
  const texts = parts.flatMap((part) => (part.tag === "text" ? [part.val] : []));
  const calls = parts.flatMap((part) => (part.tag === "tool-call" ? [part.val] : []));
  const functions = calls.map(({ id, ...called }) => ({ id, type: "function", function: called }));
  return [{ role, content: texts.join("\n"), tool_calls: calls.length > 0 ? functions : undefined }];
}

function tool({ name, description, parameters }: Tool) {
  return { type: "function", function: { name, description, parameters: JSON.parse(parameters || "{}") } };
}

function choice(name: string) {
  return ["auto", "none", "required"].includes(name) ? name : { type: "function", function: { name } };
}

/** The vendor's refusals in the contract's words. The host waits and asks again when it is told when. */
function accepted(response: Response) {
  const { status } = response;
  if (status === 200) return response;
  const retryAfterMs = http.retryAfter(response);
  let said = "it does not say why";
  try {
    said = JSON.parse(response.text(64 << 10)).error.message ?? said;
  } catch {
    // Not the vendor's own words, then.
  }
  const kind = KINDS[status] ?? (status >= 400 && status < 500 ? "invalid-statement" : "upstream");
  throw new PluginError(kind, `the vendor refused with status ${status}: ${said}`, { code: status, retryAfterMs });
}
