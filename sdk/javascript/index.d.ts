// Types of what a plugin in JavaScript or TypeScript is and uses.

/** The kinds of errors; wit/README.md says when which. */
export type ErrorKind =
  | "invalid-config" | "auth" | "unreachable" | "tls" | "denied" | "not-found" | "invalid-statement" | "permission"
  | "cancelled" | "timeout" | "rate-limited" | "too-large" | "unsupported" | "connection-lost" | "upstream"
  | "internal";

/** What went wrong, in words for a person. Never put a secret into it. */
export class PluginError extends Error {
  constructor(kind: ErrorKind, message: string, options?: PluginErrorOptions);
  readonly kind: ErrorKind;
  readonly code: string;
  readonly position: number | null;
  readonly retryAfterMs: number | null;
  readonly connectionUsable: boolean;
}

export interface PluginErrorOptions {
  /** The engine's own code: an SQLSTATE, an HTTP status. */
  code?: string | number;
  /** Where in the statement, in characters from 1. */
  position?: number | null;
  /** For `rate-limited`: when to come back. */
  retryAfterMs?: number | null;
  /** Whether the connection can be used again; by default that depends on the kind. */
  connectionUsable?: boolean;
  /** What was thrown before. Its trace goes to the plugin log, not to callers. */
  cause?: unknown;
}

/** The types of columns. The table in javascript.md says which values each takes. */
export type DataType =
  | "boolean" | "int64" | "uint64" | "float64" | "decimal" | "text" | "bytes" | "date" | "time" | "timestamp"
  | "timestamp-utc" | "json" | "any";

/** A column of a table or of an answer. */
export interface Column {
  name: string;
  /** `any` when left out. */
  type?: DataType;
  nativeType?: string;
  nullable?: boolean;
  /** The engine does not enforce the type: a value of another type travels as what it is. */
  dynamic?: boolean;
  defaultValue?: string;
  comment?: string;
}

/** A table. A source without schemas uses `main`. */
export interface TableRef {
  schema: string;
  name: string;
}

/** What there is to know of a table. */
export interface Table {
  columns: Column[];
  /** `TABLE` when left out; `VIEW`, or the engine's own word. */
  kind?: string;
  comment?: string;
  /** The engine's own count or estimate. */
  rowCount?: number;
  primaryKey?: string[];
  foreignKeys?: ForeignKey[];
}

/** Columns that refer to columns of another table, in the same order. */
export interface ForeignKey {
  name?: string;
  columns: string[];
  references: TableRef | string;
  referencedColumns: string[];
}

/** What a source says of itself. */
export interface ServerInfo {
  product: string;
  version: string | number;
}

/** Values in the order of the columns, or an object with a field a column. */
export type Row = unknown[] | Record<string, unknown>;

/** A value whose type the column does not say: for columns of type `any` and dynamic ones. */
export class Tagged {
  constructor(type: DataType | "other", value: unknown);
  type: DataType | "other";
  value: unknown;
}

/** One read-only statement, already guarded by the host. */
export interface Statement {
  text: string;
  /** The host's id of this execution, for the engine's own log. */
  id: string;
  /** The engine should stop the statement by itself after this long. */
  timeoutMs: number;
  /** A larger cell is the error `too-large`. */
  maxCellBytes: number;
}

/** Columns, and rows from anything that can be iterated, such as a generator; it is read as the host asks for rows. */
export interface Answer {
  columns: Column[];
  rows: Iterable<Row>;
}

/** What statistics the host wants of a table. */
export interface StatisticsOptions {
  columns: string[];
  /** No more rows than this may be read to answer. */
  maxRows: number;
  maxMs: number;
}

/** What the engine knows of a column. Shares are from 0 to 1. */
export interface ColumnStatistics {
  column: string;
  nullFraction: number | null;
  distinctCount: number | null;
  /** Values as text with their share of all rows, the most common first. */
  commonValues: [string, number][];
  minValue: string | null;
  maxValue: string | null;
  estimated: boolean;
  sampledRows: number | null;
  extra: [string, string][];
}

