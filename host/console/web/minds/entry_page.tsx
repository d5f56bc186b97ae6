// One entry: to read, to write, to delete; and a new one.
import { useState } from "preact/hooks";
import { api, may, take } from "../lib/api";
import { useAction, useLoad } from "../lib/load";
import { Link, go, href } from "../lib/router";
import { Confirm } from "../ui/dialog";
import { Failure } from "../ui/failure";
import { Field } from "../ui/field";
import { Badge, Load } from "../ui/page";
import { Untrusted } from "../ui/text";
import { Time } from "../ui/time";
import { KINDS, nameOf, textsOf, toEntry, type Entry, type Kind } from "./entry";
import { EntryControl } from "./entry_field";
import { EntryFacts } from "./knowledge";

export function EntryPage({ name, id }: { name: string; id: string | null }) {
  const loaded = useLoad(async (signal) => {
    const mind = await take(api.GET("/api/v1/minds/{name}", { params: { path: { name } }, signal }));
    const params = { path: { name, id: id ?? "" } };
    const entry = id === null ? null : await take(api.GET("/api/v1/minds/{name}/knowledge/{id}", { params, signal }));
    return { entry, datasources: mind.datasource_tables.map((one) => one.name) };
  }, [name, id]);
  return (
    <>
      <p class="up"><Link to={href("minds", name, "knowledge")}>All knowledge</Link></p>
      <Load of={loaded}>
        {({ entry, datasources }) => {
          const writes = entry ? may("update_knowledge") : may("create_knowledge");
          if (writes) return <EntryForm key={entry?.id ?? "new"} name={name} entry={entry} datasources={datasources} />;
          return entry && <><About entry={entry} /><EntryFacts entry={entry} max={8000} /></>;
        }}
      </Load>
    </>
  );
}

function About({ entry }: { entry: Entry }) {
  return (
    <>
      <h2 class="row"><Untrusted text={nameOf(entry)} />{entry.status === "stale" && <Badge tone="warn">stale</Badge>}</h2>
      {entry.stale_reason && <p class="stale">Stale: <Untrusted text={entry.stale_reason} max={2000} /></p>}
      <p class="muted">{KINDS[entry.kind].title} · changed <Time at={entry.updated_at} /> · checked <Time at={entry.checked_at} /></p>
    </>
  );
}

function EntryForm({ name, entry, datasources }: { name: string; entry: Entry | null; datasources: string[] }) {
  const [kind, setKind] = useState<Kind>(entry?.kind ?? "term");
  const [texts, setTexts] = useState<Record<string, string>>(entry ? textsOf(entry) : {});
  const { busy, error, run, clear } = useAction();
  const { fields, about } = KINDS[kind];
  const save = () =>
    void run(async () => {
      const body = toEntry(kind, texts);
      if (entry) await take(api.PUT("/api/v1/minds/{name}/knowledge/{id}", { params: { path: { name, id: entry.id } }, body }));
      else await take(api.POST("/api/v1/minds/{name}/knowledge", { params: { path: { name } }, body }));
      go(href("minds", name, "knowledge"));
    });
  const place = fields.find((field) => field.name === error?.param?.replace(/[[.].*$/, ""));
  return (
    <form class="stack" onSubmit={(event) => { event.preventDefault(); save(); }}>
      {entry ? <About entry={entry} /> : <h2>Teach it</h2>}
      {!entry && (
        <Field label="Kind" help={about}>
          {(id, help) => (
            <select id={id} aria-describedby={help} value={kind} onChange={(event) => { setKind(event.currentTarget.value as Kind); clear(); }}>
              {Object.entries(KINDS).map(([kind, { title }]) => <option key={kind} value={kind}>{title}</option>)}
            </select>
          )}
        </Field>
      )}
      {fields.map((field) => (
        <EntryControl
          key={`${kind} ${field.name}`} field={field} value={texts[field.name] ?? ""} catalog={{ mind: name, datasources }}
          error={field === place ? error : null} submit={save}
          change={(text) => setTexts((known) => ({ ...known, [field.name]: text }))}
        />
      ))}
      {error && !place && <Failure error={error} />}
      <div class="actions">
        <button type="submit" class="primary" disabled={busy}>{busy ? "Checking …" : entry ? "Save" : "Teach it"}</button>
        {entry && may("delete_knowledge") && <Delete name={name} entry={entry} />}
      </div>
    </form>
  );
}

function Delete({ name, entry }: { name: string; entry: Entry }) {
  const [asked, setAsked] = useState(false);
  const { busy, error, run } = useAction();
  const remove = () =>
    void run(async () => {
      await take(api.DELETE("/api/v1/minds/{name}/knowledge/{id}", { params: { path: { name, id: entry.id } } }));
      go(href("minds", name, "knowledge"));
    });
  return (
    <>
      <button type="button" class="danger" onClick={() => setAsked(true)}>Delete …</button>
      {asked && (
        <Confirm title="Delete this entry?" action="Delete" busy={busy} close={() => setAsked(false)} confirm={remove}>
          <p>No model is told of <Untrusted text={nameOf(entry)} /> any more.</p>
          {error && <Failure error={error} />}
        </Confirm>
      )}
    </>
  );
}
