// SQL, to read or to write.
import { useEffect, useRef, useState } from "preact/hooks";
import { ApiError } from "../lib/api";
import { INVISIBLE, codeOf, visible } from "../lib/format";
import type { Editor } from "./editor";
import { Failure } from "./failure";
import { completionOf, type CatalogOf } from "./sql_names";

export type { CatalogOf };

const MARKS = { pattern: INVISIBLE, show: codeOf };

/** The files of an older console are gone once the server has another. */
const GONE = new ApiError("The editor could not be loaded. The server may have been upgraded since this page was opened: load the page again.", "console", 0, null);

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
  const [isGone, setGone] = useState(false);
  useEffect(() => {
    const abort = new AbortController();
    const start = ({ Editor }: typeof import("./editor")) => {
      if (abort.signal.aborted || !box.current) return;
      const { value: text } = latest.current;
      editor.current = new Editor(box.current, {
        label, text, hint, marks: MARKS,
        change: (text) => {
          written.current.add(text);
          latest.current.change(text);
        },
        submit: () => latest.current.submit(),
      });
      if (focus) editor.current.focus();
      // Without names there is no completion; the statement can be written all the same.
      completionOf(catalog).then((names) => abort.signal.aborted || editor.current?.completeFrom(...names), () => undefined);
    };
    import("./editor").then(start, () => setGone(!abort.signal.aborted));
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
  if (isGone) return <Failure error={GONE} retry={() => location.reload()} action="Load the page again" />;
  return <div class="editor" ref={box} />;
}

/** A statement without its colours. */
export function SqlText({ sql }: { sql: string }) {
  return <div class="editor read"><pre><code>{visible(sql)}</code></pre></div>;
}

export function SqlView({ sql, label = "SQL" }: { sql: string; label?: string }) {
  const box = useRef<HTMLDivElement>(null);
  useEffect(() => {
    let editor: Editor | null = null;
    let gone = false;
    const start = ({ Editor }: typeof import("./editor")) => {
      if (!gone && box.current) editor = new Editor(box.current, { label, text: visible(sql), marks: MARKS });
    };
    // Without the editor the statement stays as plain text.
    import("./editor").then(start, () => undefined);
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
