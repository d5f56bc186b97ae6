// What a caller sees of a table, with the policies as they are saved.
import { useState } from "preact/hooks";
import { send, sendAs, toError, type ApiError, type Schemas } from "../lib/api";
import { plural } from "../lib/format";
import { me } from "../lib/session";
import { Cell } from "../ask/cell";
import { Failure } from "../ui/failure";
import { Field } from "../ui/field";
import { Untrusted } from "../ui/text";

type Result = Schemas["QueryResult"];
type Caller = Schemas["CurrentKey"];
const ROWS = 20;

const QUOTES: Record<string, [string, string]> = { mysql: ["`", "`"], mssql: ["[", "]"] };

/** The statement in the words of the engine: names quoted, at most 20 rows. */
export function statement(dialect: string, datasource: string, table: string): string {
  const [open, close] = QUOTES[dialect] ?? ['"', '"'];
  const dot = table.indexOf(".");
  const parts = dot < 0 ? [datasource, table] : [datasource, table.slice(0, dot), table.slice(dot + 1)];
  const name = parts.map((part) => open + part.replaceAll(close, close + close) + close).join(".");
  return dialect === "mssql" ? `SELECT TOP ${ROWS} * FROM ${name}` : `SELECT * FROM ${name} LIMIT ${ROWS}`;
}

/** Asks with a key, or with one's own. Nothing is stored. */
async function look(mind: string, sql: string, key: string | null): Promise<[Caller, Result]> {
  const ask = (path: string, init: RequestInit = {}) => (key === null ? send(path, init) : sendAs(key, path, init));
  const caller = (await (await ask("/api/v1/keys/current")).json()) as Caller;
  const tools = [{ type: "sql_query", query: sql, max_inline_rows: ROWS }];
  const body = JSON.stringify({ model: mind, store: false, tools });
  const answer = await ask("/api/v1/responses", { method: "POST", headers: { "Content-Type": "application/json" }, body });
  const response = (await answer.json()) as Schemas["Response"];
  const result = (response.output as Result[]).find((item) => item.type === "query_result");
  if (!result) throw new Error(response.error?.message ?? "The server sent no rows.");
  return [caller, result];
}

export function attributesText(of: Caller["attributes"]): string {
  const all = Object.entries(of).map(([name, value]) => `${name} = ${JSON.stringify(value)}`);
  return all.length === 0 ? "no attributes" : all.join(", ");
}

interface Props {
  name: string;
  datasource: string;
  table: string;
  dialect: string;
  takesSql: boolean;
}

export function Preview({ name, datasource, table, dialect, takesSql }: Props) {
  const [pasted, setPasted] = useState("");
  const [shown, setShown] = useState<[Caller, Result] | null>(null);
  const [error, setError] = useState<ApiError | null>(null);
  const [busy, setBusy] = useState(false);
  const own = me.value;
  const submit = (event: Event) => {
    event.preventDefault();
    const key = pasted.trim();
    // The key is used for this request and forgotten.
    setPasted("");
    setShown(null);
    setError(null);
    setBusy(true);
    look(name, statement(dialect, datasource, table), key === "" ? null : key)
      .then(setShown, (thrown: unknown) => setError(toError(thrown)))
      .finally(() => setBusy(false));
  };
  return (
    <section class="card stack" aria-label="As a caller sees it">
      <h2>As a caller sees it</h2>
      {!takesSql && <p class="notice">This Mind takes no SQL from callers, so there is no preview. Its settings can allow it.</p>}
      {takesSql && (
        <form class="stack tight" onSubmit={submit} autocomplete="off">
          <p class="muted">
            The first {ROWS} rows, by the policies as they are saved. The attributes of the key that asks count: without a pasted key
            yours, which has <Untrusted text={attributesText(own?.attributes ?? {})} />.
          </p>
          <Field label={<>Key of another caller<span class="muted"> optional</span></>} help="Used for this one request and forgotten. It is not stored.">
            {(id, help) => <input id={id} aria-describedby={help} type="password" autocomplete="off" spellcheck={false} value={pasted} onInput={(event) => setPasted(event.currentTarget.value)} />}
          </Field>
          <div><button type="submit" disabled={busy}>{busy ? "Asking …" : "Show"}</button></div>
        </form>
      )}
      {error && <Failure error={error} />}
      {shown && <Rows caller={shown[0]} result={shown[1]} />}
    </section>
  );
}

function Rows({ caller, result }: { caller: Caller; result: Result }) {
  return (
    <div class="stack tight">
      <p role="status">
        As <strong><Untrusted text={caller.name} /></strong> ({caller.role}) with <Untrusted text={attributesText(caller.attributes)} />: {plural(result.data.length, "row")}, {plural(result.column_names.length, "column")}.
      </p>
      <div class="scroll preview" tabIndex={0} role="region" aria-label="Rows that the caller sees">
        <table>
          <thead><tr>{result.column_names.map((column, index) => <th key={index} scope="col"><Untrusted text={column} /></th>)}</tr></thead>
          <tbody>
            {result.data.map((row, index) => <tr key={index}>{row.map((value, index) => <td key={index}><Cell value={value} max={100} /></td>)}</tr>)}
          </tbody>
        </table>
      </div>
    </div>
  );
}
