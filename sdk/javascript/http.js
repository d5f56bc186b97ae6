// HTTP: one request, one response whose body is read piece by piece. The host decides which origins a plugin reaches
// and adds the credentials that the manifest gives to it.

import { check, remainingMs, sleep } from "./control.js";
import { PluginError } from "./error.js";
import { host } from "./host.js";
import { parse as parseExactly } from "./json.js";
import { jsonValues } from "./json-values.js";
import { decode, encode, lines } from "./text.js";

/** A vendor that says these wants the same request again, later. */
const BUSY = [429, 503];
const FIRST_WAIT_MS = 500;
const LONGEST_WAIT_MS = 30_000;
/** Time for the request after a wait. */
const MARGIN_MS = 1_000;
/** A call that has not even so long left has used its time up; what it lacks is time, and not a calmer server. */
const SHORT_WAIT_MS = 5_000;

/**
 * Sends a request and waits for the head of its response. A status is never an error here, unless `retries` are asked
 * for and the server stays busy (429, 503) until they or the time of the call are used up (see index.d.ts).
 */
export function request(url, options = {}) {
  const { method = "GET", headers = {}, body = "", timeoutMs = 60_000, retries = 0 } = options;
  const sent = {
    url: String(url),
    method,
    headers: Object.entries(headers).map(([name, value]) => [name.toLowerCase(), String(value)]),
    bytes: typeof body === "string" ? encode(body) : body,
    timeoutMs,
  };
  for (let attempt = 0; ; attempt++) {
    const response = new Response(host().send(sent));
    if (retries === 0 || !BUSY.includes(response.status)) return response;
    response.close();
    const asked = retryAfter(response);
    const pause = asked ?? backoff(attempt);
    if (attempt >= retries) throw busy(response, asked, attempt + 1);
    const left = remainingMs();
    if (pause + MARGIN_MS > left) throw tooLate(response, pause, asked, left);
    sleep(pause);
  }
}

/**
 * Calls a function again as long as it throws `rate-limited`, after the wait of the error or one that grows: for servers
 * that say in the body of an answer that they are busy. As with `retries` of a request, it ends with the time of the call.
 */
export function retry(ask, { retries = 5 } = {}) {
  for (let attempt = 0; ; attempt++) {
    try {
      return ask();
    } catch (error) {
      if (!(error instanceof PluginError) || error.kind !== "rate-limited" || attempt >= retries) throw error;
      const pause = error.retryAfterMs ?? backoff(attempt);
      const left = remainingMs();
      if (pause + MARGIN_MS > left) throw tooLate({ status: error.code }, pause, error.retryAfterMs, left);
      sleep(pause);
    }
  }
}

/** `GET` of a URL. */
export const get = (url, options = {}) => request(url, { ...options, method: "GET" });

/** `POST` of a text or bytes. */
export const post = (url, body, options = {}) => request(url, { ...options, method: "POST", body });

/**
 * The bodies of a paged answer as JSON, one page after another. `next(body, response)` gives the URL of the next page
 * (relative to the last one or whole), or `{url?, body?}` where the page is asked for by POST; null, undefined, false or
 * an empty text end it.
 * Without it the header `Link` with `rel="next"` says.
 */
export function* pages(url, { next = linked, exact = false, ...options } = {}) {
  let [at, body] = [String(url), options.body];
  // One page is remembered, later and later ones: in a circle it comes again, however long the circle is.
  let remembered = null;
  for (let count = 1, until = 1; ; count++) {
    check();
    // Bytes are written as their numbers; the type keeps them apart from a text of such numbers.
    const asked = `${at} ${typeof body} ${body ?? ""}`;
    if (asked === remembered) throw new PluginError("upstream", "the pages of the answer go in a circle");
    if (count === until) [remembered, until] = [asked, until * 2];
    const response = request(at, { ...options, body });
    if (response.status >= 400) throw refused(response);
    const page = exact ? response.exactJson() : response.json();
    yield page;
    const step = next(page, response);
    if (!step) return;
    if (typeof step === "object") body = step.body ?? body;
    at = resolve(at, typeof step === "string" ? step : (step.url ?? at));
  }
}