/** The default export of a SQL connector is a class like this; its constructor gets the configuration, and connects. */
export interface Connector {
  /** Asks the engine whether it still answers, and who it is. */
  check(): ServerInfo;
  /** Every table and view that the configuration reaches. */
  tables(): Iterable<TableRef | string>;
  /** One table; null when it is gone. */
  describe?(table: TableRef): Table | null;
  /** In the place of `describe`: up to 50 tables at once. One that is gone is left out. */
  describeTables?(tables: TableRef[]): (Table & { table: TableRef })[];
  /** Starts a statement. */
  query(statement: Statement): Answer;
  /** The engine's own statistics; null when it has no fresh ones. */
  statistics?(table: TableRef, options: StatisticsOptions): ColumnStatistics[] | null;
  /** From here to `endSnapshot` all statements see one state. False when the engine has no such thing. */
  beginSnapshot?(timeoutMs: number): boolean;
  endSnapshot?(): void;
  /** What the static method `cancel(config, key)` needs to stop whatever runs on this connection. */
  cancelKey?(): Uint8Array | null;
}

/**
 * A condition on one column. The values have the type of the column and are never null: a `date` is days since 1970, a
 * `timestamp` or `timestamp-utc` microseconds since 1970 in UTC, a `time` microseconds since midnight (`values` turns
 * them into text), a `decimal` is text. There is one value for a comparison and for `like` (a pattern with `%`, `_` and
 * `\\`), at least one for `in-list`, and none for `is-null` and `is-not-null`.
 */
export interface Filter {
  column: string;
  op: "eq" | "not-eq" | "lt" | "lt-eq" | "gt" | "gt-eq" | "in-list" | "is-null" | "is-not-null" | "like";
  values: (string | number | boolean | Uint8Array)[];
}

/** What a scan asks for. The order of the rows is the scanner's: the host sorts. */
export interface Scan {
  /** These columns, in this order. */
  columns: string[];
  /** All of them must hold; none that `filterSupport` answered with `no`. */
  filters: Filter[];
  /** More rows are of no use. Null unless all filters of the statement are exact. */
  limit: number | null;
  id: string;
}

/** How far a scan applies a filter: not at all, roughly (the host filters again), or exactly. */
export type FilterSupport = "no" | "inexact" | "exact";

/** The default export of a scanner is a class like this; its constructor gets the configuration. */
export interface Scanner {
  check(): ServerInfo;
  tables(): Iterable<TableRef | string>;
  /** The columns of a table and more; null when it is gone. The host asks for each statement and for each scan. */
  describe(table: TableRef): Table | null;
  describeTables?(tables: TableRef[]): (Table & { table: TableRef })[];
  /** `no` for all filters when it is left out. */
  filterSupport?(table: TableRef, filter: Filter): FilterSupport;
  /** The rows, as objects or in the order of the columns. */
  scan(table: TableRef, asked: Scan): Iterable<Row>;
}

/** A call of a tool; `arguments` is the JSON text as the model wrote it. */
export interface ToolCall {
  id: string;
  name: string;
  arguments: string;
}

/** A part of a message. */
export type Part =
  | { tag: "text"; val: string }
  | { tag: "tool-call"; val: ToolCall }
  | { tag: "tool-result"; val: { callId: string; content: string; isError: boolean } }
  | { tag: "media"; val: { mediaType: string; data: Uint8Array } }
  | { tag: "opaque"; val: { kind: string; data: string } };

/** One turn of the conversation. */
export interface Message {
  role: "system" | "user" | "assistant" | "tool";
  parts: Part[];
}

/** A tool that the model may call; `parameters` is the text of a JSON schema. */
export interface Tool {
  name: string;
  description: string;
  parameters: string;
}

/** What a model is asked. */
export interface Request {
  /** Empty means the provider's default. */
  model: string;
  messages: Message[];
  tools: Tool[];
  /** `auto`, `none`, `required`, or the name of one tool. */
  toolChoice: string;
  maxOutputTokens: number | null;
  temperature: number | null;
  /** The text of a JSON schema that the answer has to match. */
  responseSchema: string | null;
}

