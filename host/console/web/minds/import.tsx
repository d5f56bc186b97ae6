// Knowledge from a YAML document: dropped, chosen or pasted. If one entry is wrong, nothing is stored.
import { useState } from "preact/hooks";
import { send, type Schemas } from "../lib/api";
import { number } from "../lib/format";
import { useAction } from "../lib/load";
import { Link, href } from "../lib/router";
import { Confirm } from "../ui/dialog";
import { Drop } from "../ui/drop";
import { Failure } from "../ui/failure";
import { Field } from "../ui/field";
import { Line } from "../ui/line";

export function Import({ name }: { name: string }) {
  const [text, setText] = useState("");
  const [replaces, setReplaces] = useState(false);
  const [asked, setAsked] = useState(false);
  const [done, setDone] = useState<Schemas["KnowledgeImport"] | null>(null);
  const { busy, error, run, clear } = useAction();
  const read = (file: File) => void run(async () => { setText(await file.text()); setDone(null); });
  const start = () => {
    setAsked(false);
    setDone(null);
    void run(async () => {
      const address = `/api/v1/minds/${encodeURIComponent(name)}/knowledge/import?mode=${replaces ? "replace" : "merge"}`;
      const answer = await send(address, { method: "POST", headers: { "Content-Type": "application/yaml" }, body: text });
      setDone((await answer.json()) as Schemas["KnowledgeImport"]);
    });
  };
  const submit = (event: Event) => {
    event.preventDefault();
    if (replaces) setAsked(true);
    else start();
  };
  return (
    <form class="stack" onSubmit={submit}>
      <p class="up"><Link to={href("minds", name, "knowledge")}>All knowledge</Link></p>
      <h2>Import knowledge</h2>
      <Drop accept=".yaml,.yml,application/yaml" take={read}>Drop a YAML file here, or choose one</Drop>
      <Field label="Document" help="An entry replaces the one of the same kind and name. If one entry is wrong, nothing is stored.">
        {(id, help) => (
          <textarea
            id={id} class="mono" aria-describedby={help} aria-invalid={error ? true : undefined} required rows={12} spellcheck={false} value={text}
            placeholder={"terms:\n  - name: regular\n    meaning: A customer with three orders or more."}
            onInput={(event) => { setText(event.currentTarget.value); clear(); }}
          />
        )}
      </Field>
      {error && <Failure error={error} />}
      {error && <Line of={text} named={error.param} />}
      <label class="check">
        <input type="checkbox" checked={replaces} onChange={(event) => setReplaces(event.currentTarget.checked)} />
        <span>Also delete what the document does not have</span>
      </label>
      {done && <p class="notice" role="status">Done: {number(done.created)} created, {number(done.updated)} updated, {number(done.unchanged)} unchanged, {number(done.deleted)} deleted.</p>}
      <div class="actions"><button type="submit" class="primary" disabled={busy || text.trim() === ""}>{busy ? "Checking …" : "Import"}</button></div>
      {asked && (
        <Confirm title="Delete the rest?" action="Import and delete" busy={busy} close={() => setAsked(false)} confirm={start}>
          <p>Entries that the document does not have are deleted.</p>
        </Confirm>
      )}
    </form>
  );
}
