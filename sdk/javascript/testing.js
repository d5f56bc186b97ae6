// Unit tests without a server: a stand-in for the host, in Node. A component never has this file.

import { spawnSync } from "node:child_process";
import { closeSync, openSync, readFileSync, readSync, readdirSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { exportConnector } from "./connector.js";
import { PluginError } from "./error.js";
import { called, provide } from "./host.js";
import { exportModel } from "./model.js";
import { exportScanner } from "./scanner.js";
import { decode } from "./text.js";
import { isoDate, isoTime, isoTimestamp, isoTimestampUtc } from "./values.js";

const RECORDER = fileURLToPath(new URL("./testing-fetch.mjs", import.meta.url));
/** The largest response that is recorded. */
const LARGEST = 64 << 20;

/**
 * A host for tests: files are those of the machine, waits take no time, and `http(request)` answers requests. What the
 * plugin does is kept in `logged`, `slept` and `requests`.
 */
export function standIn({ http = refuse, timeLimitMs = 60_000 } = {}) {
  const host = {
    logged: [],
    slept: [],
    requests: [],
    cancelled: false,
    log: (level, line) => host.logged.push([level, line]),
    remainingMs: () => timeLimitMs - host.slept.reduce((sum, ms) => sum + ms, 0),
    isCancelled: () => host.cancelled,
    sleep(ms) {
      host.slept.push(ms);
      return !host.cancelled;
    },
    send(request) {
      const { method, url, headers, bytes } = request;
      const asked = { method, url, headers, body: decode(bytes) };
      host.requests.push(asked);
      return exchange(http(asked));
    },
    openFile,
    list: (path) => attempt(path, () => readdirSync(path)),
  };
  provide(host);
  called();
  return host;
}

/**
 * A stand-in whose HTTP comes from a file of fixtures. With `RECORD_HTTP=1` in the environment, or where the file
 * is missing and `record` is true, requests go to the real server and the file is written anew; several tests of one
 * run may share it. `headers` are for the real
 * server alone (what the host would add: the key), and for no other: that of the first request, or those of `servers`,
 * which says where it is for a URL of the tests. No text of `secrets` is ever written.
 */
export function replay(file, { record = false, headers = {}, servers = {}, secrets = [], ...options } = {}) {
  const path = file instanceof URL ? fileURLToPath(file) : file;
  const known = readFixtures(path);
  const isRecording = process.env.RECORD_HTTP === "1" || (known === null && record);
  if (known === null && !isRecording) {
    throw new Error(`${path} is not there; run the tests once with RECORD_HTTP=1, which asks the real server`);
  }
  const tape = isRecording ? recorder(path, { headers, servers, secrets }) : player(path, known, secrets);
  return standIn({ ...options, http: tape });
}

/** What a class needs beside the method that says of which kind it is. */
const NEEDED = { query: ["check", "tables"], scan: ["check", "tables", "describe"], complete: ["check"] };

/** The host calls these whatever a statement needs, so a test should not find out by chance that one is missing. */
function checkMethods(Plugin) {
  // A method may be a field, which only an instance has; its name is in the source of its class.
  const isNamed = (one, name) => one?.name && (new RegExp(`\\b${name}\\b`).test(one) || isNamed(Object.getPrototypeOf(one), name));
  const has = (name) => typeof Plugin?.prototype?.[name] === "function" || isNamed(Plugin, name);
  const kinds = Object.keys(NEEDED).filter(has);
  const name = Plugin?.name || "the plugin";
  if (kinds.length === 0) throw new TypeError(`${name} has none of the methods ${Object.keys(NEEDED).join(", ")}`);
  const missing = kinds.flatMap((kind) => NEEDED[kind]).filter((method) => !has(method));
  if (missing.length > 0) throw new TypeError(`${name} has no method ${missing[0]}, which the host calls`);
  if (has("query") && !has("describe") && !has("describeTables")) {
    throw new TypeError(`${name} has neither describe nor describeTables, one of which the host calls`);
  }
}

/** A plugin as the host opens it: `scan`, `query` and `complete` go through the checks of the SDK. */
export function open(Plugin, config = {}) {
  checkMethods(Plugin);
  const wire = { json: JSON.stringify(config), extra: [] };
  const opened = (Kind) => real(() => Kind.open(wire));
  return {
    /** The rows of a table as objects, with dates and times in ISO 8601 form. */
    scan(table, { columns, filters = [], limit = null } = {}) {
      const source = opened(exportScanner(Plugin, "{}").Source);
      const ref = typeof table === "string" ? { schema: "main", name: table } : table;
      const own = real(() => source.columns(ref));
      const typed = filters.map((one) => typedFilter(one, own));
      const support = real(() => source.filterSupport(ref, typed));
      const kept = typed.filter((_, index) => support[index] !== "no");
      const projection = columns ?? own.map(({ name }) => name);
      const request = { table: ref, projection, filters: kept, limit, id: "test", maxCellBytes: 16 << 20 };
      const cursor = real(() => source.scan(request));
      return rowsOf(cursor).map((row) => Object.fromEntries(row.map((value, index) => [projection[index], value])));
    },
    /** `{columns, rows}` of a statement. */
    query(text) {
      const connection = opened(exportConnector(Plugin, "{}").Connection);
      const cursor = real(() => connection.query({ text, id: "test", timeoutMs: 60_000, maxCellBytes: 16 << 20 }));
      return { columns: cursor.schema().map(({ name }) => name), rows: rowsOf(cursor) };
    },
    /** The answer to a question, or to a request: `{text, toolCalls, usage, stop}`. */
    complete(request) {
      const { start } = exportModel(Plugin, "{}");
      return collected(real(() => start(wire, asRequest(request))));
    },
  };
}

function refuse({ method, url }) {
  throw new Error(`the test has no answer for ${method} ${url}; use replay(), or give standIn() a function http`);
}

/** `{status, headers, body}` as something to read. */
function exchange({ status = 200, headers = [], body = "" }) {
  let rest = typeof body === "string" ? Buffer.from(body) : body;
  return {
    status,
    headers: Array.isArray(headers) ? headers : Object.entries(headers),
    read() {
      if (rest === null || rest.length === 0) return null;
      const piece = rest.subarray(0, 64 << 10);
      rest = rest.subarray(piece.length);
      return new Uint8Array(piece);
    },
    close: () => {
      rest = null;
    },
  };
}

function readFixtures(path) {
  try {
    return JSON.parse(readFileSync(path, "utf8"));
  } catch (error) {
    if (error.code === "ENOENT") return null;
    throw new Error(`${path}: ${error.message}`);
  }
}

/** Answers in the order in which they were recorded; the last answer to a request stays. */
function player(path, fixtures, secrets) {
  const waiting = new Map();
  for (const { request, response } of fixtures) {
    const key = keyOf(request);
    waiting.set(key, [...(waiting.get(key) ?? []), response]);
  }
  return (asked) => {
    const { method, url, body } = masked(asked, secrets);
    const answers = waiting.get(keyOf({ method, url, body }));
    if (!answers) {
      const sent = body ? ` with the body ${body.slice(0, 200)}` : "";
      throw new Error(`${path} has no answer for ${method} ${url}${sent}; record it with RECORD_HTTP=1`);
    }
    const { body: stored, ...rest } = answers.length > 1 ? answers.shift() : answers[0];
    return { ...rest, body: typeof stored === "string" ? stored : Buffer.from(stored.base64, "base64") };
  };
}

const keyOf = ({ method, url, body = "" }) => JSON.stringify([method, url, body]);

/** Headers that say nothing that a plugin reads, or too much. */
const UNWRITTEN = [
  "connection", "content-encoding", "content-length", "keep-alive", "server", "set-cookie", "transfer-encoding",
];

/** What this process has recorded, by file: several tests of it may write into one. */
const recorded = new Map();

function recorder(path, { headers: extra, servers, secrets }) {
  const fixtures = recorded.get(path) ?? [];
  recorded.set(path, fixtures);
  const real = Object.entries(servers).filter(([, url]) => url);
  const trusted = new Set(real.map(([, url]) => new URL(url).origin));
  return (asked) => {
    const there = real.reduce((url, [own, other]) => url.replace(own, other), asked.url);
    if (trusted.size === 0) trusted.add(new URL(there).origin);
    const added = trusted.has(new URL(there).origin) ? extra : {};
    const own = (text) => real.reduce((rest, [url, other]) => rest.replaceAll(other, url), text);
    const { status, headers: sentBack, base64 } = fetched({
      ...asked,
      url: there,
      headers: [...asked.headers, ...Object.entries(typeof added === "function" ? added(asked) : added)],
    });
    const all = sentBack.map(([name, value]) => [name, own(value)]);
    const bytes = Buffer.from(base64, "base64");
    const text = asText(bytes);
    const body = typeof text === "string" ? Buffer.from(own(text)) : bytes;
    // The server's clock matters beside a date to come back at, and makes two recordings differ.
    const isLater = all.some(([name]) => name === "retry-after");
    const told = all.filter(([name]) => !UNWRITTEN.includes(name) && (isLater || name !== "date"));
    const { method, url, body: sent } = masked(asked, secrets);
    const response = masked({ status, headers: told, body: asText(body) }, secrets);
    const fixture = { request: { method, url, ...(sent ? { body: sent } : {}) }, response };
    // The last answer to a request stays, so the same one again says nothing new.
    const before = fixtures.findLast(({ request }) => keyOf(request) === keyOf(fixture.request));
    if (JSON.stringify(before) !== JSON.stringify(fixture)) fixtures.push(fixture);
    writeFileSync(path, `${JSON.stringify(fixtures, null, 2)}\n`);
    return { status, headers: told, body };
  };
}

/** Waits for the answer of the real server, in another process. */
function fetched(request) {
  const input = JSON.stringify(request);
  const done = spawnSync(process.execPath, [RECORDER], { input, maxBuffer: 2 * LARGEST, timeout: 60_000 });
  if (done.status === 0) return JSON.parse(String(done.stdout));
  throw new PluginError("unreachable", `${request.url}: ${String(done.stderr).trim() || done.error}`);
}

/** Text where the bytes are text. */
function asText(bytes) {
  const text = bytes.toString("utf8");
  return Buffer.from(text).equals(bytes) ? text : { base64: bytes.toString("base64") };
}

function masked(value, secrets) {
  const clean = (text) => secrets.filter(Boolean).reduce((rest, secret) => rest.replaceAll(secret, "***"), text);
  return JSON.parse(JSON.stringify(value), (_key, own) => (typeof own === "string" ? clean(own) : own));
}

function openFile(path) {
  const file = attempt(path, () => openSync(path, "r"));
  return {
    read(length, at) {
      const bytes = new Uint8Array(length);
      return bytes.subarray(0, attempt(path, () => readSync(file, bytes, 0, length, at)));
    },
    close: () => closeSync(file),
  };
}

const KINDS = { ENOENT: "not-found", EACCES: "denied" };

function attempt(path, work) {
  try {
    return work();
  } catch (error) {
    throw new PluginError(KINDS[error.code] ?? "upstream", `${path}: ${error.code}`, { code: error.code });
  }
}

/** Runs a call of the host's; what the plugin threw is thrown on as it was. */
function real(work) {
  try {
    return work();
  } catch (told) {
    throw told?.cause ?? told;
  }
}

function rowsOf(cursor) {
  const rows = [];
  for (;;) {
    const batch = real(() => cursor.next(3, 1 << 20));
    if (batch === null) break;
    rows.push(...batch.val.map((row) => row.map(plain)));
  }
  cursor.close();
  return rows;
}

const SHOWN = { date: isoDate, time: isoTime, timestamp: isoTimestamp, "timestamp-utc": isoTimestampUtc };

function plain({ tag, val }) {
  if (tag === "null") return null;
  return SHOWN[tag] ? SHOWN[tag](val) : val;
}

function typedFilter({ column, op, values = [] }, columns) {
  const type = columns.find(({ name }) => name === column)?.dataType ?? "text";
  return { column, op, values: values.map((val) => ({ tag: type, val })) };
}

function asRequest(request) {
  const question = (text) => [{ role: "user", parts: [{ tag: "text", val: text }] }];
  const own = typeof request === "string" ? { messages: question(request) } : request;
  const empty = { model: "", messages: [], tools: [], toolChoice: "auto", extra: [] };
  return { ...empty, maxOutputTokens: null, temperature: null, responseSchema: null, ...own };
}

function collected(completion) {
  const answer = { text: "", toolCalls: [], usage: {}, stop: null };
  for (;;) {
    const events = real(() => completion.next());
    if (events === null) return answer;
    for (const { tag, val } of events) {
      if (tag === "text") answer.text += val;
      if (tag === "tool-call") answer.toolCalls.push(val);
      if (tag === "usage") answer.usage = Object.fromEntries(val);
      if (tag === "stop") answer.stop = val[0];
    }
  }
}
