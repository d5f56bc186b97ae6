// A REST API as tables: the rows come from here, the SQL from the host.

import { PluginError, http } from "./mindhost/index.js";
import type { Filter, FilterSupport, PageOptions, Row, Scan, Scanner, Table, TableRef } from "./mindhost/index.js";

/** Rows of a page: the most that the API gives. */
const PAGE = 25;
/** How often a page is asked for again while the API is busy. */
const RETRIES = 4;

const TABLES = new Map<string, Table>([
  ["customers", {
    columns: [
      { name: "id", type: "int64", nullable: false },
      { name: "name", type: "text", nullable: false },
      { name: "email", type: "text" },
      { name: "since", type: "date", nullable: false },
    ],
    primaryKey: ["id"],
  }],
  ["orders", {
    columns: [
      { name: "id", type: "int64", nullable: false },
      { name: "customer_id", type: "int64", nullable: false },
      { name: "status", type: "text", nullable: false },
      { name: "total", type: "decimal", nativeType: "decimal(12,2)", nullable: false },
      { name: "placed_at", type: "timestamp-utc", nullable: false },
    ],
    primaryKey: ["id"],
    foreignKeys: [{ columns: ["customer_id"], references: "customers", referencedColumns: ["id"] }],
  }],
]);

/** What the datasource is configured with; manifest.json has its schema. The host adds `token` to the requests. */
interface Config {
  url: string;
}

export default class Shop implements Scanner {
  readonly url: string;

  constructor({ url }: Config) {
    this.url = url.replace(/\/+$/, "");
    this.check();
  }

  check() {
    // One row proves that the address and the token are right.
    this.pages("customers", { limit: 1 }).next();
    return { product: "Shop API", version: "1" };
  }

  tables() {
    return [...TABLES.keys()].map((name) => ({ schema: "main", name }));
  }

  describe({ schema, name }: TableRef) {
    return (schema === "main" && TABLES.get(name)) || null;
  }

  /** The API finds orders by their status. The host applies every other filter. */
  filterSupport({ name }: TableRef, { column, op }: Filter): FilterSupport {
    return name === "orders" && column === "status" && op === "eq" ? "exact" : "no";
  }

  *scan({ name }: TableRef, { filters, limit }: Scan): Generator<Row> {
    const [status, ...others] = filters.map(({ values }) => String(values[0]));
    // No order has two statuses.
    if (others.some((other) => other !== status)) return;
    let left = limit ?? Infinity;
    for (const page of this.pages(name, { status, limit: Math.min(left, PAGE) })) {
      yield* page;
      left -= page.length;
      if (left <= 0) return;
    }
  }

  /** The pages of a path, one after another, each asked for when its rows are needed. */
  *pages(name: string, parameters: { status?: string | undefined; limit: number }): Generator<Row[]> {
    const first = http.withQuery(`${this.url}/${name}`, parameters);
    // The header `Link` leads to more customers; orders have a cursor.
    const cursor: PageOptions = { next: (page) => page.next && http.withQuery(first, { after: page.next }) };
    for (const page of http.pages(first, { retries: RETRIES, ...(name === "orders" ? cursor : {}) })) {
      const rows = page?.[name];
      if (!Array.isArray(rows)) throw new PluginError("upstream", `the API gave a page without ${name}`);
      yield rows;
    }
  }
}
