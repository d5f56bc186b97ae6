// Makes a Mind, shows one, and changes it.
import { useState } from "preact/hooks";
import { api, may, take, type Schemas } from "../lib/api";
import { visible } from "../lib/format";
import { useAction, useLoad } from "../lib/load";
import { Link, go, href } from "../lib/router";
import { Confirm } from "../ui/dialog";
import { Failure } from "../ui/failure";
import { Field } from "../ui/field";
import { Empty, Head, Load } from "../ui/page";
import { Time } from "../ui/time";
import { Untrusted } from "../ui/text";
import { scope } from "./list";
import { Tree, type Scope } from "./tree";

type Mind = Schemas["Mind"];

/** What a form needs to know besides the Mind. */
const choices = async (signal: AbortSignal) => ({
  datasources: await take(api.GET("/api/v1/datasources", { signal })),
  providers: await take(api.GET("/api/v1/providers", { signal })),
});

export function NewMind() {
  const loaded = useLoad(choices, []);
  return (
    <div class="page narrow">
      <Head title="Make a Mind" up={<Link to={href("minds")}>Minds</Link>} />
      <Load of={loaded}>
        {(data) =>
          data.datasources.length === 0 ? (
            <Empty title="Connect a database first"><Link class="button primary" to={href("data", "new")}>Connect a database</Link></Empty>
          ) : (
            <MindForm {...data} />
          )
        }
      </Load>
    </div>
  );
}

/** What the Mind is made of: to change, or for readers to see. */
export function Settings({ name }: { name: string }) {
  const loaded = useLoad(async (signal) => {
    const mind = await take(api.GET("/api/v1/minds/{name}", { params: { path: { name } }, signal }));
    return { mind, ...(await choices(signal)) };
  }, [name]);
  return <Load of={loaded}>{(data) => (may("update_mind") ? <MindForm {...data} /> : <Facts mind={data.mind} />)}</Load>;
}

function Facts({ mind }: { mind: Mind }) {
  return (
    <dl class="facts">
      <dt>Tables</dt><dd><Untrusted text={scope(mind)} /></dd>
      <dt>Provider</dt><dd><Untrusted text={mind.provider} /></dd>
      <dt>Model</dt><dd><Untrusted text={mind.model_name} /></dd>
      <dt>Takes SQL</dt><dd>{mind.parameters.allow_direct_queries ? "yes" : "no"}</dd>
      <dt>Instructions</dt><dd><Untrusted text={mind.parameters.system_prompt ?? "none"} max={4000} /></dd>
    </dl>
  );
}

interface FormProps {
  mind?: Mind;
  datasources: Schemas["Datasource"][];
  providers: Schemas["Provider"][];
}

