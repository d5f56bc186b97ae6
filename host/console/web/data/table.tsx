// One table: its description, its keys, and its columns with what values they hold.
import { useEffect } from "preact/hooks";
import { api, may, take } from "../lib/api";
import { number, percent, plural, visible } from "../lib/format";
import { useAction, type Loaded } from "../lib/load";
import { Link, href } from "../lib/router";
import { Failure, Reason } from "../ui/failure";
import { Badge, Empty, Head, Load } from "../ui/page";
import { Time } from "../ui/time";
import { Untrusted } from "../ui/text";
import { columnAnchor, datasourceAddress, searchAddress, tableName, type Catalog, type Column, type Table } from "./addresses";
import { Editable } from "./editable";
import { State } from "./tables";

export function TablePage({ name, table: wanted, catalog }: { name: string; table: string; catalog: Loaded<Catalog> }) {
  return (
    <div class="page">
      <Load of={catalog}>
        {({ tables }) => {
          const table = tables.find((one) => tableName(one) === wanted);
          return table ? <TableView name={name} table={table} tables={tables} changed={catalog.reload} /> : <Unknown name={name} table={wanted} />;
        }}
      </Load>
    </div>
  );
}

function Up({ name }: { name: string }) {
  return <><Link to={datasourceAddress(name)}><Untrusted text={name} /></Link> · <Link to={searchAddress("")}>Search</Link></>;
}

function Unknown({ name, table }: { name: string; table: string }) {
  return (
    <>
      <Head title={<Untrusted text={table} />} up={<Up name={name} />} />
      <Empty title="The catalog has no such table" />
    </>
  );
}

function TableView({ name, table, tables, changed }: { name: string; table: Table; tables: Table[]; changed: () => void }) {
  const path = { name, table_name: tableName(table) };
  const save = async (description: string | null) => {
    await take(api.PATCH("/api/v1/datasources/{name}/catalog/tables/{table_name}", { params: { path }, body: { description } }));
    changed();
  };
  // A link to a column leads to its place in the page.
  useEffect(() => document.getElementById(location.hash.slice(1))?.scrollIntoView({ block: "center" }), [path.table_name]);
  return (
    <>
      <Head title={<Untrusted text={table.name} />} up={<Up name={name} />}>
        <Reload name={name} table={table} changed={changed} />
      </Head>
      <div class="row">
        <Badge><Untrusted text={table.type.toLowerCase()} /></Badge> <State table={table} />
        <span class="muted">
          {table.row_count_known ? plural(table.row_count, "row") : "number of rows not known"} · {plural(table.columns.length, "column")}
          {table.loaded_at && <> · read <Time at={table.loaded_at} /></>}
        </span>
      </div>
      {table.error && <Reason text={table.error} request={table.error_request_id} />}
      <Editable label={`Description of ${table.name}`} text={table.description} may={may("describe_table")} save={save} />
      <Keys name={name} table={table} tables={tables} />
      <h2>Columns</h2>
      <ul class="columns">
        {table.columns.map((column) => <ColumnView key={column.name} path={path} table={table} column={column} changed={changed} />)}
      </ul>
    </>
  );
}

function Reload({ name, table, changed }: { name: string; table: Table; changed: () => void }) {
  const { busy, error, run } = useAction();
  if (!may("refresh_catalog")) return null;
  const body = { table_names: [tableName(table)] };
  const refresh = () => void run(async () => {
    await take(api.POST("/api/v1/datasources/{name}/catalog/refresh", { params: { path: { name }, query: { wait: 10 } as never }, body }));
    changed();
  });
  return (
    <>
      {error && <Failure error={error} />}
      <button type="button" disabled={busy} onClick={refresh}>{busy ? "Reading …" : "Read again"}</button>
    </>
  );
}

