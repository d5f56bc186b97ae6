// CodeMirror for SQL. Loaded when SQL is shown first.
import { autocompletion, closeBrackets, closeBracketsKeymap, closeCompletion, completionKeymap } from "@codemirror/autocomplete";
import { defaultKeymap, history, historyKeymap } from "@codemirror/commands";
import { sql, SQLite, PostgreSQL, MySQL, MSSQL, StandardSQL, type SQLNamespace } from "@codemirror/lang-sql";
import { HighlightStyle, syntaxHighlighting } from "@codemirror/language";
import { Compartment, EditorState } from "@codemirror/state";
import { EditorView, highlightSpecialChars, keymap, placeholder } from "@codemirror/view";
import { tags } from "@lezer/highlight";

export type { SQLNamespace };
export const DIALECTS = {
  sqlite: SQLite,
  postgresql: PostgreSQL,
  mysql: MySQL,
  mssql: MSSQL,
  clickhouse: StandardSQL,
  trino: StandardSQL,
  generic: StandardSQL,
  datafusion: StandardSQL,
};
export type DialectName = keyof typeof DIALECTS;

const look = EditorView.theme({
  "&": { fontSize: "13.5px", backgroundColor: "transparent", color: "var(--ink)" },
  "&.cm-focused": { outline: "2px solid var(--accent)", outlineOffset: "-1px", borderRadius: "8px" },
  ".cm-scroller": { fontFamily: "var(--mono)", lineHeight: "1.55", maxHeight: "20rem", overflow: "auto" },
  ".cm-content": { padding: "0.6rem 0", caretColor: "var(--ink)" },
  ".cm-line": { padding: "0 0.75rem" },
  ".cm-cursor": { borderLeftColor: "var(--ink)" },
  "&.cm-focused > .cm-scroller > .cm-selectionLayer .cm-selectionBackground, .cm-selectionBackground, ::selection": { backgroundColor: "var(--bar) !important" },
  ".cm-tooltip": { backgroundColor: "var(--card)", color: "var(--ink)", border: "1px solid var(--line)", borderRadius: "8px" },
  ".cm-tooltip-autocomplete ul li[aria-selected]": { backgroundColor: "var(--tint)", color: "var(--ink)" },
  ".cm-specialChar": { color: "var(--bad)" },
  ".cm-placeholder": { color: "var(--soft)" },
});

const colours = HighlightStyle.define([
  { tag: tags.keyword, color: "var(--accent)", fontWeight: "600" },
  { tag: [tags.string, tags.special(tags.string)], color: "var(--warn)" },
  { tag: [tags.number, tags.bool, tags.null], color: "var(--good)" },
  { tag: tags.comment, color: "var(--soft)", fontStyle: "italic" },
]);

interface Options {
  label: string;
  text: string;
  /** Absent where the text can only be read. */
  change?: ((text: string) => void) | undefined;
  submit?: (() => void) | undefined;
  /** What an empty editor says. */
  hint?: string | undefined;
  /** Characters that are shown as text. Given, so that this file needs no other of the console. */
  marks: { pattern: RegExp; show: (code: number) => string };
}

function markOf(text: string): HTMLElement {
  const mark = document.createElement("span");
  mark.className = "cm-specialChar";
  mark.textContent = mark.title = text;
  return mark;
}

/** An editor in a shadow root: there CodeMirror adopts style sheets, where else it would write inline ones, which the
 * content security policy refuses. */
export class Editor {
  readonly #view: EditorView;
  readonly #language = new Compartment();

  constructor(parent: HTMLElement, { label, text, change, submit, marks, hint = "SELECT …   (Ctrl+Enter runs it)" }: Options) {
    const root = parent.shadowRoot ?? parent.attachShadow({ mode: "open" });
    root.replaceChildren();
    const run = {
      key: "Mod-Enter",
      run: (view: EditorView) => {
        closeCompletion(view);
        submit?.();
        return true;
      },
    };
    const writing = [
      history(),
      closeBrackets(),
      autocompletion(),
      placeholder(hint),
      keymap.of([run, ...closeBracketsKeymap, ...completionKeymap, ...historyKeymap]),
      EditorView.updateListener.of((update) => {
        if (update.docChanged) change?.(update.state.doc.toString());
      }),
    ];
    const extensions = [
      look,
      // What cannot be seen is marked, so that no statement says other than it seems to.
      highlightSpecialChars({ specialChars: marks.pattern, render: (code) => markOf(marks.show(code)) }),
      syntaxHighlighting(colours),
      this.#language.of(sql()),
      EditorView.lineWrapping,
      EditorView.contentAttributes.of({ "aria-label": label, ...(change ? {} : { "aria-readonly": "true", tabindex: "0" }) }),
      change ? writing : [EditorState.readOnly.of(true), EditorView.editable.of(false)],
      // Last: its Ctrl+Enter would insert a line before the statement is sent.
      keymap.of(defaultKeymap),
    ];
    this.#view = new EditorView({ state: EditorState.create({ doc: text, extensions }), parent: root, root });
  }

  /** Completes the names of these tables and columns from now on. */
  completeFrom(schema: SQLNamespace, dialect: DialectName): void {
    this.#view.dispatch({ effects: this.#language.reconfigure(sql({ schema, dialect: DIALECTS[dialect], upperCaseKeywords: true })) });
  }

  get text(): string {
    return this.#view.state.doc.toString();
  }

  set text(text: string) {
    const { doc } = this.#view.state;
    if (doc.toString() !== text) this.#view.dispatch({ changes: { from: 0, to: doc.length, insert: text } });
  }

  focus(): void {
    this.#view.focus();
  }

  destroy(): void {
    this.#view.destroy();
  }
}
