// A SQL engine that is asked over HTTP: it answers with lines of JSON, the columns first, then one array a row.

import { PluginError, http } from "./mindhost/index.js";
import type {
  Answer, Column, Connector, DataType, ErrorKind, Response, Row, Statement, Table, TableRef,
} from "./mindhost/index.js";

const TYPES: Record<string, DataType> = { integer: "int64", real: "float64", text: "text", blob: "bytes" };

const KINDS: Record<number, ErrorKind> = {
  400: "invalid-statement", 401: "auth", 403: "auth", 408: "timeout", 413: "too-large", 429: "rate-limited",
};

/** What the datasource is configured with; manifest.json has its schema. The host adds `api_key` to the requests. */
interface Config {
  url: string;
}

/** The first line of an answer. */
interface Head {
  columns: { name: string; type: string }[];
}

/** A value of a row. */
type Cell = string | number | null | { hex: string };

export default class Engine implements Connector {
  readonly url: string;

  constructor({ url }: Config) {
    this.url = url;
    this.check();
  }

  check() {
    return answered(http.get(`${this.url}/version`)).json() as { product: string; version: string };
  }

  tables() {
    const { rows } = this.ask("select name from sqlite_master where type in ('table', 'view') order by name");
    return [...rows].map(([name]) => ({ schema: "main", name: String(name) }));
  }

  describe({ schema, name }: TableRef): Table | null {
    const quoted = name.replaceAll("'", "''");
    const { rows } = this.ask(`select name, type, "notnull" from pragma_table_info('${quoted}') order by cid`);
    const columns = [...rows].map(([column, nativeType, notNull]): Column => ({
      name: String(column),
      type: TYPES[String(nativeType).toLowerCase()] ?? "any",
      nativeType: String(nativeType),
      nullable: notNull === 0,
    }));
    return schema === "main" && columns.length > 0 ? { columns } : null;
  }

  query(statement: Statement): Answer {
    return this.ask(statement.text, statement.timeoutMs);
  }

  /** The columns of an answer, and its rows as they arrive. */
  private ask(sql: string, timeoutMs = 10_000): { columns: Column[]; rows: Iterable<unknown[]> } {
    const headers = { "x-timeout-ms": timeoutMs };
    const lines = answered(http.post(`${this.url}/query`, sql, { headers })).lines();
    const head = lines.next();
    if (head.done) throw new PluginError("connection-lost", "the engine ended its answer too early");
    const columns = (JSON.parse(head.value) as Head).columns.map(({ name, type }): Column => ({
      name,
      type: TYPES[type] ?? "any",
      nativeType: type,
      // This engine does not enforce its types.
      dynamic: true,
    }));
    return { columns, rows: rowsOf(lines) };
  }
}

function* rowsOf(lines: Iterable<string>): Generator<Row & unknown[]> {
  for (const line of lines) {
    const cells = JSON.parse(line) as Cell[];
    yield cells.map((cell) => (typeof cell === "object" && cell !== null ? bytes(cell.hex) : cell));
  }
}

function bytes(hex: string) {
  return Uint8Array.from(hex.match(/../g) ?? [], (pair) => parseInt(pair, 16));
}

/** The engine's refusals in the contract's words. */
function answered(response: Response) {
  if (response.status === 200) return response;
  const text = response.text(64 << 10);
  let message = "the engine gave no reason";
  try {
    message = String((JSON.parse(text) as { error: unknown }).error);
  } catch {
    // Not the engine's own words, then.
  }
  throw new PluginError(KINDS[response.status] ?? "upstream", message, { code: response.status });
}