/** Tables that this one refers to, and those that refer to it. */
function Keys({ name, table, tables }: { name: string; table: Table; tables: Table[] }) {
  const primary = table.primary_key_constraints.map((key) => key.column_name);
  const refersHere = (other: Table) =>
    other.foreign_key_constraints.some((key) => key.referenced_schema === table.schema && key.referenced_table === table.name);
  const from = tables.filter((other) => other !== table && refersHere(other));
  if (primary.length + table.foreign_key_constraints.length + from.length === 0) return null;
  const link = (full: string, text: string) => <Link to={href("data", name, "tables", full)}><Untrusted text={text} /></Link>;
  return (
    <dl class="facts">
      {primary.length > 0 && <><dt>Primary key</dt><dd><Untrusted text={primary.join(", ")} /></dd></>}
      {table.foreign_key_constraints.length > 0 && (
        <>
          <dt>Refers to</dt>
          <dd>
            {table.foreign_key_constraints.map((key) => (
              <div key={key.constraint_name + key.column_name}>
                <Untrusted text={key.column_name} /> → {link(key.referenced_schema ? `${key.referenced_schema}.${key.referenced_table}` : key.referenced_table, `${key.referenced_table}.${key.referenced_column}`)}
              </div>
            ))}
          </dd>
        </>
      )}
      {from.length > 0 && <><dt>Referred to by</dt><dd class="row">{from.map((other) => link(tableName(other), other.name))}</dd></>}
    </dl>
  );
}

function ColumnView({ path, table, column, changed }: { path: { name: string; table_name: string }; table: Table; column: Column; changed: () => void }) {
  const save = async (description: string | null) => {
    const params = { path: { ...path, column_name: column.name } };
    await take(api.PATCH("/api/v1/datasources/{name}/catalog/tables/{table_name}/columns/{column_name}", { params, body: { description } }));
    changed();
  };
  const isPrimary = table.primary_key_constraints.some((key) => key.column_name === column.name);
  const refers = table.foreign_key_constraints.some((key) => key.column_name === column.name);
  return (
    <li id={columnAnchor(column.name)} class={location.hash === `#${columnAnchor(column.name)}` ? "column found" : "column"}>
      <div class="column-about">
        <h3><Untrusted text={column.name} /></h3>
        <p class="muted">
          <code>{visible(column.data_type.toLowerCase())}</code>{" "}
          {isPrimary && <Badge tone="good">key</Badge>} {refers && <Badge>refers</Badge>} {!column.is_nullable && !isPrimary && <Badge>not null</Badge>}
        </p>
        {column.default_value !== null && <p class="muted">default <code><Untrusted text={column.default_value} /></code></p>}
        <Editable label={`Description of ${column.name}`} text={column.description} may={may("describe_column")} save={save} />
      </div>
      <Values column={column} />
    </li>
  );
}

const BARS = 6;

/** Common values with their share of the rows, as small bars. */
function Values({ column: { statistics: known } }: { column: Column }) {
  const values = known.most_common_values ?? [];
  const shares = known.most_common_frequencies ?? [];
  const most = Math.max(...shares.slice(0, BARS), 0.000001);
  // Bars of values that are all rare say nothing.
  const isKey = most < 0.005 || (values.length > 1 && shares[0] === shares[values.length - 1] && known.distinct_values_count > BARS * 2);
  return (
    <div class="values">
      {!isKey && values.length > 0 && (
        <ul aria-label="Common values">
          {values.slice(0, BARS).map((value, index) => (
            <li key={index}>
              <span class="bar" style={{ width: `${((shares[index] ?? 0) / most) * 100}%` }} />
              <span class="value"><Untrusted text={value === "" ? "(empty)" : value} max={60} /></span>
              <span class="muted">{percent(shares[index] ?? 0)}</span>
            </li>
          ))}
        </ul>
      )}
      <p class="muted">
        {plural(known.distinct_values_count, "value")}
        {known.min_value !== "" && known.max_value !== "" && known.min_value !== null && <> · <Untrusted text={known.min_value} max={40} /> … <Untrusted text={known.max_value} max={40} /></>}
        {known.null_percentage > 0 && <> · {percent(known.null_percentage / 100)} NULL</>}
        {known.estimated && <span title={known.sampled_rows === null ? undefined : `From ${number(known.sampled_rows)} rows`}> · estimated</span>}
      </p>
    </div>
  );
}
