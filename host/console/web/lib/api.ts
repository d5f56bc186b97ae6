// The client of the API: typed by the server's own document.
import createClient from "openapi-fetch";
import type { components, paths } from "../api/schema";
import { BEYOND_MINDS, ROLES } from "../api/roles";
import { ended, key, me, sessionSignal } from "./session";

export type Schemas = components["schemas"];
export type Operation = keyof typeof ROLES;

/** What the server said when it refused, with the id under which its log knows the request. */
export class ApiError extends Error {
  constructor(
    message: string,
    readonly code: string,
    readonly status: number,
    readonly requestId: string | null,
    readonly param: string | null = null,
    readonly position: number | null = null,
    readonly rights: Schemas["PluginRight"][] = [],
  ) {
    super(message);
  }
}

const RANKS: Record<string, number> = { none: 0, user: 1, editor: 2, admin: 3, operator: 4 };

/** Whether the signed-in key may call all of these. */
export function may(...operations: Operation[]): boolean {
  const own = RANKS[me.value?.role ?? "none"] ?? 0;
  const isLimited = (me.value?.minds ?? null) !== null;
  return operations.every((operation) => own >= (RANKS[ROLES[operation]] ?? 9) && !(isLimited && BEYOND_MINDS.has(operation)));
}

/** As `fetch`, with the key, and with failures as `ApiError`. */
export async function send(input: string | Request, init: RequestInit = {}): Promise<Response> {
  const as = key.value;
  const own = init.signal ?? (input instanceof Request ? input.signal : null);
  const signal = AbortSignal.any(own ? [own, sessionSignal()] : [sessionSignal()]);
  const request = new Request(input, { ...init, signal });
  if (as) request.headers.set("Authorization", `Bearer ${as}`);
  const response = await fetch(request).catch((error: unknown) => {
    if (error instanceof DOMException && error.name === "AbortError") throw error;
    throw new ApiError("The server does not answer. Is it running?", "unreachable", 0, null);
  });
  return accepted(as, response);
}

const REFUSED = "This key is unknown, revoked or expired. Sign in with another one.";

/** The answer, if it is not a refusal. A refused key ends the session if it is the session's. */
export async function accepted(as: string | null, response: Response): Promise<Response> {
  if (response.ok) return response;
  const said = await failure(response);
  if (response.status !== 401 || as === null) throw said;
  // The server's words are for programs, which send a header.
  const error = new ApiError(REFUSED, said.code, said.status, said.requestId);
  if (as === key.value) ended(error);
  throw error;
}

export const requestIdOf = (response: Response): string | null => response.headers.get("x-request-id");

/** The connection ended too early. */
export const brokenOff = (response: Response): ApiError =>
  new ApiError("The connection to the server ended before all of the answer had arrived.", "broken_off", 0, requestIdOf(response));

/** The body of an answer as it arrives. One that breaks off is an error with the id of its request, as others are. */
export async function* pieces(response: Response): AsyncGenerator<Uint8Array<ArrayBuffer>> {
  const reader = response.body!.getReader();
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      yield value;
    }
  } catch (thrown) {
    throw isAbort(thrown) ? thrown : brokenOff(response);
  } finally {
    await reader.cancel().catch(() => undefined);
  }
}

async function failure(response: Response): Promise<ApiError> {
  const body = (await response.json().catch(() => null)) as Partial<Schemas["Error"]> | null;
  const said = body?.error;
  return new ApiError(
    said?.message ?? `The server answered ${response.status}`,
    said?.code ?? "unknown",
    response.status,
    requestIdOf(response),
    said?.param ?? null,
    said?.position ?? null,
    said?.rights ?? [],
  );
}

export const api = createClient<paths>({ baseUrl: location.origin, fetch: send });

/** The body of an answer; failures were thrown. */
export async function take<T>(answer: Promise<{ data?: T }>): Promise<T> {
  return (await answer).data as T;
}

/** Whatever was thrown, as text and where known with the id of the request. */
export function toError(thrown: unknown): ApiError {
  if (thrown instanceof ApiError) return thrown;
  return new ApiError(thrown instanceof Error ? thrown.message : String(thrown), "console", 0, null);
}

/** Whether a failure may pass by itself: no answer, a timeout, too many requests, or a failure of the server. */
export function mayPass({ status }: ApiError): boolean {
  return status === 0 || status === 408 || status === 429 || status >= 500;
}

export function isAbort(thrown: unknown): boolean {
  return thrown instanceof DOMException && thrown.name === "AbortError";
}
