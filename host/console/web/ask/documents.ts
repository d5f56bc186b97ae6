// The documents of JSON columns, as the server wrote them. `JSON.parse` alone rounds their numbers, writes them in
// another way, and keeps one of two members with the same name.
import type { Schemas } from "../lib/api";

/** A JSON document as text. */
export class Document {
  constructor(readonly text: string) {}
}

interface Table {
  column_types: Schemas["ColumnType"][];
  data: unknown[][];
}

/** Reads an answer of the server with a table, in which documents are a `Document`. `path` leads to its rows. */
export function withDocuments<T>(json: string, tableOf: (answer: T) => Table, ...path: string[]): T {
  const answer = JSON.parse(json) as T;
  const { column_types, data } = tableOf(answer);
  const isDeep = (value: unknown) => typeof value === "object" && value !== null;
  // Of a computed column, some engines know no type.
  const hasDocuments = column_types.map(({ type }, place) => type === "json" || data.some((row) => isDeep(row[place])));
  if (!hasDocuments.includes(true)) return answer;
  let at = skip(json, 0);
  for (const name of path) at = member(json, at, name);
  let number = 0;
  for (const row of parts(json, at)) {
    const values = data[number++]!;
    let place = 0;
    for (const { from, until } of parts(json, row.from)) {
      const value = values[place];
      const isDocument = hasDocuments[place] && value !== null && (column_types[place]!.type === "json" || isDeep(value));
      if (isDocument) values[place] = new Document(json.slice(from, until));
      place++;
    }
  }
  return answer;
}

interface Part {
  /** Of a member of an object. */
  name: string;
  from: number;
  until: number;
}

/** The members of the object, or the elements of the array, that begins at `open`. The text is known to be JSON. */
function* parts(json: string, open: number): Generator<Part> {
  const isObject = json[open] === "{";
  let at = skip(json, open + 1);
  while (json[at] !== "]" && json[at] !== "}") {
    let name = "";
    if (isObject) {
      const end = endOf(json, at);
      name = JSON.parse(json.slice(at, end)) as string;
      at = skip(json, skip(json, end) + 1);
    }
    const until = endOf(json, at);
    yield { name, from: at, until };
    at = skip(json, until);
    if (json[at] === ",") at = skip(json, at + 1);
  }
}

/** Where the value of a member of an object begins. */
function member(json: string, open: number, name: string): number {
  for (const part of parts(json, open)) if (part.name === name) return part.from;
  throw new Error(`the answer has no member ${name}`);
}

function skip(json: string, at: number): number {
  while (" \t\n\r".includes(json.charAt(at) || "x")) at++;
  return at;
}

/** Behind the value that begins at `at`, however deep it is. */
function endOf(json: string, at: number): number {
  if (json[at] === '"') return endOfText(json, at);
  let depth = 0;
  for (let end = at; end < json.length; end++) {
    const character = json[end]!;
    if (character === '"') end = endOfText(json, end) - 1;
    else if (character === "{" || character === "[") depth++;
    else if (depth === 0 && ",]} \t\n\r".includes(character)) return end;
    else if ((character === "}" || character === "]") && --depth === 0) return end + 1;
  }
  return json.length;
}

function endOfText(json: string, at: number): number {
  for (let end = at + 1; end < json.length; end++) {
    if (json[end] === "\\") end++;
    else if (json[end] === '"') return end + 1;
  }
  return json.length;
}
