// One value of a result.
import { visible } from "../lib/format";
import type { Column } from "./rows";

const NUMERIC = new Set(["int64", "uint64", "float64", "decimal"]);
const SHOWN = 200;
const LEFT_TO_RIGHT = /^[ -~…]*$/;

/** By its type; where the engine gives none, by a value. */
export const isNumeric = (column: Column, value?: unknown): boolean => NUMERIC.has(column.type) || (column.type === "any" && typeof value === "number");

/** A value as text, exactly as the server sent it: a number of a database is not a number of JavaScript. */
export function asText(value: unknown): string {
  return typeof value === "string" ? value : JSON.stringify(value);
}

export function Cell({ value, max = SHOWN }: { value: unknown; max?: number }) {
  if (value === null) return <span class="null">NULL</span>;
  const text = asText(value);
  if (text === "") return <span class="null">empty</span>;
  const shown = visible(text.length > max ? `${text.slice(0, max)}…` : text);
  // Most values need no element of their own, and a table that scrolls is made of hundreds.
  return LEFT_TO_RIGHT.test(shown) ? <>{shown}</> : <bdi>{shown}</bdi>;
}
