// The names of tables and columns, as the completion of SQL wants them.
import type { SQLNamespace } from "./editor";

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
