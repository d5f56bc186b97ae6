// Names and addresses of datasources, tables and columns.
import type { Schemas } from "../lib/api";
import { href } from "../lib/router";

export type Catalog = Schemas["Catalog"];
export type Table = Schemas["Table"];
export type Column = Table["columns"][number];

/** Pages of `/data` that are no datasource. */
const OWN = new Set(["new", "search"]);

/** How a table is named in the API and in addresses. */
export const tableName = (table: Table): string => (table.schema ? `${table.schema}.${table.name}` : table.name);

/** The page of a datasource. One whose name is that of another page has a longer address. */
export const datasourceAddress = (name: string): string => (OWN.has(name) ? href("data", name, "tables") : href("data", name));

export const searchAddress = (text: string): string => (text === "" ? href("data", "search") : `${href("data", "search")}?q=${encodeURIComponent(text)}`);

/** The part of a table's page that shows a column. */
export const columnAnchor = (column: string): string => `column-${encodeURIComponent(column)}`;
