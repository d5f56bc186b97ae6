// One value of a result.
import { visible } from "../lib/format";
import { Document } from "./documents";
import type { Column } from "./rows";

const NUMERIC = new Set(["int64", "uint64", "float64", "decimal"]);
const SHOWN = 200;
const LEFT_TO_RIGHT = /^[ -~…↵]*$/;
const BREAK = /\r\n|\r|\n/g;

/** By its type; where the engine gives none, by a value. */
export const isNumeric = (column: Column, value?: unknown): boolean => NUMERIC.has(column.type) || (column.type === "any" && typeof value === "number");

/** A value as text, exactly as the server sent it: a number of a database is not a number of JavaScript. */
export function asText(value: unknown): string {
  if (value instanceof Document) return value.text;
  return typeof value === "string" ? value : JSON.stringify(value);
}

interface Props {
  value: unknown;
  column: Column;
  max?: number;
  /** Whether it stands in one line, with a mark for each line break. */
  isOneLine?: boolean;
}

export function Cell({ value, column, max = SHOWN, isOneLine = false }: Props) {
  if (value === null) return column.type === "json" ? <span class="null" title="Or null as a document: rows do not tell them apart, the export does.">NULL</span> : <span class="null">NULL</span>;
  const text = asText(value);
  if (text === "") return <span class="null">empty</span>;
  const cut = text.length > max ? `${text.slice(0, max)}…` : text;
  const shown = visible(isOneLine ? cut.replace(BREAK, "↵") : cut);
  // Most values need no element of their own, and a table that scrolls is made of hundreds.
  return LEFT_TO_RIGHT.test(shown) ? <>{shown}</> : <bdi>{shown}</bdi>;
}
