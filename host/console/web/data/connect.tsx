// Connects a database, or changes a connection. The server tries it first, and stores nothing that fails.
import { useEffect, useState } from "preact/hooks";
import { api, may, take, type Schemas } from "../lib/api";
import { useAction, useLoad } from "../lib/load";
import { Link, go, href } from "../lib/router";
import { Confirm } from "../ui/dialog";
import { Failure } from "../ui/failure";
import { Field } from "../ui/field";
import { Head, Load } from "../ui/page";
import { SchemaForm, type Values } from "../ui/schema_form";
import { changesOf, storedSecrets, type ObjectSchema } from "../ui/schema";
import { Untrusted } from "../ui/text";
import { datasourceAddress } from "./addresses";
import { filesOf } from "./files";

type Body = Schemas["NewDatasource"];

const asSchema = (engine: Schemas["Engine"]) => engine.connection_data as ObjectSchema;

function Engines({ engines, chosen, choose }: { engines: Schemas["Engine"][]; chosen: string | null; choose: (engine: string) => void }) {
  return (
    <fieldset class="engines">
      <legend>Kind of database</legend>
      <div class="engine-list">
        {engines.map((one) => (
          <label key={one.engine} class="engine">
            <input type="radio" name="engine" checked={one.engine === chosen} onChange={() => choose(one.engine)} />
            <span><strong><Untrusted text={one.title} /></strong><span class="muted"><Untrusted text={one.description} /></span></span>
          </label>
        ))}
      </div>
    </fieldset>
  );
}

/** Send values and rows to models: what leaves the database beyond its structure. */
function Privacy({ values, change }: { values: { send_values: boolean; send_rows: boolean }; change: (values: { send_values: boolean; send_rows: boolean }) => void }) {
  return (
    <fieldset class="stack tight">
      <legend>What language models may see besides names and types</legend>
      <label class="check">
        <input type="checkbox" checked={values.send_values} onChange={(event) => change({ ...values, send_values: event.currentTarget.checked })} />
        Common values of columns, from the catalog
      </label>
      <label class="check">
        <input type="checkbox" checked={values.send_rows} onChange={(event) => change({ ...values, send_rows: event.currentTarget.checked })} />
        Rows of results
      </label>
    </fieldset>
  );
}

/** Reads the catalog of a new datasource, and gives the page that it begins with. */
async function begin(name: string): Promise<string> {
  // A directory may be connected before there is a file in it.
  const files = may("list_files") ? await filesOf(name) : false;
  if (files !== false && files.length === 0) return href("data", name, "files");
  await take(api.POST("/api/v1/datasources/{name}/catalog/refresh", { params: { path: { name } }, body: {} }));
  return datasourceAddress(name);
}

export function NewDatasource() {
  const engines = useLoad((signal) => take(api.GET("/api/v1/engines", { signal })), []);
  const [engine, setEngine] = useState<string | null>(null);
  const [name, setName] = useState("");
  const [description, setDescription] = useState("");
  // Of each kind, so that who looks at another one loses nothing.
  const [written, setWritten] = useState<Record<string, Values>>({});
  const [privacy, setPrivacy] = useState({ send_values: true, send_rows: true });
  const { busy, error, run } = useAction();
  const submit = (event: Event) => {
    event.preventDefault();
    void run(async () => {
      const body = { name, engine: engine!, description, connection_data: (written[engine!] ?? {}) as Body["connection_data"], ...privacy };
      await take(api.POST("/api/v1/datasources", { body }));
      // It is connected: if the rest fails, its page says what is missing, and sending the form again would only fail.
      go(await begin(name).catch(() => datasourceAddress(name)));
    });
  };
  return (
    <div class="page narrow">
      <Head title="Connect a database" up={<Link to={href("data")}>Data</Link>} about="The connection is tried first. Nothing is stored if it fails." />
      <Load of={engines}>
        {(all) => {
          const chosen = all.find((one) => one.engine === engine);
          return (
            <form class="stack" onSubmit={submit}>
              <Engines engines={all} chosen={engine} choose={setEngine} />
              {chosen && (
                <>
                  <Field label="Name" help="Letters, digits and _, a letter first. Tables are addressed with it.">
                    {(id, help) => <input id={id} aria-describedby={help} required maxLength={62} pattern="[A-Za-z][A-Za-z0-9_]*" value={name} onInput={(event) => setName(event.currentTarget.value)} />}
                  </Field>
                  <Field label={<>Description<span class="muted"> optional</span></>} help="Models read it too.">
                    {(id, help) => <input id={id} aria-describedby={help} value={description} onInput={(event) => setDescription(event.currentTarget.value)} />}
                  </Field>
                  <SchemaForm key={chosen.engine} schema={asSchema(chosen)} values={written[chosen.engine] ?? {}} change={(values) => setWritten((all) => ({ ...all, [chosen.engine]: values }))} />
                  <Privacy values={privacy} change={setPrivacy} />
                  {error && <Failure error={error} />}
                  <div class="actions">
                    <button class="primary" type="submit" disabled={busy}>{busy ? "Trying the connection …" : "Test and connect"}</button>
                  </div>
                </>
              )}
            </form>
          );
        }}
      </Load>
    </div>
  );
}

