// A SQL engine that is asked over HTTP: it answers with lines of JSON, the columns first, then one array a row.

import { PluginError, http } from "./mindhost/index.js";

const TYPES = { integer: "int64", real: "float64", text: "text", blob: "bytes" };

const KINDS = {
  400: "invalid-statement", 401: "auth", 403: "auth", 408: "timeout", 413: "too-large", 429: "rate-limited",
};

export default class Engine {
  /** What the datasource is configured with; manifest.json has its schema. The host adds `api_key` to the requests. */
  constructor({ url }) {
    this.url = url;
    this.check();
  }

  check() {
    return answered(http.get(`${this.url}/version`)).json();
  }

  tables() {
    const { rows } = this.ask("select name from sqlite_master where type in ('table', 'view') order by name");
    return [...rows].map(([name]) => ({ schema: "main", name }));
  }

  describe({ schema, name }) {
    const quoted = name.replaceAll("'", "''");
    const { rows } = this.ask(`select name, type, "notnull" from pragma_table_info('${quoted}') order by cid`);
    const columns = [...rows].map(([column, nativeType, notNull]) => ({
      name: column,
      type: TYPES[nativeType.toLowerCase()],
      nativeType,
      nullable: notNull === 0,
    }));
    return schema === "main" && columns.length > 0 ? { columns } : null;
  }

  query(statement) {
    return this.ask(statement.text, statement.timeoutMs);
  }

  /** The columns of an answer, and its rows as they arrive. */
  ask(sql, timeoutMs = 10_000) {
    const headers = { "x-timeout-ms": timeoutMs };
    const lines = answered(http.post(`${this.url}/query`, sql, { headers })).lines();
    const head = lines.next();
    if (head.done) throw new PluginError("connection-lost", "the engine ended its answer too early");
    const columns = JSON.parse(head.value).columns.map(({ name, type }) => ({
      name,
      type: TYPES[type],
      nativeType: type,
      // This engine does not enforce its types.
      dynamic: true,
    }));
    return { columns, rows: rowsOf(lines) };
  }
}

function* rowsOf(lines) {
  for (const line of lines) yield JSON.parse(line).map((cell) => (cell?.hex === undefined ? cell : bytes(cell.hex)));
}

function bytes(hex) {
  return Uint8Array.from(hex.match(/../g) ?? [], (pair) => parseInt(pair, 16));
}

/** The engine's refusals in the contract's words. */
function answered(response) {
  if (response.status === 200) return response;
  const code = String(response.status);
  const text = response.text(64 << 10);
  let message = "the engine gave no reason";
  try {
    message = JSON.parse(text).error;
  } catch {
    // Not the engine's own words, then.
  }
  throw new PluginError(KINDS[response.status] ?? "upstream", message, { code });
}
