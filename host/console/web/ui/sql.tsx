// SQL, to read or to write.
import { useEffect, useRef } from "preact/hooks";
import { api, take } from "../lib/api";
import { visible } from "../lib/format";
import type { DialectName, Editor, SQLNamespace } from "./editor";
import { namesOf, type Source } from "./sql_names";

export interface CatalogOf {
  mind: string;
  datasources: string[];
}

/** Tables and columns that the Mind sees, as completion wants them, and how its first datasource writes SQL. */
async function completionOf({ mind, datasources }: CatalogOf, signal: AbortSignal): Promise<[SQLNamespace, DialectName]> {
  const sources: Source[] = [];
  let dialect: DialectName = "generic";
  for (const [index, name] of datasources.entries()) {
    const catalog = await take(api.GET("/api/v1/datasources/{name}/catalog", { params: { path: { name }, query: { mind } }, signal }));
    const tables = catalog.tables.map(({ schema, name, columns }) => ({ schema, name, columns: columns.map((column) => column.name) }));
    sources.push({ datasource: name, tables });
    if (index > 0) continue;
    const engines = await take(api.GET("/api/v1/engines", { signal }));
    dialect = engines.find((one) => one.engine === catalog.datasource.engine)?.dialect ?? "datafusion";
  }
  return [namesOf(sources), dialect];
}

interface EditorProps {
  label: string;
  value: string;
  change: (text: string) => void;
  submit: () => void;
  catalog: CatalogOf;
  hint?: string;
  /** Whether it takes the focus when it is there. */
  focus?: boolean;
}

export function SqlEditor({ label, value, change, submit, catalog, hint, focus = true }: EditorProps) {
  const box = useRef<HTMLDivElement>(null);
  const editor = useRef<Editor | null>(null);
  const latest = useRef({ change, submit, value });
  latest.current = { change, submit, value };
  // What was written here and has not come back as `value` yet. Without it, a `value` that comes late would undo what was
  // written since, which is a change again, and so on without end.
  const written = useRef(new Set<string>());
  useEffect(() => {
    const abort = new AbortController();
    void import("./editor").then(({ Editor }) => {
      if (abort.signal.aborted || !box.current) return;
      const { value: text } = latest.current;
      editor.current = new Editor(box.current, {
        label, text, hint,
        change: (text) => {
          written.current.add(text);
          latest.current.change(text);
        },
        submit: () => latest.current.submit(),
      });
      if (focus) editor.current.focus();
      // Without names there is no completion; the statement can be written all the same.
      completionOf(catalog, abort.signal).then((names) => editor.current?.completeFrom(...names), () => undefined);
    });
    return () => {
      abort.abort();
      editor.current?.destroy();
      editor.current = null;
    };
  }, [label, catalog.mind]);
  useEffect(() => {
    if (editor.current && editor.current.text !== value && !written.current.has(value)) editor.current.text = value;
    if (editor.current?.text === value) written.current.clear();
  }, [value]);
  return <div class="editor" ref={box} />;
}

export function SqlView({ sql, label = "SQL" }: { sql: string; label?: string }) {
  const box = useRef<HTMLDivElement>(null);
  useEffect(() => {
    let editor: Editor | null = null;
    let gone = false;
    void import("./editor").then(({ Editor }) => {
      if (!gone && box.current) editor = new Editor(box.current, { label, text: visible(sql) });
    });
    return () => {
      gone = true;
      editor?.destroy();
    };
  }, [sql, label]);
  return (
    <div class="editor read" ref={box}>
      <pre><code>{visible(sql)}</code></pre>
    </div>
  );
}
