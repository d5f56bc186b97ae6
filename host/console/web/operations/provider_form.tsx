// Adds a model provider, or changes one. The server asks the vendor first, and stores nothing that fails.
import { useState } from "preact/hooks";
import { ApiError, api, take, type Schemas } from "../lib/api";
import { useAction, useLoad } from "../lib/load";
import { Link, go, href } from "../lib/router";
import { Failure } from "../ui/failure";
import { Field } from "../ui/field";
import { Empty, Load } from "../ui/page";
import { changesOf, storedSecrets, type ObjectSchema } from "../ui/schema";
import { SchemaForm, type Values } from "../ui/schema_form";
import { Untrusted } from "../ui/text";

type Provider = Schemas["Provider"];
type Plugin = Schemas["Plugin"];
type Sent = NonNullable<Schemas["NewProvider"]["connection_data"]>;

/** The provider that every workspace has. It keeps its name. */
const BUILTIN = "offline";

const toList = () => go(href("operations", "providers"));

/** The page of a provider. One whose name is that of the form has a longer address. */
export const providerAddress = (name: string): string => href("operations", "providers", name, ...(name === "new" ? ["change"] : []));

const schemaOf = (plugin: Plugin | null): ObjectSchema => (plugin?.connection_data ?? {}) as ObjectSchema;

const servingVersion = (plugin: Plugin) => plugin.versions.find((one) => one.digest === plugin.active);

function Title({ children }: { children: string }) {
  return (
    <div>
      <p class="up"><Link to={href("operations", "providers")}>All providers</Link></p>
      <h2><Untrusted text={children} /></h2>
    </div>
  );
}

export function NewProvider() {
  const loaded = useLoad(async (signal) => {
    const all: Plugin[] = await take(api.GET("/api/v1/plugins", { signal }));
    return all.filter((one) => one.kind === "model" && one.active !== null);
  }, []);
  return (
    <div class="stack form">
      <Title>Add a provider</Title>
      <Load of={loaded}>
        {(plugins) => (plugins.length === 0 ? <Empty title="No model plugin serves"><p>An operator installs and activates one under Plugins.</p></Empty> : <NewForm plugins={plugins} />)}
      </Load>
    </div>
  );
}

function NewForm({ plugins }: { plugins: Plugin[] }) {
  const [plugin, setPlugin] = useState<string | null>(null);
  const [name, setName] = useState("");
  const [description, setDescription] = useState("");
  const [values, setValues] = useState<Values>({});
  const [isDefault, setDefault] = useState(false);
  const { busy, error, run } = useAction();
  const chosen = plugins.find((one) => one.name === plugin);
  const submit = (event: Event) => {
    event.preventDefault();
    void run(async () => {
      await take(api.POST("/api/v1/providers", { body: { name, plugin: plugin!, description, connection_data: values as Sent, default: isDefault } }));
      toList();
    });
  };
  return (
    <form class="stack" onSubmit={submit}>
      <fieldset class="engines">
        <legend>Plugin that talks to the vendor</legend>
        <div class="engine-list">
          {plugins.map((one) => (
            <label key={one.name} class="engine">
              <input type="radio" name="plugin" checked={one.name === plugin} onChange={() => { setPlugin(one.name); setValues({}); }} />
              <span>
                <strong><Untrusted text={servingVersion(one)?.title ?? one.name} /></strong>
                <span class="muted"><Untrusted text={one.name} /> <Untrusted text={servingVersion(one)?.version ?? ""} /></span>
              </span>
            </label>
          ))}
        </div>
      </fieldset>
      {chosen && (
        <>
          <Common name={name} rename={setName} description={description} describe={setDescription} />
          <SchemaForm key={chosen.name} schema={schemaOf(chosen)} values={values} change={setValues} />
          <Default on={isDefault} change={setDefault} />
          {error && <Failure error={error} />}
          <div class="actions"><button class="primary" type="submit" disabled={busy}>{busy ? "Asking the vendor …" : "Test and add"}</button></div>
        </>
      )}
    </form>
  );
}

