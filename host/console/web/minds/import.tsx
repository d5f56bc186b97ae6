// Knowledge from a YAML document: dropped, chosen or pasted. If one entry is wrong, nothing is stored.
import { useState } from "preact/hooks";
import { send, type Schemas } from "../lib/api";
import { useAction } from "../lib/load";
import { Link, href } from "../lib/router";
import { Confirm } from "../ui/dialog";
import { Failure } from "../ui/failure";
import { Field } from "../ui/field";
import { Untrusted } from "../ui/text";

export function Import({ name }: { name: string }) {
  const [text, setText] = useState("");
  const [over, setOver] = useState(false);
  const [replaces, setReplaces] = useState(false);
  const [asked, setAsked] = useState(false);
  const [done, setDone] = useState<Schemas["KnowledgeImport"] | null>(null);
  const { busy, error, run, clear } = useAction();
  const take = (file: File | undefined) => file && void run(async () => { setText(await file.text()); setDone(null); });
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
      <label
        class={over ? "drop over" : "drop"}
        onDragOver={(event) => { event.preventDefault(); setOver(true); }}
        onDragLeave={() => setOver(false)}
        onDrop={(event) => { event.preventDefault(); setOver(false); take(event.dataTransfer?.files[0]); }}
      >
        <span>Drop a YAML file here, or choose one</span>
        <input type="file" accept=".yaml,.yml,application/yaml" class="file" onChange={(event) => take(event.currentTarget.files?.[0])} />
      </label>
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
      {error && <Line of={text} param={error.param} />}
      <label class="check">
        <input type="checkbox" checked={replaces} onChange={(event) => setReplaces(event.currentTarget.checked)} />
        <span>Also delete what the document does not have</span>
      </label>
      {done && <p class="notice" role="status">Done: {done.created} created, {done.updated} updated, {done.unchanged} unchanged, {done.deleted} deleted.</p>}
      <div class="actions"><button type="submit" class="primary" disabled={busy || text.trim() === ""}>{busy ? "Checking …" : "Import"}</button></div>
      {asked && (
        <Confirm title="Delete the rest?" action="Import and delete" busy={busy} close={() => setAsked(false)} confirm={start}>
          <p>Entries that the document does not have are deleted.</p>
        </Confirm>
      )}
    </form>
  );
}

/** The line that the server names. */
function Line({ of: text, param }: { of: string; param: string | null }) {
  const number = Number(/line (\d+)/.exec(param ?? "")?.[1] ?? 0);
  const line = text.split("\n")[number - 1];
  return line === undefined ? null : <pre class="line" aria-label={`Line ${number}`}><span class="muted">{number} </span><Untrusted text={line} /></pre>;
}
