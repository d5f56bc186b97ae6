// What a plugin says of its tables, in the contract's words.

/** `"planets"`, `["main", "planets"]` or `{schema, name}`; sources without schemas use `main`. */
export function tableRef(table) {
  if (typeof table === "string") return { schema: "main", name: table };
  if (Array.isArray(table)) return { schema: table[0], name: table[1] };
  return { schema: table.schema ?? "main", name: table.name };
}

/** `{columns, kind?, comment?, rowCount?, primaryKey?, foreignKeys?}` as a table of the catalog. */
export function table(ref, about) {
  return {
    table: tableRef(ref),
    kind: about.kind ?? "TABLE",
    comment: about.comment ?? null,
    rowCount: about.rowCount ?? null,
    columns: about.columns.map(tableColumn),
    primaryKey: (about.primaryKey ?? []).map((name, index) => ({
      constraintName: "primary key",
      ordinal: index + 1,
      column: name,
    })),
    foreignKeys: (about.foreignKeys ?? []).flatMap(foreignKey),
    extra: [],
  };
}

function tableColumn({ name, type = "any", nativeType, nullable = true, defaultValue = null, comment = null }, index) {
  return {
    name,
    ordinal: index + 1,
    nativeType: nativeType || type,
    nullable,
    defaultValue,
    comment,
    extra: [["data-type", type]],
  };
}

/** `{name?, columns: ["planet"], references: "planets", referencedColumns: ["name"]}` */
function foreignKey({ name, columns, references, referencedColumns }, index) {
  return columns.map((column, position) => ({
    constraintName: name ?? `foreign key ${index + 1}`,
    ordinal: position + 1,
    column,
    referenced: tableRef(references),
    referencedColumn: referencedColumns[position],
  }));
}

/** The answer of `describe-tables`, from a plugin's `describeTables` or `describe`. A table that is gone is left out. */
export function describeAll(plugin, tables) {
  if (plugin.describeTables) {
    return plugin.describeTables(tables).map(({ table: ref, ...about }) => table(ref, about));
  }
  return tables.flatMap((ref) => {
    const about = plugin.describe(ref);
    return about ? [table(ref, about)] : [];
  });
}

/** `{product, version}` */
export const serverInfo = ({ product, version }) => ({ product, version: String(version), extra: [] });