/** A provider with the plugin that serves it, if it is still installed. Secrets are never shown: an empty field keeps the stored one. */
export function ChangeProvider({ name }: { name: string }) {
  const loaded = useLoad(async (signal) => {
    const provider = await take(api.GET("/api/v1/providers/{name}", { params: { path: { name } }, signal }));
    const plugin = await take(api.GET("/api/v1/plugins/{name}", { params: { path: { name: provider.plugin } }, signal })).catch((error: unknown) => {
      if (error instanceof ApiError && error.status === 404) return null;
      throw error;
    });
    return { provider, plugin };
  }, [name]);
  return (
    <div class="stack form">
      <Title>{`Change ${name}`}</Title>
      <Load of={loaded}>{(data) => <ChangeForm {...data} />}</Load>
    </div>
  );
}

function ChangeForm({ provider, plugin }: { provider: Provider; plugin: Plugin | null }) {
  const known = (provider.connection_data ?? {}) as Values;
  const stored = storedSecrets(schemaOf(plugin), known);
  const [name, setName] = useState(provider.name);
  const [description, setDescription] = useState(provider.description);
  const [values, setValues] = useState<Values>(Object.fromEntries(Object.entries(known).filter(([one]) => !stored.has(one))));
  const [isDefault, setDefault] = useState(provider.default);
  const { busy, error, run } = useAction();
  const submit = (event: Event) => {
    event.preventDefault();
    void run(async () => {
      const connection_data = (changesOf(known, values, stored) ?? undefined) as Sent | undefined;
      const body = { ...(name !== provider.name && { name }), description, connection_data, ...(isDefault && !provider.default && { default: true }) };
      await take(api.PATCH("/api/v1/providers/{name}", { params: { path: { name: provider.name } }, body }));
      toList();
    });
  };
  const isServed = plugin !== null && plugin.active !== null;
  return (
    <form class="stack" onSubmit={submit}>
      <p class="muted">Served by <Untrusted text={provider.plugin} />. {!isServed && "It does not serve at present, so its settings cannot be changed."}</p>
      <Common name={name} rename={provider.name === BUILTIN ? null : setName} description={description} describe={setDescription} />
      {isServed && <SchemaForm schema={schemaOf(plugin)} values={values} change={setValues} stored={stored} />}
      <Default on={isDefault} change={provider.default ? null : setDefault} />
      {error && <Failure error={error} />}
      <div class="actions"><button class="primary" type="submit" disabled={busy}>{busy ? "Asking the vendor …" : "Test and save"}</button></div>
    </form>
  );
}

interface CommonProps {
  name: string;
  /** Null if the name is fixed. */
  rename: ((name: string) => void) | null;
  description: string;
  describe: (text: string) => void;
}

function Common({ name, rename, description, describe }: CommonProps) {
  return (
    <>
      <Field label="Name" help={rename ? "Letters, digits, _ and -. Minds name it." : "Every workspace has this provider under this name."}>
        {(id, help) => (
          <input
            id={id} aria-describedby={help} required maxLength={64} pattern="[A-Za-z][A-Za-z0-9_\-]*" value={name} disabled={!rename}
            onInput={(event) => rename?.(event.currentTarget.value)}
          />
        )}
      </Field>
      <Field label={<>Description<span class="muted"> optional</span></>}>
        {(id) => <input id={id} value={description} onInput={(event) => describe(event.currentTarget.value)} />}
      </Field>
    </>
  );
}

/** Another provider takes the place of the default, so that there always is one. */
function Default({ on, change }: { on: boolean; change: ((on: boolean) => void) | null }) {
  return (
    <label class="check">
      <input type="checkbox" checked={on} disabled={!change} onChange={(event) => change?.(event.currentTarget.checked)} />
      <span>New Minds use it that name no other {!change && <span class="muted">Choose another provider for new Minds to change that.</span>}</span>
    </label>
  );
}
