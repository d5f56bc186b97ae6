// Questions to begin with, made of the Mind's own tables.
import { api, take, type Schemas } from "../lib/api";
import { useLoad } from "../lib/load";
import { Untrusted } from "../ui/text";

type Mind = Schemas["Mind"];

export function datasourceName(one: Schemas["MindDatasource"]): string {
  return typeof one === "string" ? one : one.name;
}

const words = (name: string) => name.replaceAll("_", " ");

/** A count for the largest tables, and a split where a column has few values. */
function questions(tables: Schemas["Table"][]): string[] {
  const facts = tables.filter((table) => table.type !== "VIEW" && table.row_count > 0);
  facts.sort((a, b) => b.foreign_key_constraints.length - a.foreign_key_constraints.length || b.row_count - a.row_count);
  const found: string[] = [];
  for (const table of facts.slice(0, 3)) {
    found.push(`How many ${words(table.name)} are there?`);
    const split = table.columns.find((one) => one.statistics.distinct_values_count > 1 && one.statistics.distinct_values_count <= 12 && /CHAR|TEXT/i.test(one.data_type));
    if (split) found.push(`How many ${words(table.name)} per ${words(split.name)}?`);
  }
  return found.slice(0, 4);
}

export function Suggestions({ mind, ask }: { mind: Mind; ask: (text: string) => void }) {
  const first = mind.datasources[0];
  const loaded = useLoad(async (signal) => {
    if (!first) return [];
    const params = { path: { name: datasourceName(first) }, query: { mind: mind.name } };
    const catalog = await take(api.GET("/api/v1/datasources/{name}/catalog", { params, signal }));
    return questions(catalog.tables);
  }, [mind.name]);
  return (
    <ul class="suggestions" aria-label="Suggestions">
      {loaded.data?.map((text) => (
        <li key={text}><button type="button" onClick={() => ask(text)}><Untrusted text={text} /></button></li>
      ))}
    </ul>
  );
}
