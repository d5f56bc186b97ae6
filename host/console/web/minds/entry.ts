// The kinds of knowledge, the fields of each, and how a form's texts become an entry.
import type { Schemas } from "../lib/api";

export type Entry = Schemas["KnowledgeEntry"];
export type NewEntry = Schemas["Knowledge"];
export type Kind = Entry["kind"];

/** `words`: one line. `list`: one a line, for each may have commas. `lines`: prose. `sql`: an editor. `cardinality`: a choice. */
export interface EntryField {
  name: string;
  label: string;
  help?: string;
  control: "words" | "list" | "lines" | "sql" | "cardinality";
  required?: boolean;
}

const SYNONYMS: EntryField = { name: "synonyms", label: "Synonyms", control: "list", help: "Other words for it, one a line." };

export const KINDS: Record<Kind, { title: string; many: string; about: string; fields: EntryField[] }> = {
  instruction: {
    title: "Instruction", many: "Instructions", about: "What to heed with every question.",
    fields: [
      { name: "name", label: "Name", control: "words", required: true },
      { name: "text", label: "Text", control: "lines", required: true },
    ],
  },
  term: {
    title: "Term", many: "Terms", about: "What a word of your business means.",
    fields: [
      { name: "name", label: "Word", control: "words", required: true },
      SYNONYMS,
      { name: "meaning", label: "Meaning", control: "lines", required: true },
      { name: "table", label: "Table", control: "words", help: "The table that holds it." },
      { name: "column", label: "Column", control: "words", help: "A column of that table." },
    ],
  },
  metric: {
    title: "Metric", many: "Metrics", about: "How a figure is computed.",
    fields: [
      { name: "name", label: "Name", control: "words", required: true },
      SYNONYMS,
      { name: "description", label: "Description", control: "lines" },
      { name: "expression", label: "Expression", control: "sql", required: true, help: "SELECT this" },
      { name: "from", label: "From", control: "sql", required: true, help: "FROM these tables" },
      { name: "filter", label: "Filter", control: "sql", help: "WHERE this holds" },
    ],
  },
  relationship: {
    title: "Relationship", many: "Relationships", about: "Which columns of two tables belong together.",
    fields: [
      { name: "name", label: "Name", control: "words", required: true },
      { name: "description", label: "Description", control: "lines" },
      { name: "from_table", label: "From table", control: "words", required: true },
      { name: "from_columns", label: "Its columns", control: "list", required: true, help: "One a line." },
      { name: "to_table", label: "To table", control: "words", required: true },
      { name: "to_columns", label: "Their columns there", control: "list", required: true, help: "In the same order." },
      { name: "cardinality", label: "Cardinality", control: "cardinality" },
    ],
  },
  verified_query: {
    title: "Verified question", many: "Verified questions", about: "A question with the statement that answers it.",
    fields: [
      { name: "question", label: "Question", control: "words", required: true },
      { name: "sql", label: "Statement", control: "sql", required: true },
      { name: "notes", label: "Notes", control: "lines" },
    ],
  },
};

export const CARDINALITIES = ["one_to_one", "one_to_many", "many_to_one", "many_to_many"] as const;

/** What an entry is called. */
export const nameOf = (entry: Entry): string => (entry.kind === "verified_query" ? entry.question : entry.name);

/** Its fields as texts, as a form has them; a list shows `between` something else than lines. */
export function textsOf(entry: Entry | NewEntry, between = "\n"): Record<string, string> {
  const values = entry as unknown as Record<string, unknown>;
  const texts = KINDS[entry.kind].fields.map(({ name }) => {
    const value = values[name];
    return [name, Array.isArray(value) ? value.join(between) : typeof value === "string" ? value : ""] as const;
  });
  return Object.fromEntries(texts);
}

/** What the API takes: empty texts are left out, and the API says which it needs. */
export function toEntry(kind: Kind, texts: Record<string, string>): NewEntry {
  const entry: Record<string, unknown> = { kind };
  for (const { name, control, required } of KINDS[kind].fields) {
    const text = texts[name] ?? "";
    if (control === "list") entry[name] = text.split("\n").map((one) => one.trim()).filter(Boolean);
    else if (text.trim() !== "" || required) entry[name] = text;
  }
  return entry as NewEntry;
}

/** Whether one of its texts has the word. */
export function hasText(entry: Entry, word: string): boolean {
  return Object.values(textsOf(entry)).some((text) => text.toLowerCase().includes(word));
}