function MindForm({ mind, datasources, providers }: FormProps) {
  const usual = providers.find((one) => one.default) ?? providers[0];
  const [name, setName] = useState(mind?.name ?? "");
  const [tables, setTables] = useState<Scope>(new Map(mind?.datasource_tables.map((one) => [one.name, one.tables])));
  const [provider, setProvider] = useState(mind?.provider ?? usual?.name ?? "");
  // The API shows the usual model of a provider under the provider's name.
  const known = mind && mind.model_name !== mind.provider ? mind.model_name : "";
  const [model, setModel] = useState(known);
  const [prompt, setPrompt] = useState(mind?.parameters.system_prompt ?? "");
  const [direct, setDirect] = useState(mind?.parameters.allow_direct_queries ?? false);
  const { busy, error, run } = useAction();

  /** No other provider has the model of this one. */
  const choose = (name: string) => {
    setProvider(name);
    setModel(name === mind?.provider ? known : "");
  };
  const submit = (event: Event) => {
    event.preventDefault();
    void run(async () => {
      const entries = [...tables].map(([name, some]) => (some === null ? name : { name, tables: some }));
      const parameters = { ...mind?.parameters, system_prompt: prompt || null, allow_direct_queries: direct };
      // Those that are not sent stay as they are.
      const hasNewParameters = !mind || prompt !== (mind.parameters.system_prompt ?? "") || direct !== (mind.parameters.allow_direct_queries ?? false);
      if (hasNewParameters && holdsRounded(parameters)) throw new Error("A parameter of this Mind has an integer that a browser rounds. Change the instructions, and whether callers may send SQL, over the API.");
      const body = { name, datasources: entries, ...(hasNewParameters && { parameters }), ...(provider && { provider }), ...(model !== known && { model_name: model }) };
      if (mind) await take(api.PUT("/api/v1/minds/{name}", { params: { path: { name: mind.name } }, body }));
      else await take(api.POST("/api/v1/minds", { body }));
      go(href("minds"));
    });
  };
  const names = [...new Set([...datasources.map((one) => one.name), ...tables.keys()])];
  return (
    <form class="stack" onSubmit={submit}>
      <Field label="Name" help="Letters, digits, _ and -. Callers name it as the model.">
        {(id, help) => <input id={id} aria-describedby={help} required maxLength={64} pattern="[A-Za-z][A-Za-z0-9_\-]*" value={name} onInput={(event) => setName(event.currentTarget.value)} />}
      </Field>
      <Tree names={names} scope={tables} change={setTables} />
      <Field label={<>Instructions<span class="muted"> optional</span></>} help="What the model is told besides the tables: words of the trade, the currency, how to answer.">
        {(id, help) => <textarea id={id} aria-describedby={help} rows={4} value={prompt} onInput={(event) => setPrompt(event.currentTarget.value)} />}
      </Field>
      <div class="two">
        <Field label="Provider">
          {(id) => (
            <select id={id} value={provider} onChange={(event) => choose(event.currentTarget.value)}>
              {providers.map((one) => <option key={one.name} value={one.name}>{visible(one.name)}</option>)}
            </select>
          )}
        </Field>
        <Field label={<>Model<span class="muted"> optional</span></>}>
          {(id) => <input id={id} value={model} placeholder="the provider’s usual one" onInput={(event) => setModel(event.currentTarget.value)} />}
        </Field>
      </div>
      <label class="check">
        <input type="checkbox" checked={direct} onChange={(event) => setDirect(event.currentTarget.checked)} />
        <span>Callers may send SQL themselves <span class="muted">It is checked as a model’s SQL is: one statement that only reads these tables.</span></span>
      </label>
      {error && <Failure error={error} />}
      <div class="actions">
        <button class="primary" type="submit" disabled={busy || tables.size === 0}>{busy ? "Saving …" : mind ? "Save" : "Make it"}</button>
        {tables.size === 0 && <span class="muted">Choose at least one table.</span>}
        {mind && may("delete_mind") && <Delete name={mind.name} />}
        {mind && <span class="muted">Changed <Time at={mind.modified_at} /></span>}
      </div>
    </form>
  );
}

/** Whether a value has an integer that JavaScript may not have read as it was sent. */
function holdsRounded(value: unknown): boolean {
  if (typeof value === "number") return Number.isInteger(value) && !Number.isSafeInteger(value);
  return typeof value === "object" && value !== null && Object.values(value).some(holdsRounded);
}

function Delete({ name }: { name: string }) {
  const [asked, setAsked] = useState(false);
  const { busy, error, run } = useAction();
  const remove = () =>
    void run(async () => {
      await take(api.DELETE("/api/v1/minds/{name}", { params: { path: { name } } }));
      go(href("minds"));
    });
  return (
    <>
      <button type="button" class="danger" onClick={() => setAsked(true)}>Delete …</button>
      {asked && (
        <Confirm title={`Delete ${name}?`} action="Delete" busy={busy} close={() => setAsked(false)} confirm={remove}>
          <p>Nobody can ask it any more. Databases and conversations stay.</p>
          {error && <Failure error={error} />}
        </Confirm>
      )}
    </>
  );
}