/** Why an answer ends. */
export type StopReason = "end" | "tool-calls" | "length" | "refused" | "other";

/** What a model says, piece by piece; `stop` is the last. The `reason` beside it is the vendor's own word. */
export type Event =
  | { text: string }
  | { toolCall: ToolCall }
  | { opaque: { kind: string; data: string } }
  | { usage: Partial<Record<"input" | "output" | "cached-input" | "reasoning", number>> }
  | { stop: StopReason; reason?: string };

/** The default export of a model provider is a class like this. */
export interface Model {
  /** A generator. It runs to its first event while the host starts the answer; `yield` of nothing says: accepted. */
  complete(request: Request): Iterable<Event | undefined>;
  check(): string;
  models?(): string[];
}

/** The host's word on the call that is running. */
export const control: {
  /** Milliseconds until the host ends this call. */
  remainingMs(): number;
  /** Whether the host wants this call to end early. */
  isCancelled(): boolean;
  /** Throws `cancelled` when the host wants this call to end early. Ask in every long loop. */
  check(): void;
  /** Waits. Throws `cancelled` if the host ends the call before that, and `timeout` when there is less time left. */
  sleep(ms: number): void;
};

/** Lines for the plugin log, limited in rate and length. No secrets. `console` writes there too. */
export const log: Record<"debug" | "info" | "warn" | "error", (message: unknown) => void>;

/** The head of a response, and its body to read once. */
export interface Response {
  readonly status: number;
  readonly headers: [string, string][];
  /** The value of the first header of this name, or null. */
  header(name: string): string | null;
  /** The body as pieces of bytes. Leaving the loop early ends the exchange. */
  pieces(): IterableIterator<Uint8Array>;
  /** The body as lines of text, without their ends; one of more than 16 Mi characters is the error `too-large`. */
  lines(): IterableIterator<string>;
  /** The data of each server-sent event; one longer than `limit` (4 MiB) is the error `too-large`. */
  events(limit?: number): IterableIterator<string>;
  /** The whole body; more than `limit` bytes (8 MiB) are the error `too-large`. */
  text(limit?: number): string;
  /** The whole body as JSON; numbers are those of JavaScript. */
  json(limit?: number): any;
  /** The whole body as JSON; numbers that JavaScript cannot hold keep their digits, as `json.parse` gives them. */
  exactJson(limit?: number): any;
  /**
   * The JSON values of the body, each when it is whole: one behind the other, with or without lines between them. For
   * vendors that send an answer as chunks of JSON. An array at the top is opened: its elements are the values, so
   * `[[1, 2], [3, 4]]` gives two rows. With `lines` no array is opened, for NDJSON whose lines are arrays. A value of
   * more than `limit` bytes (8 MiB) is the error `too-large`; a body that ends within a value or an open array is
   * `connection-lost`; one that is not JSON is `upstream`, with the byte at which it is wrong. Values before an error
   * come first. With `exact` numbers keep their digits.
   */
  jsonStream(options?: { limit?: number; lines?: boolean; exact?: boolean }): IterableIterator<any>;
  /** Ends the exchange, finished or not. */
  close(): void;
}

/** How a request is sent. */
export interface RequestOptions {
  method?: string;
  headers?: Record<string, string | number>;
  body?: string | Uint8Array;
  /**
   * How long the server may be silent, until the head of the response and between two pieces of its body: 60,000 when
   * left out.
   */
  timeoutMs?: number;
  /**
   * How often a request is sent again while the server is busy (429, 503): after its `Retry-After`, or without one
   * after a random wait of 0.25 to 0.5 s, then of 0.5 to 1 s, and so on up to 30 s. A server that is still busy after
   * them is the error `rate-limited`. A wait that leaves the call less than a second is not begun: then the error is
   * `timeout` if the wait is at most 5 s, and `rate-limited` if it is longer. 0 when left out.
   */
  retries?: number;
}

