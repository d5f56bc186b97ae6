// The names of tables and columns, as the completion of SQL wants them. They are loaded once for all editors of a Mind.
import { effect } from "@preact/signals";
import { api, take, type Schemas } from "../lib/api";
import { key } from "../lib/session";
import type { DialectName, SQLNamespace } from "./editor";

export interface CatalogOf {
  /** None: all that the signed-in key sees. */
  mind: string | null;
  datasources: string[];
}

type Completion = [SQLNamespace, DialectName];

/** Milliseconds for which the names of a Mind are kept: a page may have many editors, and catalogs change seldom. */
const KEPT = 60_000;
const known = new Map<string, { at: number; names: Promise<Completion> }>();
let engines: Promise<Schemas["Engine"][]> | null = null;

effect(() => {
  if (key.value !== null) return;
  known.clear();
  engines = null;
});

/** Tables and columns that the Mind sees, or the key, as completion wants them, and how its first datasource writes SQL. */
export function completionOf(of: CatalogOf): Promise<Completion> {
  const id = JSON.stringify([of.mind, ...of.datasources]);
  const found = known.get(id);
  if (found && Date.now() - found.at < KEPT) return found.names;
  const names = load(of);
  known.set(id, { at: Date.now(), names });
  // What failed is not kept.
  names.catch(() => known.delete(id));
  return names;
}

async function load({ mind, datasources }: CatalogOf): Promise<Completion> {
  const sources: Source[] = [];
  let dialect: DialectName = "generic";
  for (const [index, name] of datasources.entries()) {
    const catalog = await take(api.GET("/api/v1/datasources/{name}/catalog", { params: { path: { name }, query: mind === null ? {} : { mind } } }));
    const tables = catalog.tables.map(({ schema, name, columns }) => ({ schema, name, columns: columns.map((column) => column.name) }));
    sources.push({ datasource: name, tables });
    if (index > 0) continue;
    engines ??= take(api.GET("/api/v1/engines"));
    engines.catch(() => { engines = null; });
    dialect = (await engines).find((one) => one.engine === catalog.datasource.engine)?.dialect ?? "datafusion";
  }
  return [namesOf(sources), dialect];
}

export interface Source {
  datasource: string;
  tables: { schema: string; name: string; columns: string[] }[];
}

/** A name with its dots marked as a part of it: the completion splits names at the others. */
const part = (name: string) => name.replaceAll(".", "\\.");

/** Every way in which a statement may name each table, as the server reads names: the table alone where no other of the
 * Mind has that name, with its schema, with its datasource, and with both. */
export function namesOf(sources: Source[]): SQLNamespace {
  const datasources = new Set(sources.map((one) => one.datasource));
  const all = sources.flatMap(({ datasource, tables }) => tables.map((table) => ({ ...table, datasource })));
  const byName = Map.groupBy(all, (one) => one.name.toLowerCase());
  const names = new Map<string, string[]>();
  for (const { datasource, schema, name, columns } of all) {
    const others = byName.get(name.toLowerCase())!;
    if (others.length === 1) names.set(part(name), columns);
    if (others.filter((one) => one.datasource === datasource).length === 1) names.set(`${part(datasource)}.${part(name)}`, columns);
    if (schema === "") continue;
    const isClear = others.filter((one) => one.schema === schema).length === 1 && (sources.length === 1 || !datasources.has(schema));
    if (isClear) names.set(`${part(schema)}.${part(name)}`, columns);
    names.set(`${part(datasource)}.${part(schema)}.${part(name)}`, columns);
  }
  return Object.fromEntries(names);
}
