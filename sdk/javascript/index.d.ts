// Types of what a plugin in JavaScript or TypeScript is and uses.

/** The kinds of errors; wit/README.md says when which. */
export type ErrorKind =
  | "invalid-config" | "auth" | "unreachable" | "tls" | "denied" | "not-found" | "invalid-statement" | "permission"
  | "cancelled" | "timeout" | "rate-limited" | "too-large" | "unsupported" | "connection-lost" | "upstream" | "internal";

/** What went wrong, in words for a person. Never put a secret into it. */
export class PluginError extends Error {
  constructor(
    kind: ErrorKind,
    message: string,
    options?: { code?: string; position?: number; retryAfterMs?: number; connectionUsable?: boolean },
  );
  kind: ErrorKind;
}

export type DataType =
  | "boolean" | "int64" | "uint64" | "float64" | "decimal" | "text" | "bytes" | "date" | "time" | "timestamp"
  | "timestamp-utc" | "json" | "any";

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

export interface TableRef {
  schema: string;
  name: string;
}

export interface Table {
  columns: Column[];
  kind?: string;
  comment?: string;
  rowCount?: number;
  primaryKey?: string[];
  foreignKeys?: { name?: string; columns: string[]; references: TableRef; referencedColumns: string[] }[];
}

/** Values in the order of the columns, or an object with a field a column. */
export type Row = unknown[] | Record<string, unknown>;

/** A value whose type the column does not say: for columns of type `any` and dynamic ones. */
export class Tagged {
  constructor(type: DataType | "other", value: unknown);
}

export interface Statement {
  text: string;
  id: string;
  timeoutMs: number;
  maxCellBytes: number;
}

/** The default export of a SQL connector is a class like this. */
export interface Connector {
  check(): { product: string; version: string };
  tables(): Iterable<TableRef | string>;
  describe(table: TableRef): Table | null;
  describeTables?(tables: TableRef[]): (Table & { table: TableRef })[];
  query(statement: Statement): { columns: Column[]; rows: Iterable<Row> };
  beginSnapshot?(timeoutMs: number): boolean;
  endSnapshot?(): void;
  cancelKey?(): Uint8Array | null;
}

export interface Filter {
  column: string;
  op: "eq" | "not-eq" | "lt" | "lt-eq" | "gt" | "gt-eq" | "in-list" | "is-null" | "is-not-null" | "like";
  values: unknown[];
}

/** The default export of a scanner is a class like this. */
export interface Scanner {
  check(): { product: string; version: string };
  tables(): Iterable<TableRef | string>;
  describe(table: TableRef): Table | null;
  filterSupport?(table: TableRef, filter: Filter): "no" | "inexact" | "exact";
  scan(
    table: TableRef,
    asked: { columns: string[]; filters: Filter[]; limit: number | null; id: string },
  ): Iterable<Row>;
}

export type Part =
  | { tag: "text"; val: string }
  | { tag: "tool-call"; val: { id: string; name: string; arguments: string } }
  | { tag: "tool-result"; val: { callId: string; content: string; isError: boolean } }
  | { tag: "media"; val: { mediaType: string; data: Uint8Array } }
  | { tag: "opaque"; val: { kind: string; data: string } };

export interface Request {
  model: string;
  messages: { role: "system" | "user" | "assistant" | "tool"; parts: Part[] }[];
  tools: { name: string; description: string; parameters: string }[];
  toolChoice: string;
  maxOutputTokens: number | null;
  temperature: number | null;
  responseSchema: string | null;
}

export type Event =
  | { text: string }
  | { toolCall: { id: string; name: string; arguments: string } }
  | { opaque: { kind: string; data: string } }
  | { usage: Record<string, number> }
  | { stop: "end" | "tool-calls" | "length" | "refused" | "other"; reason?: string };

/** The default export of a model provider is a class like this. */
export interface Model {
  /** A generator. It runs to its first event while the host starts the answer; `yield` of nothing says: accepted. */
  complete(request: Request): Iterable<Event | undefined>;
  check(): string;
  models?(): string[];
}

export const control: {
  remainingMs(): number;
  isCancelled(): boolean;
  /** Throws `cancelled` when the host wants this call to end early. Ask in every long loop. */
  check(): void;
};

export const log: Record<"debug" | "info" | "warn" | "error", (message: unknown) => void>;

export interface Response {
  status: number;
  headers: [string, string][];
  header(name: string): string | null;
  pieces(): Iterable<Uint8Array>;
  lines(): Iterator<string> & Iterable<string>;
  text(limit?: number): string;
  json(limit?: number): any;
  close(): void;
}

export interface RequestOptions {
  method?: string;
  headers?: Record<string, string | number>;
  body?: string | Uint8Array;
  timeoutMs?: number;
}

export const http: {
  request(url: string, options?: RequestOptions): Response;
  get(url: string, options?: RequestOptions): Response;
  post(url: string, body: string | Uint8Array, options?: RequestOptions): Response;
};

export const files: {
  pieces(path: string): Iterable<Uint8Array>;
  readLines(path: string): Iterator<string> & Iterable<string>;
  readText(path: string, limit?: number): string;
  list(path: string): string[];
};

export const text: {
  encode(text: string): Uint8Array;
  decode(bytes: Uint8Array): string;
};
