// What a search over all data finds, and in which order.
import { columnAnchor, datasourceAddress, tableName, type Catalog, type Column, type Table } from "./addresses";
import { href } from "../lib/router";

/** How well a text was found, the best first. */
const RANKS = { exact: 0, begins: 1, contains: 2, description: 3, value: 4 } as const;

export type Kind = "datasource" | "mind" | "table" | "column";
const KINDS: Kind[] = ["datasource", "mind", "table", "column"];

export interface Hit {
  kind: Kind;
  rank: number;
  /** What was found, as it was found: `orders`, or `main.orders` for a search with a dot. */
  name: string;
  /** Where it is: the datasource, and the table of a column. */
  where: string;
  description: string | null;
  /** The common value that has the text, if nothing else has it. */
  value: string | null;
  address: string;
}

/** The text as a pattern that ignores case. Every character stands for itself. */
export function patternOf(text: string): RegExp {
  return new RegExp(text.replace(/[\\^$.*+?()[\]{}|/]/g, "\\$&"), "iu");
}

class Search {
  readonly hits: Hit[] = [];
  readonly #pattern: RegExp;
  readonly #wanted: string;

  constructor(text: string) {
    this.#pattern = patternOf(text);
    this.#wanted = text.toLowerCase();
  }

  /** `names`: the own name, then those with what it belongs to, which count for a search with a dot. */
  add(names: string[], description: string | null, values: string[] | null, hit: Pick<Hit, "kind" | "where" | "address">): void {
    const own = names[0]!;
    const name = (this.#wanted.includes(".") ? names : [own]).find((one) => {
      const found = this.#pattern.exec(one);
      // `main.orders` is a table, and not each of its columns.
      return found !== null && found.index + found[0].length > one.length - own.length;
    });
    if (name !== undefined) {
      this.hits.push({ ...hit, name, description, value: null, rank: this.#rankOf(name) });
    } else if (description !== null && this.#pattern.test(description)) {
      this.hits.push({ ...hit, name: own, description, value: null, rank: RANKS.description });
    } else {
      const value = values?.find((one) => this.#pattern.test(one));
      if (value !== undefined) this.hits.push({ ...hit, name: own, description, value, rank: RANKS.value });
    }
  }

  #rankOf(name: string): number {
    const text = name.toLowerCase();
    if (text === this.#wanted) return RANKS.exact;
    return text.startsWith(this.#wanted) ? RANKS.begins : RANKS.contains;
  }
}

/** Everything that has the text, the best first. */
export function find(text: string, catalogs: Iterable<Catalog>, minds: string[]): Hit[] {
  const search = new Search(text);
  for (const name of minds) search.add([name], null, null, { kind: "mind", where: "", address: href("minds", name) });
  for (const { datasource, tables } of catalogs) {
    search.add([datasource.name], datasource.description || null, null, { kind: "datasource", where: datasource.engine, address: datasourceAddress(datasource.name) });
    for (const table of tables) {
      addTable(search, datasource.name, table);
      for (const column of table.columns) addColumn(search, datasource.name, table, column);
    }
  }
  return search.hits.sort((a, b) => a.rank - b.rank || KINDS.indexOf(a.kind) - KINDS.indexOf(b.kind) || a.name.localeCompare(b.name));
}

function addTable(search: Search, datasource: string, table: Table): void {
  const full = tableName(table);
  const names = [table.name, full, `${datasource}.${table.name}`, `${datasource}.${full}`];
  search.add(names, table.description, null, { kind: "table", where: datasource, address: href("data", datasource, "tables", full) });
}

function addColumn(search: Search, datasource: string, table: Table, column: Column): void {
  const full = tableName(table);
  const names = [column.name, `${table.name}.${column.name}`, `${full}.${column.name}`, `${datasource}.${full}.${column.name}`];
  const address = `${href("data", datasource, "tables", full)}#${columnAnchor(column.name)}`;
  search.add(names, column.description, column.statistics.most_common_values, { kind: "column", where: `${datasource} · ${table.name}`, address });
}
