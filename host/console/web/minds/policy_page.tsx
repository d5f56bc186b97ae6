// The policy of one table: its filter, its columns, and what a caller sees.
import { useState } from "preact/hooks";
import { api, may, take, type Schemas } from "../lib/api";
import { useAction, useLoad } from "../lib/load";
import { Link, go, href } from "../lib/router";
import { tableName } from "../data/addresses";
import { Confirm } from "../ui/dialog";
import { Failure } from "../ui/failure";
import { Load } from "../ui/page";
import { Untrusted } from "../ui/text";
import { SqlField } from "./entry_field";
import { Columns } from "./policy_columns";
import { choiceOf, isColumn, placeOf, policiesOf, policyOf, replaceOne, toPolicy, type ColumnChoice, type Policy } from "./policy";
import { Problem } from "./policies";
import { Preview } from "./preview";

interface Props {
  name: string;
  datasource: string;
  table: string;
}

interface Facts {
  policy: Policy | null;
  /** Of the table in the catalog; none if it is gone. */
  columns: string[];
  mind: Schemas["Mind"];
}

async function factsOf({ name, datasource, table }: Props, signal: AbortSignal): Promise<Facts> {
  const mind = await take(api.GET("/api/v1/minds/{name}", { params: { path: { name } }, signal }));
  const policies = await policiesOf(name, signal);
  const catalog = await take(api.GET("/api/v1/datasources/{name}/catalog", { params: { path: { name: datasource } }, signal }));
  const found = catalog.tables.find((one) => tableName(one) === table);
  return {
    mind,
    policy: policyOf(policies, { datasource, table }),
    columns: found?.columns.map((column) => column.name) ?? [],
  };
}

export function PolicyPage(props: Props) {
  const { name, datasource, table } = props;
  const loaded = useLoad((signal) => factsOf(props, signal), [name, datasource, table]);
  return (
    <>
      <p class="up"><Link to={href("minds", name, "policies")}>All policies</Link></p>
      <h2><Untrusted text={datasource} /> · <Untrusted text={table} /></h2>
      <Load of={loaded}>
        {(facts) => (
          <>
            {facts.policy?.problem != null && <Problem text={facts.policy.problem} />}
            <PolicyForm {...props} facts={facts} saved={(policy) => loaded.set({ ...facts, policy })} />
          </>
        )}
      </Load>
    </>
  );
}

function PolicyForm({ name, datasource, table, facts, saved }: Props & { facts: Facts; saved: (policy: Policy | null) => void }) {
  const { policy, mind } = facts;
  // Also those that the policy names and the table has no more: they are what is to be changed.
  const names = [...new Set([...facts.columns, ...(policy?.hidden ?? []), ...Object.keys(policy?.masked ?? {})])];
  const [filter, setFilter] = useState(policy?.filter ?? "");
  const [choices, setChoices] = useState(() => new Map(names.map((column) => [column, choiceOf(policy, column)])));
  const [kept, setKept] = useState(false);
  const { busy, error, run } = useAction();
  const draft = toPolicy(datasource, table, filter, choices);
  const save = () => {
    setKept(false);
    void run(async () => {
      // At once, so that the next save knows what it replaces.
      saved(await replaceOne(name, { datasource, table }, policy, draft));
      setKept(true);
    });
  };
  const change = (column: string, choice: ColumnChoice) => {
    setKept(false);
    setChoices((known) => new Map(known).set(column, choice));
  };
  const place = placeOf(error, 0, draft.hidden ?? []);
  const isPlaced = place === "filter" || isColumn(place, names);
  const catalog = { mind: name, datasources: mind.datasource_tables.map((one) => one.name) };
  return (
    <>
      <form class="stack" onSubmit={(event) => { event.preventDefault(); save(); }}>
        <div class="stack tight">
          <SqlField
            label="Rows that callers see" title={<>Rows that callers see<span class="muted"> empty: all</span></>} hint="tenant_id = {{caller.tenant}}"
            help="A condition over the columns. {{caller.NAME}} is an attribute of the caller’s key; a caller without it sees no rows."
            value={filter} change={(text) => { setKept(false); setFilter(text); }} submit={save} catalog={catalog}
          />
          {place === "filter" && <Failure error={error!} />}
        </div>
        <Columns names={names} known={facts.columns} choices={choices} change={change} place={place} error={error} />
        {error && !isPlaced && <Failure error={error} />}
        {kept && <p class="notice" role="status">Saved. It holds from the next statement on.</p>}
        <div class="actions">
          <button type="submit" class="primary" disabled={busy}>{busy ? "Checking …" : "Save"}</button>
          {policy && may("set_policies") && <Remove name={name} datasource={datasource} table={table} policy={policy} />}
        </div>
      </form>
      {may("preview_policies") && <Preview name={name} datasource={datasource} table={table} draft={draft} />}
    </>
  );
}

function Remove({ name, datasource, table, policy }: Props & { policy: Policy }) {
  const [asked, setAsked] = useState(false);
  const { busy, error, run } = useAction();
  const remove = () =>
    void run(async () => {
      await replaceOne(name, { datasource, table }, policy, null);
      go(href("minds", name, "policies"));
    });
  return (
    <>
      <button type="button" class="danger" onClick={() => setAsked(true)}>Remove …</button>
      {asked && (
        <Confirm title="Remove this policy?" action="Remove" busy={busy} close={() => setAsked(false)} confirm={remove}>
          <p>Every caller of the Mind then sees all rows and columns of <Untrusted text={table} />.</p>
          {error && <Failure error={error} />}
        </Confirm>
      )}
    </>
  );
}