/** The URL with these query parameters; one that is null or undefined is left out, one that is there is replaced. */
export function withQuery(url, parameters) {
  const [, path, query = "", fragment = ""] = /^([^?#]*)(?:\?([^#]*))?(#.*)?$/s.exec(String(url));
  const isReplaced = (pair) => Object.hasOwn(parameters, unescaped(pair.split("=")[0]));
  const kept = query.split("&").filter((pair) => pair !== "" && !isReplaced(pair));
  for (const [name, value] of Object.entries(parameters)) {
    if (value === null || value === undefined) continue;
    kept.push(`${encodeURIComponent(name)}=${encodeURIComponent(String(value))}`);
  }
  return `${path}${kept.length > 0 ? `?${kept.join("&")}` : ""}${fragment}`;
}

/** The head of a response, and its body to read. */
export class Response {
  #exchange;

  constructor(exchange) {
    this.#exchange = exchange;
    this.status = exchange.status;
    this.headers = exchange.headers;
  }

  /** The value of the first header of this name, or null. */
  header(name) {
    const found = this.headers.find(([own]) => own.toLowerCase() === name.toLowerCase());
    return found ? found[1] : null;
  }

  /** The body as pieces of bytes. Leaving the loop early ends the exchange. */
  *pieces() {
    try {
      for (;;) {
        const piece = this.#exchange === null ? null : this.#exchange.read();
        if (piece === null) return;
        yield piece;
      }
    } finally {
      this.close();
    }
  }

  /** The body as lines of text. */
  lines() {
    return lines(this.pieces());
  }

  /** The data of each server-sent event of the body. A longer event is an error. */
  *events(limit = 4 << 20) {
    let data = "";
    let begun = false;
    for (const line of this.lines()) {
      if (line === "") {
        if (data !== "") yield data;
        [data, begun] = ["", false];
        continue;
      }
      // A line that begins with a colon is a comment; other fields than `data` say nothing here.
      const found = /^\ufeff?data(?:: ?(.*))?$/s.exec(line);
      if (!found) continue;
      data = `${data}${begun ? "\n" : ""}${found[1] ?? ""}`;
      begun = true;
      if (data.length > limit) throw new PluginError("too-large", `an event of the response is longer than ${limit}`);
    }
    // Some servers leave out the last empty line.
    if (data !== "") yield data;
  }

  /** The whole body as text; more than `limit` bytes are the error `too-large`. */
  text(limit = 8 << 20) {
    const all = [];
    let length = 0;
    for (const piece of this.pieces()) {
      length += piece.length;
      if (length > limit) throw new PluginError("too-large", `the response is larger than ${limit} bytes`);
      all.push(piece);
    }
    const bytes = new Uint8Array(length);
    let at = 0;
    for (const piece of all) {
      bytes.set(piece, at);
      at += piece.length;
    }
    return decode(bytes);
  }

  /** The whole body as JSON; numbers are those of JavaScript. */
  json(limit) {
    return this.#parsed(JSON.parse, limit);
  }

  /** The whole body as JSON; numbers that JavaScript cannot hold keep their digits, as `json.parse` gives them. */
  exactJson(limit) {
    return this.#parsed(parseExactly, limit);
  }

  /** The JSON values of the body, each when it is whole. An array at the top is opened, unless `lines` are asked for. */
  *jsonStream({ limit = 8 << 20, lines = false, exact = false } = {}) {
    const { status } = this;
    for (const [place, value] of jsonValues(this.pieces(), { limit, lines, status })) {
      let parsed;
      try {
        parsed = (exact ? parseExactly : JSON.parse)(decode(value));
      } catch {
        const message = `the response (status ${status}) is not JSON: the value at byte ${place} cannot be read`;
        throw new PluginError("upstream", message);
      }
      yield parsed;
    }
  }

  /** Ends the exchange, finished or not. */
  close() {
    this.#exchange?.close();
    this.#exchange = null;
  }

  #parsed(parse, limit) {
    const text = this.text(limit);
    try {
      return parse(text);
    } catch {
      throw new PluginError("upstream", `the response (status ${this.status}) is not JSON`);
    }
  }
}

/** The milliseconds of a header `Retry-After`: seconds, or a date by the server's own clock. Null without one. */
export function retryAfter(response) {
  const text = response.header("retry-after")?.trim() ?? "";
  if (/^\d{1,9}$/.test(text)) return Number(text) * 1_000;
  const then = Date.parse(text);
  if (Number.isNaN(then)) return null;
  const now = Date.parse(response.header("date") ?? "");
  return Math.max(0, then - (Number.isNaN(now) ? Date.now() : now));
}

/** Twice as long each time, and not the same for everybody who was sent away together. */
function backoff(attempt) {
  const longest = Math.min(LONGEST_WAIT_MS, FIRST_WAIT_MS * 2 ** attempt);
  return Math.round(longest * (0.5 + Math.random() / 2));
}

function busy({ status }, retryAfterMs, attempts) {
  const message = `the server is busy (status ${status}, ${attempts} ${attempts === 1 ? "attempt" : "attempts"})`;
  return new PluginError("rate-limited", message, { code: status, retryAfterMs });
}

/** The wait does not fit into the time of the call. */
function tooLate({ status }, pauseMs, retryAfterMs, leftMs) {
  const seconds = (ms) => (ms / 1_000).toFixed(1);
  const busy = `the server is busy${status ? ` (status ${status})` : ""}`;
  const message = `${busy}; it is asked again in ${seconds(pauseMs)} s at the earliest, and ${seconds(leftMs)} s are left for this call`;
  if (pauseMs <= SHORT_WAIT_MS) return new PluginError("timeout", message, { code: status });
  return new PluginError("rate-limited", message, { code: status, retryAfterMs });
}

/** The refusal of a page. */
function refused(response) {
  const { status } = response;
  const retryAfterMs = retryAfter(response);
  response.close();
  const kinds = { 401: "auth", 403: "permission", 404: "not-found", 408: "timeout", 429: "rate-limited" };
  return new PluginError(kinds[status] ?? "upstream", `the server answered with status ${status}`, {
    code: status,
    retryAfterMs,
  });
}

function linked(_page, response) {
  for (const [name, value] of response.headers) {
    if (name.toLowerCase() !== "link") continue;
    for (const [, url, about] of value.matchAll(/<([^>]*)>([^<]*)/g)) {
      if (/;\s*rel\s*=\s*(?:"(?:[^"]*\s)?next(?:\s[^"]*)?"|next\b)/i.test(about)) return url;
    }
  }
  return null;
}

/** A URL as seen from a page: the engine has no `URL`. */
function resolve(base, url) {
  if (/^https?:\/\//i.test(url)) return url;
  const [, scheme, authority, path] = /^(https?:)(\/\/[^/?#]*)([^?#]*)/i.exec(base) ?? [null, "", "", ""];
  if (url.startsWith("//")) return `${scheme}${url}`;
  if (url.startsWith("/")) return `${scheme}${authority}${url}`;
  if (url.startsWith("?")) return `${scheme}${authority}${path}${url}`;
  return `${scheme}${authority}${path.replace(/[^/]*$/, "") || "/"}${url}`;
}

function unescaped(text) {
  try {
    return decodeURIComponent(text.replaceAll("+", " "));
  } catch {
    return text;
  }
}
