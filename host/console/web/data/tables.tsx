// The tables of a datasource, with a search over names, descriptions, columns and common values.
import { useMemo, useState } from "preact/hooks";
import { brief, number, plural } from "../lib/format";
import { Link, href } from "../lib/router";
import { Badge, Empty } from "../ui/page";
import { Untrusted } from "../ui/text";
import { searchAddress, tableName, type Catalog, type Table } from "./addresses";
import { WORDS } from "./datasource";

const SHOWN = 300;

/** Where the text was found in a table, for people; null if it was not. Empty text is found everywhere. */
function found(table: Table, wanted: string): string | null {
  const has = (text: string | null | undefined) => text?.toLowerCase().includes(wanted) ?? false;
  if (wanted === "" || has(tableName(table)) || has(table.description)) return "";
  const column = table.columns.find((one) => has(one.name) || has(one.description));
  if (column) return `column ${column.name}`;
  const held = table.columns.find((one) => one.statistics.most_common_values?.some(has));
  return held ? `a value of ${held.name}` : null;
}

export function Tables({ name, catalog }: { name: string; catalog: Catalog }) {
  const [text, setText] = useState("");
  const wanted = text.trim().toLowerCase();
  const hits = useMemo(
    () => catalog.tables.map((table) => ({ table, where: found(table, wanted) })).filter((one) => one.where !== null),
    [catalog.tables, wanted],
  );
  if (catalog.tables.length === 0) return <Empty title="No table is known yet" />;
  return (
    <>
      <input type="search" aria-label="Search tables, columns, descriptions and values" placeholder="Search tables, columns, descriptions and values" value={text} onInput={(event) => setText(event.currentTarget.value)} />
      <div class="row">
        <p class="muted" role="status">{wanted ? `${number(hits.length)} of ${plural(catalog.tables.length, "table")}` : plural(catalog.tables.length, "table")}</p>
        {wanted && <Link to={searchAddress(text.trim())}>Search all datasources</Link>}
      </div>
      <div class="card flush scroll" tabIndex={0} role="region" aria-label="Tables">
        <table class="tables">
          <thead>
            <tr><th scope="col">Table</th><th scope="col">Description</th><th scope="col" class="right">Rows</th><th scope="col" class="right">Columns</th></tr>
          </thead>
          <tbody>
            {hits.slice(0, SHOWN).map(({ table, where }) => (
              <tr key={tableName(table)}>
                <td>
                  <Link to={href("data", name, "tables", tableName(table))}><Untrusted text={table.name} /></Link>{" "}
                  {table.type !== "TABLE" && <Badge><Untrusted text={table.type.toLowerCase()} /></Badge>} <State table={table} />
                  {where && <div class="muted"><Untrusted text={where} /></div>}
                </td>
                <td>{table.description ? <Untrusted text={table.description} /> : <span class="muted">—</span>}</td>
                <td class="right" title={number(table.row_count)}>{table.row_count_known ? brief(table.row_count) : <span class="muted">?</span>}</td>
                <td class="right">{number(table.columns.length)}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      {hits.length > SHOWN && <p class="muted">The first {number(SHOWN)} are shown. Search for the others.</p>}
    </>
  );
}

export function State({ table }: { table: Table }) {
  if (table.missing) return <Badge tone="warn">gone</Badge>;
  if (table.status === "COMPLETED") return null;
  const tone = table.status === "FAILED" ? "bad" : table.status === "LOADING" ? "busy" : "plain";
  return <Badge tone={tone}>{WORDS[table.status] ?? table.status}</Badge>;
}