/** How pages are asked for. */
export interface PageOptions extends RequestOptions {
  /**
   * The URL of the next page, whole or relative to the last; for POST `{url?, body?}`; null or false at the end. When
   * left out, the header `Link` with `rel="next"` says.
   */
  next?: (
    page: any,
    response: Response,
  ) => string | { url?: string; body?: string | Uint8Array } | false | null | undefined;
  /** Pages come from `exactJson`. */
  exact?: boolean;
}

/** Requests to what the configuration names. A status is not an error. */
export const http: {
  request(url: string, options?: RequestOptions): Response;
  get(url: string, options?: RequestOptions): Response;
  post(url: string, body: string | Uint8Array, options?: RequestOptions): Response;
  /**
   * Calls a function again while it throws `rate-limited`, 5 times when left out: after `retryAfterMs` of the error, or
   * after the waits of `retries`, and with the same errors. For servers that say in the body of an answer that they are
   * busy, as GraphQL does.
   */
  retry<T>(ask: () => T, options?: { retries?: number }): T;
  /** The pages of an answer as JSON, one after another. A status from 400 on, and pages in a circle, are errors. */
  pages(url: string, options?: PageOptions): Generator<any, void, undefined>;
  /** The URL with these query parameters; null and undefined are left out, one that is there is replaced. */
  withQuery(url: string, parameters: Record<string, string | number | bigint | boolean | null | undefined>): string;
  /** The milliseconds of a header `Retry-After`; null without one. */
  retryAfter(response: Response): number | null;
};

/** Files that the configuration names. */
export const files: {
  /** The bytes of a file in pieces. */
  pieces(path: string): IterableIterator<Uint8Array>;
  /** The lines of a text file, without their ends. */
  readLines(path: string): IterableIterator<string>;
  /** A whole text file; more than `limit` bytes (8 MiB) are the error `too-large`. */
  readText(path: string, limit?: number): string;
  /** The names in a directory, sorted. */
  list(path: string): string[];
};

/** A number as text, for what JavaScript cannot hold. A column of type `decimal` takes it. */
export class Decimal {
  constructor(text: string);
  /** Its digits as they were written. */
  toString(): string;
  toJSON(): string;
  /** The nearest number of JavaScript. */
  valueOf(): number;
}

/** JSON whose numbers keep their digits. */
export const json: {
  /** As `JSON.parse`, but whole numbers beyond 2^53 are `BigInt`, and others that would lose digits are `Decimal`. */
  parse(text: string): any;
  /** As `JSON.stringify`, but `BigInt` and `Decimal` are written as numbers. */
  stringify(value: unknown): string;
};

/** Dates and decimals: what filters hand over, and what sources write. */
export const values: {
  /** Days since 1970 (a filter on a `date`) as `2024-02-29`. */
  isoDate(days: number | bigint): string;
  /** Microseconds since 1970 (a filter on a `timestamp`) as `2024-02-29T13:45:00.000001`. */
  isoTimestamp(micros: number | bigint): string;
  /** As `isoTimestamp`, with a `Z`, for `timestamp-utc`. */
  isoTimestampUtc(micros: number | bigint): string;
  /** Microseconds since midnight (a filter on a `time`) as `13:45:00.5`. */
  isoTime(micros: number | bigint): string;
  /** `2024-02-29` as days since 1970. */
  daysOf(date: string): number;
  /** A timestamp in ISO 8601 form as microseconds since 1970. Without a zone it is in UTC. */
  microsOf(timestamp: string): number;
  /** A decimal in the smallest unit, exactly: `minorOf("12.50", 2)` is `1250n`. */
  minorOf(decimal: string | Decimal, digits: number): bigint;
  /** The smallest unit as a decimal: `decimalOf(1250n, 2)` is `"12.50"`. */
  decimalOf(minor: bigint | number, digits: number): string;
};

/** UTF-8. */
export const text: {
  encode(text: string): Uint8Array;
  decode(bytes: Uint8Array): string;
};
