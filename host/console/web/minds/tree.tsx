// Which tables a Mind sees: datasources, and their tables by schema.
import { useState } from "preact/hooks";
import { api, take } from "../lib/api";
import { plural, visible } from "../lib/format";
import { useLoad } from "../lib/load";
import { tableName, type Table } from "../data/addresses";
import { Failure } from "../ui/failure";
import { Untrusted } from "../ui/text";

/** By datasource: null for all of its tables, those that come later too, or the names of some. */
export type Scope = Map<string, string[] | null>;

interface Props {
  names: string[];
  scope: Scope;
  change: (scope: Scope) => void;
}

export function Tree({ names, scope, change }: Props) {
  const set = (name: string, tables: string[] | null | undefined) => {
    const next = new Map(scope);
    if (tables === undefined) next.delete(name);
    else next.set(name, tables);
    change(next);
  };
  return (
    <fieldset class="tree">
      <legend>Tables</legend>
      {names.map((name) => <Datasource key={name} name={name} tables={scope.get(name)} set={(tables) => set(name, tables)} />)}
    </fieldset>
  );
}

function Datasource({ name, tables, set }: { name: string; tables: string[] | null | undefined; set: (tables: string[] | null | undefined) => void }) {
  const [open, setOpen] = useState(Array.isArray(tables));
  const on = tables !== undefined;
  const about = tables === undefined ? "" : tables === null ? "all tables" : plural(tables.length, "table");
  return (
    <div class="tree-source">
      <div class="row">
        <label class="check grow">
          <input
            type="checkbox" checked={on} indeterminate={Array.isArray(tables)}
            onChange={(event) => set(event.currentTarget.checked ? null : undefined)}
          />
          <span><strong><Untrusted text={name} /></strong> <span class="muted">{about}</span></span>
        </label>
        <button type="button" class="small" aria-expanded={open} onClick={() => setOpen(!open)}>{open ? "Hide tables" : "Choose tables"}<span class="hidden"> of {visible(name)}</span></button>
      </div>
      {open && <Tables name={name} chosen={tables} set={set} />}
    </div>
  );
}

function Tables({ name, chosen, set }: { name: string; chosen: string[] | null | undefined; set: (tables: string[] | null) => void }) {
  const [text, setText] = useState("");
  const loaded = useLoad((signal) => take(api.GET("/api/v1/datasources/{name}/catalog", { params: { path: { name } }, signal })), [name]);
  if (loaded.error) return <Failure error={loaded.error} retry={loaded.reload} />;
  if (!loaded.data) return <p class="muted" role="status">Loading …</p>;
  const all = loaded.data.tables;
  const names = all.map(tableName);
  const isOn = (id: string) => chosen === null || (chosen?.includes(id) ?? false);
  const flip = (ids: string[], on: boolean) => {
    const now = chosen === null ? names : (chosen ?? []);
    set(on ? [...new Set([...now, ...ids])] : now.filter((one) => !ids.includes(one)));
  };
  const wanted = text.trim().toLowerCase();
  const shown = all.filter((table) => tableName(table).toLowerCase().includes(wanted));
  const schemas = Map.groupBy(shown, (table: Table) => table.schema);
  return (
    <div class="tree-tables">
      {all.length > 12 && <input type="search" aria-label={`Search tables of ${visible(name)}`} placeholder="Search" value={text} onInput={(event) => setText(event.currentTarget.value)} />}
      {[...schemas].map(([schema, tables]) => {
        const ids = tables.map(tableName);
        const on = ids.filter(isOn).length;
        return (
          <div key={schema} class="tree-schema">
            <label class="check">
              <input
                type="checkbox" checked={on === ids.length} indeterminate={on > 0 && on < ids.length}
                onChange={(event) => flip(ids, event.currentTarget.checked)}
              />
              <span class="muted"><Untrusted text={schema || "Tables"} /></span>
            </label>
            <ul>
              {tables.map((table) => {
                const id = tableName(table);
                return (
                  <li key={id}>
                    <label class="check">
                      <input type="checkbox" checked={isOn(id)} onChange={(event) => flip([id], event.currentTarget.checked)} />
                      <Untrusted text={table.name} />
                    </label>
                  </li>
                );
              })}
            </ul>
          </div>
        );
      })}
    </div>
  );
}
