// What the callers of a Mind see of each table.
import { useState } from "preact/hooks";
import { api, may, take } from "../lib/api";
import { visible } from "../lib/format";
import { useLoad } from "../lib/load";
import { Link, go, href } from "../lib/router";
import { tableName } from "../data/addresses";
import { Field } from "../ui/field";
import { Badge, Empty, Load } from "../ui/page";
import { Untrusted } from "../ui/text";
import { policiesOf, wordsOf, type Policy } from "./policy";

/** The tables that the Mind has, by datasource. */
async function tablesOf(name: string, signal: AbortSignal): Promise<[string, string][]> {
  const mind = await take(api.GET("/api/v1/minds/{name}", { params: { path: { name } }, signal }));
  const each = mind.datasource_tables.map(async (source) => {
    if (source.tables !== null) return source.tables.map((table): [string, string] => [source.name, table]);
    const catalog = await take(api.GET("/api/v1/datasources/{name}/catalog", { params: { path: { name: source.name } }, signal }));
    return catalog.tables.map((table): [string, string] => [source.name, tableName(table)]);
  });
  return (await Promise.all(each)).flat();
}

export function Policies({ name }: { name: string }) {
  const loaded = useLoad(async (signal) => ({ policies: await policiesOf(name, signal), tables: await tablesOf(name, signal) }), [name]);
  return (
    <>
      <p class="muted">
        A policy says which rows, columns and values callers see of one table. The server puts it into every statement. Give
        restricted callers keys with the role user: editors can change it.
      </p>
      <Load of={loaded}>
        {({ policies, tables }) => (
          <>
            {policies.length === 0 && <Empty title="Callers see all of every table" />}
            <ul class="entries">{policies.map((one) => <Item key={`${one.datasource}/${one.table}`} name={name} policy={one} />)}</ul>
            {may("set_policies") && <Choose name={name} tables={tables.filter(([source, table]) => !policies.some((one) => one.datasource === source && one.table === table))} />}
          </>
        )}
      </Load>
    </>
  );
}

function Choose({ name, tables }: { name: string; tables: [string, string][] }) {
  const [index, setIndex] = useState(0);
  const chosen = tables[index];
  if (!chosen) return null;
  return (
    <form class="stack tight" onSubmit={(event) => { event.preventDefault(); go(href("minds", name, "policies", ...chosen)); }}>
      <Field label="Table without a policy">
        {(id) => (
          <select id={id} value={index} onChange={(event) => setIndex(Number(event.currentTarget.value))}>
            {tables.map(([source, table], index) => <option key={`${source}/${table}`} value={index}>{visible(`${source} · ${table}`)}</option>)}
          </select>
        )}
      </Field>
      <div><button type="submit">Make a policy</button></div>
    </form>
  );
}

function Item({ name, policy }: { name: string; policy: Policy }) {
  return (
    <li class="card stack tight">
      <h2 class="row">
        <Link to={href("minds", name, "policies", policy.datasource, policy.table)}><Untrusted text={policy.datasource} /> · <Untrusted text={policy.table} /></Link>
        {policy.problem !== null && <Badge tone="bad">closed</Badge>}
      </h2>
      {policy.problem !== null && <Problem text={policy.problem} />}
      <PolicyFacts policy={policy} />
    </li>
  );
}

/** What a policy does. */
export function PolicyFacts({ policy: { filter, hidden, masked } }: { policy: Policy }) {
  const masks = Object.entries(masked);
  return (
    <dl class="facts">
      <dt>Rows</dt><dd>{filter === null ? "all" : <code><Untrusted text={filter} max={2000} /></code>}</dd>
      {hidden.length > 0 && <><dt>Hidden</dt><dd><Untrusted text={hidden.join(", ")} max={2000} /></dd></>}
      {masks.length > 0 && (
        <>
          <dt>Masked</dt>
          <dd>{masks.map(([column, mask]) => <div key={column}><Untrusted text={column} />: <code><Untrusted text={wordsOf(mask)} max={2000} /></code></div>)}</dd>
        </>
      )}
    </dl>
  );
}

/** Why nobody reads the table. */
export function Problem({ text }: { text: string }) {
  return <p class="stale">Nobody can read this table until the policy is changed: <Untrusted text={text} max={2000} /></p>;
}
