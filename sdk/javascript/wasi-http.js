// HTTP over WASI: one request, and the pieces of its response.

import { PluginError } from "./error.js";
import { decode, encode } from "./text.js";
import { wait } from "./wasi-wait.js";
import { handler, types } from "./wasi.js";

const READ = 64 * 1024;
/** With these a body is usual: without a length an empty one would be sent in chunks, which not every server reads. */
const CARRYING = ["POST", "PUT", "PATCH"];
const METHODS = ["GET", "HEAD", "POST", "PUT", "DELETE", "OPTIONS", "PATCH"];

/** Sends a request and waits for the head of its response. */
export function send({ url, method, headers, bytes, timeoutMs }) {
  const outgoing = head(parse(url), method, headers, bytes);
  const outgoingBody = attempt(() => outgoing.body());
  const options = new types.RequestOptions();
  options.setFirstByteTimeout(timeoutMs * 1_000_000);
  options.setBetweenBytesTimeout(timeoutMs * 1_000_000);
  const future = attempt(() => handler.handle(outgoing, options));
  write(outgoingBody, bytes, timeoutMs);
  const ready = future.subscribe();
  for (;;) {
    const answer = future.get();
    if (answer === null) {
      wait(ready, timeoutMs, "no answer came");
      continue;
    }
    ready[Symbol.dispose]();
    return new Exchange(unwrap(unwrap(answer)), future, timeoutMs);
  }
}

/** The head of a response, and its body to read. */
class Exchange {
  #incoming;
  #future;
  #body;
  #stream;
  #timeoutMs;

  constructor(incoming, future, timeoutMs) {
    this.#incoming = incoming;
    this.#future = future;
    this.#timeoutMs = timeoutMs;
    this.status = incoming.status();
    const fields = incoming.headers();
    this.headers = fields.entries().map(([name, value]) => [name, decode(value)]);
    fields[Symbol.dispose]();
    this.#body = attempt(() => incoming.consume());
    this.#stream = attempt(() => this.#body.stream());
  }

  /** Ends the exchange, finished or not. */
  close() {
    // Children go before what they came from.
    for (const resource of [this.#stream, this.#body, this.#incoming, this.#future]) {
      resource?.[Symbol.dispose]();
    }
    this.#stream = null;
    this.#body = null;
    this.#incoming = null;
    this.#future = null;
  }

  /** The next bytes of the body; null at its end. */
  read() {
    while (this.#stream !== null) {
      let piece;
      try {
        piece = this.#stream.read(READ);
      } catch (error) {
        if (reason(error)?.tag === "closed") return null;
        throw new PluginError("connection-lost", "the answer broke off");
      }
      if (piece.length > 0) return piece instanceof Uint8Array ? piece : Uint8Array.from(piece);
      const ready = this.#stream.subscribe();
      try {
        wait(ready, this.#timeoutMs, "the answer fell silent");
      } finally {
        ready[Symbol.dispose]();
      }
    }
    return null;
  }
}

function head(target, method, headers, bytes) {
  const entries = headers.map(([name, value]) => [name, encode(value)]);
  if (bytes.length > 0 || CARRYING.includes(method)) entries.push(["content-length", encode(String(bytes.length))]);
  const fields = attempt(() => types.Fields.fromList(entries));
  const outgoing = new types.OutgoingRequest(fields);
  const verb = METHODS.includes(method) ? { tag: method.toLowerCase() } : { tag: "other", val: method };
  attempt(() => outgoing.setMethod(verb));
  attempt(() => outgoing.setScheme({ tag: target.https ? "HTTPS" : "HTTP" }));
  attempt(() => outgoing.setAuthority(target.authority));
  attempt(() => outgoing.setPathWithQuery(target.path));
  return outgoing;
}

/** Writes the body. A peer that answers before it read everything is no error: its answer says what is wrong. */
function write(body, bytes, timeoutMs) {
  const stream = attempt(() => body.write());
  let at = 0;
  try {
    while (at < bytes.length) {
      const room = Number(stream.checkWrite());
      if (room === 0) {
        const ready = stream.subscribe();
        try {
          wait(ready, timeoutMs, "the request was not taken");
        } finally {
          ready[Symbol.dispose]();
        }
        continue;
      }
      stream.write(bytes.slice(at, at + room));
      at += room;
    }
    stream.flush();
  } catch (error) {
    if (error instanceof PluginError) throw error;
    stream[Symbol.dispose]();
    body[Symbol.dispose]();
    return;
  }
  stream[Symbol.dispose]();
  attempt(() => types.OutgoingBody.finish(body, null));
}

function parse(url) {
  const match = /^(https?):\/\/([^/?#@\s]+)([^#\s]*)/i.exec(url);
  if (!match) throw new PluginError("invalid-config", "the URL is not an absolute http or https URL");
  const path = match[3].startsWith("/") ? match[3] : `/${match[3]}`;
  return { https: match[1].toLowerCase() === "https", authority: match[2], path };
}

/** Results inside of values come as `{tag, val}`. */
function unwrap(result) {
  if (result.tag === "ok") return result.val;
  throw failed(result.val);
}

function attempt(work) {
  try {
    return work();
  } catch (error) {
    throw failed(reason(error));
  }
}

/** What a WIT function threw: the value itself, or an error that carries it. */
function reason(error) {
  return error?.payload ?? error;
}

const KINDS = {
  "HTTP-request-denied": ["denied", "the configuration does not name this destination"],
  "destination-IP-prohibited": ["denied", "the configuration does not name this destination"],
  "DNS-error": ["unreachable", "the host name cannot be resolved"],
  "DNS-timeout": ["unreachable", "the host name cannot be resolved"],
  "connection-refused": ["unreachable", "the connection was refused"],
  "destination-not-found": ["unreachable", "the server cannot be found"],
  "destination-unavailable": ["unreachable", "the server cannot be reached"],
  "destination-IP-unroutable": ["unreachable", "the server cannot be reached"],
  "connection-timeout": ["timeout", "the connection timed out"],
  "connection-read-timeout": ["timeout", "the answer fell silent"],
  "connection-write-timeout": ["timeout", "the request was not taken"],
  "HTTP-response-timeout": ["timeout", "no answer came"],
  "connection-terminated": ["connection-lost", "the connection was cut"],
  "HTTP-response-incomplete": ["connection-lost", "the answer broke off"],
  "TLS-protocol-error": ["tls", "the TLS handshake failed"],
  "TLS-certificate-error": ["tls", "the certificate is not trusted"],
  "TLS-alert-received": ["tls", "the server refused the TLS handshake"],
};

function failed(code) {
  const tag = code?.tag ?? String(code);
  const [kind, message] = KINDS[tag] ?? ["upstream", `the request failed: ${tag}`];
  return new PluginError(kind, message);
}