/** The connection of a datasource. Secrets are never shown: an empty field keeps the stored one. */
export function ChangeDatasource({ name }: { name: string }) {
  const loaded = useLoad(async (signal) => {
    const datasource = await take(api.GET("/api/v1/datasources/{name}", { params: { path: { name } }, signal }));
    const engine = await take(api.GET("/api/v1/engines/{engine}", { params: { path: { engine: datasource.engine } }, signal }));
    return { datasource, engine };
  }, [name]);
  return (
    <div class="page narrow">
      <Head title={<>Change <Untrusted text={name} /></>} up={<Link to={datasourceAddress(name)}><Untrusted text={name} /></Link>} />
      <Load of={loaded}>{(data) => <ChangeForm {...data} />}</Load>
    </div>
  );
}

function ChangeForm({ datasource, engine }: { datasource: Schemas["Datasource"]; engine: Schemas["Engine"] }) {
  const known = (datasource.connection_data ?? {}) as Values;
  const stored = storedSecrets(asSchema(engine), known);
  const [values, setValues] = useState<Values>(Object.fromEntries(Object.entries(known).filter(([name]) => !stored.has(name))));
  const [description, setDescription] = useState(datasource.description);
  const [privacy, setPrivacy] = useState({ send_values: datasource.send_values, send_rows: datasource.send_rows });
  const [deleting, setDeleting] = useState(false);
  const { busy, error, run } = useAction();
  const removal = useAction();
  const path = { name: datasource.name };
  const submit = (event: Event) => {
    event.preventDefault();
    void run(async () => {
      const connection_data = (changesOf(known, values, stored) ?? undefined) as Body["connection_data"] | undefined;
      await take(api.PATCH("/api/v1/datasources/{name}", { params: { path }, body: { description, connection_data, ...privacy } }));
      go(datasourceAddress(datasource.name));
    });
  };
  const remove = () =>
    void removal.run(async () => {
      await take(api.DELETE("/api/v1/datasources/{name}", { params: { path } }));
      go(href("data"));
    });
  useEffect(() => removal.clear(), [deleting]);
  return (
    <form class="stack" onSubmit={submit}>
      <Field label="Description" help="Models read it too.">
        {(id, help) => <input id={id} aria-describedby={help} value={description} onInput={(event) => setDescription(event.currentTarget.value)} />}
      </Field>
      <SchemaForm schema={asSchema(engine)} values={values} change={setValues} stored={stored} />
      <Privacy values={privacy} change={setPrivacy} />
      {error && <Failure error={error} />}
      <div class="actions">
        <button class="primary" type="submit" disabled={busy}>{busy ? "Trying the connection …" : "Test and save"}</button>
        {may("delete_datasource") && <button type="button" class="danger" onClick={() => setDeleting(true)}>Delete …</button>}
      </div>
      {deleting && (
        <Confirm title={`Delete ${datasource.name}?`} action="Delete" busy={removal.busy} close={() => setDeleting(false)} confirm={remove}>
          <p>The connection and its catalog are deleted, the descriptions that people wrote too. The database itself stays as it is.</p>
          {removal.error && <Failure error={removal.error} />}
        </Confirm>
      )}
    </form>
  );
}
