// The policies of a new key: what its holder sees of tables, through every Mind.
import { useEffect, useId, useRef, type Dispatch, type StateUpdater } from "preact/hooks";
import { api, take, type ApiError } from "../lib/api";
import { plural, visible } from "../lib/format";
import { useLoad, type Loaded } from "../lib/load";
import { tableName, type Catalog } from "../data/addresses";
import { SqlField } from "../minds/entry_field";
import { isColumn, placeOf, toPolicy, type ColumnChoice, type NewPolicy } from "../minds/policy";
import { Columns } from "../minds/policy_columns";
import { Failure } from "../ui/failure";
import { Field } from "../ui/field";

/** A policy as the form has it. `datasource` and `table` are empty until they are chosen. */
export interface Draft {
  id: number;
  datasource: string;
  table: string;
  filter: string;
  choices: Map<string, ColumnChoice>;
}

const ofDraft = ({ datasource, table, filter, choices }: Draft): NewPolicy => toPolicy(datasource, table, filter, choices);
export const toPolicies = (all: Draft[]): NewPolicy[] => all.map(ofDraft);
const place = (error: ApiError | null, all: Draft[], index: number) => placeOf(error, index, ofDraft(all[index]!).hidden ?? []);

/** Whether one of the policies shows the error. */
export const isPlaced = (error: ApiError, all: Draft[]): boolean => all.some((_, index) => place(error, all, index) !== null);

/** Why the form has no policies for this role, and what becomes of those that it had. */
export function NoPolicies({ count }: { count: number }) {
  return (
    <p class="muted" role="status">
      Only keys with the role user have policies: a key with another role could make a Mind or a key without them.
      {count > 0 && ` The form keeps ${plural(count, "policy", "policies")}, but does not send ${count === 1 ? "it" : "them"} for this role.`}
    </p>
  );
}

interface Props {
  all: Draft[];
  set: Dispatch<StateUpdater<Draft[]>>;
  error: ApiError | null;
  /** Forgets the error. */
  clear: () => void;
  submit: () => void;
}

export function KeyPolicies({ all, set, error, clear, submit }: Props) {
  const isUsed = all.length > 0;
  const sources = useLoad(async (signal) => (isUsed ? take(api.GET("/api/v1/datasources", { signal })) : null), [isUsed]);
  const add = () => set((known) => [...known, { id: (known.at(-1)?.id ?? 0) + 1, datasource: "", table: "", filter: "", choices: new Map() }]);
  const change = (id: number, to: (one: Draft) => Partial<Draft>) => set((known) => known.map((one) => (one.id === id ? { ...one, ...to(one) } : one)));
  const remove = (id: number) => {
    set((known) => known.filter((one) => one.id !== id));
    // An error counts the policies as they were sent.
    clear();
  };
  return (
    <fieldset class="stack tight">
      <legend>Policies <span class="muted">optional; they never change</span></legend>
      <p class="muted">
        A policy says which rows, columns and values of one table the key sees. It holds through every Mind, besides the Mind’s
        own policies: both hold.
      </p>
      {sources.error && <Failure error={sources.error} retry={sources.reload} />}
      {all.map((one, index) => (
        <PolicyFields
          key={one.id} number={index + 1} draft={one} sources={sources.data?.map((source) => source.name) ?? []}
          error={error} place={place(error, all, index)} change={(to) => change(one.id, to)} remove={() => remove(one.id)} submit={submit}
        />
      ))}
      <div><button type="button" class="small" onClick={add}>Add a policy</button></div>
    </fieldset>
  );
}

interface FieldsProps {
  /** From 1. */
  number: number;
  draft: Draft;
  /** Names of the datasources. */
  sources: string[];
  error: ApiError | null;
  place: string | null;
  change: (to: (one: Draft) => Partial<Draft>) => void;
  remove: () => void;
  submit: () => void;
}

function PolicyFields({ number, draft, sources, error, place, change, remove, submit }: FieldsProps) {
  const { datasource, table, filter, choices } = draft;
  const title = useId();
  const box = useRef<HTMLDivElement>(null);
  const catalog = useLoad(async (signal) => (datasource === "" ? null : take(api.GET("/api/v1/datasources/{name}/catalog", { params: { path: { name: datasource } }, signal }))), [datasource]);
  // The form is long, and the button that sends it is at its end.
  useEffect(() => {
    if (place !== null) box.current?.querySelector("[role=alert]")?.scrollIntoView({ block: "center" });
  }, [error]);
  const columns = catalog.data?.tables.find((one) => tableName(one) === table)?.columns.map((column) => column.name) ?? [];
  const own = place !== null && !["datasource", "table", "filter"].includes(place) && !isColumn(place, columns);
  const at = (...places: string[]) => error && place !== null && places.includes(place) && <Failure error={error} />;
  return (
    <div ref={box} class="card stack" role="group" aria-labelledby={title}>
      <div class="row">
        <strong id={title} class="grow">Policy {number}</strong>
        <button type="button" class="small" aria-label={`Remove policy ${number}`} onClick={remove}>Remove</button>
      </div>
      {own && <Failure error={error!} />}
      <Choice label="Datasource" names={sources} chosen={datasource} isBad={place === "datasource"} choose={(name) => change(() => ({ datasource: name, table: "", choices: new Map() }))} />
      {at("datasource")}
      {datasource !== "" && <Table catalog={catalog} chosen={table} isBad={place === "table"} choose={(name) => change(() => ({ table: name, choices: new Map() }))} />}
      {at("table")}
      {table !== "" && (
        <>
          <SqlField
            key={datasource} label="Rows that the key sees" title={<>Rows that the key sees<span class="muted"> empty: all</span></>} hint="tenant_id = {{caller.tenant}}"
            help="A condition over the columns. {{caller.NAME}} is an attribute of this key; without the attribute it sees no rows."
            value={filter} change={(text) => change(() => ({ filter: text }))} submit={submit} catalog={{ mind: null, datasources: [datasource] }}
          />
          {at("filter")}
          <Columns names={columns} known={columns} choices={choices} change={(column, choice) => change((one) => ({ choices: new Map(one.choices).set(column, choice) }))} place={place} error={error} />
        </>
      )}
    </div>
  );
}

/** The tables of a datasource, once its catalog is there. */
function Table({ catalog: { data, error, reload }, chosen, isBad, choose }: { catalog: Loaded<Catalog | null>; chosen: string; isBad: boolean; choose: (name: string) => void }) {
  if (error) return <Failure error={error} retry={reload} />;
  const help = data === null ? "Loading …" : data.tables.length === 0 ? "Its catalog has no tables." : undefined;
  return <Choice label="Table" help={help} names={data?.tables.map(tableName) ?? []} chosen={chosen} isBad={isBad} choose={choose} />;
}

/** One of the names, or none. What was chosen stays one of them while they load again: without it, the browser holds the form back. */
function Choice({ label, help, names, chosen, isBad, choose }: { label: string; help?: string | undefined; names: string[]; chosen: string; isBad: boolean; choose: (name: string) => void }) {
  const all = chosen === "" || names.includes(chosen) ? names : [chosen, ...names];
  return (
    <Field label={label} help={help}>
      {(id, help) => (
        <select id={id} aria-describedby={help} aria-invalid={isBad ? true : undefined} required value={chosen} onChange={(event) => choose(event.currentTarget.value)}>
          <option value="">Choose …</option>
          {all.map((name) => <option key={name} value={name}>{visible(name)}</option>)}
        </select>
      )}
    </Field>
  );
}
