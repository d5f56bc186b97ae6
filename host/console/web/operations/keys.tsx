import { useRef, useState } from "preact/hooks";
import { api, may, take, type Schemas } from "../lib/api";
import { visible } from "../lib/format";
import { useAction, useLoad } from "../lib/load";
import { me } from "../lib/session";
import { Copy } from "../ui/copy";
import { Confirm, Dialog } from "../ui/dialog";
import { Failure } from "../ui/failure";
import { Field } from "../ui/field";
import { Badge, Load } from "../ui/page";
import { Time } from "../ui/time";
import { Untrusted } from "../ui/text";
import { AttributeFields, toAttributes, type Attribute } from "./attributes";
import { KeyPolicies, NoPolicies, isPlaced, toPolicies, type Draft } from "./key_policies";
import { PoliciesOf } from "./policies_of";

type Key = Schemas["Key"];
const ROLES = {
  user: "asks and reads",
  editor: "also changes datasources, Minds and catalogs",
  admin: "also keys, providers and audit",
  operator: "also plugins and workspaces: the whole host",
} as const;
type Role = keyof typeof ROLES;

export function Keys() {
  const loaded = useLoad((signal) => take(api.GET("/api/v1/keys", { signal })), []);
  const [making, setMaking] = useState(false);
  const [made, setMade] = useState<string | null>(null);
  return (
    <>
      {may("create_key") && <div><button type="button" class="primary" onClick={() => setMaking(true)}>Make a key</button></div>}
      <Load of={loaded}>{(all) => <List keys={all} changed={loaded.reload} made={setMade} />}</Load>
      {making && <NewKey close={() => setMaking(false)} made={(text) => { setMaking(false); setMade(text); loaded.reload(); }} />}
      {made && <Shown text={made} close={() => setMade(null)} />}
    </>
  );
}

/** The text of a new key, which is shown this once. */
export function Shown({ text, close }: { text: string; close: () => void }) {
  return (
    <Dialog title="The new key" close={close}>
      <p>It is shown this once. Copy it now.</p>
      <p class="row"><code class="grow">{text}</code><Copy text={text} /></p>
    </Dialog>
  );
}

function List({ keys, changed, made }: { keys: Key[]; changed: () => void; made: (text: string) => void }) {
  const [doomed, setDoomed] = useState<Key | null>(null);
  const [rotated, setRotated] = useState<Key | null>(null);
  const { busy, error, run, clear } = useAction();
  const close = () => { setDoomed(null); setRotated(null); clear(); };
  const revoke = (key: Key) =>
    void run(async () => {
      await take(api.DELETE("/api/v1/keys/{id}", { params: { path: { id: key.id } } }));
      close();
      changed();
    });
  const rotate = (key: Key) =>
    void run(async () => {
      const answer = await take(api.POST("/api/v1/keys/{id}/rotate", { params: { path: { id: key.id } } }));
      close();
      made(answer.key);
      changed();
    });
  return (
    <>
      <div class="card flush scroll" tabIndex={0} role="region" aria-label="Keys">
        <table>
          <thead><tr><th scope="col">Name</th><th scope="col">Role</th><th scope="col">Minds</th><th scope="col">Last used</th><th scope="col">State</th><th scope="col"><span class="hidden">What can be done</span></th></tr></thead>
          <tbody>
            {keys.map((key) => (
              <tr key={key.id}>
                <td>
                  <Untrusted text={key.name} />
                  <div class="muted"><code>{key.prefix}…</code></div>
                  {Object.entries(key.attributes).map(([name, value]) => <div key={name} class="muted"><Untrusted text={`${name} = ${JSON.stringify(value)}`} /></div>)}
                  <PoliciesOf all={key.policies} />
                </td>
                <td>{key.role}</td>
                <td>{key.minds === null ? "all" : <Untrusted text={key.minds.join(", ") || "none"} />}</td>
                <td><Time at={key.last_used_at} /></td>
                <td><State of={key} /></td>
                <td class="right">
                  {key.revoked_at === null && key.id !== me.value?.id && (
                    <span class="row end">
                      {may("rotate_key") && <button type="button" class="small" aria-label={`Rotate ${visible(key.name)}`} onClick={() => setRotated(key)}>Rotate …</button>}
                      {may("revoke_key") && <button type="button" class="small danger" aria-label={`Revoke ${visible(key.name)}`} onClick={() => setDoomed(key)}>Revoke …</button>}
                    </span>
                  )}
                  {key.id === me.value?.id && <span class="muted">yours</span>}
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      {rotated && (
        <Confirm title={`Rotate ${rotated.name}?`} action="Rotate" busy={busy} close={close} confirm={() => rotate(rotated)}>
          <p>It gets a new secret, and the old one stops working at once: programs are refused until they have the new one.</p>
          {error && <Failure error={error} />}
        </Confirm>
      )}
      {doomed && (
        <Confirm title={`Revoke ${doomed.name}?`} action="Revoke" busy={busy} close={close} confirm={() => revoke(doomed)}>
          <p>Its requests are refused at once, and its answers end. This cannot be undone.</p>
          {error && <Failure error={error} />}
        </Confirm>
      )}
    </>
  );
}

function State({ of: key }: { of: Key }) {
  if (key.revoked_at !== null) return <Badge>revoked</Badge>;
  if (key.expires_at === null) return <Badge tone="good">valid</Badge>;
  const isOver = new Date(key.expires_at) <= new Date();
  return <><Badge tone={isOver ? "warn" : "good"}>{isOver ? "expired" : "valid"}</Badge> <span class="muted">{isOver ? "since" : "until"} <Time at={key.expires_at} /></span></>;
}

function NewKey({ close, made }: { close: () => void; made: (text: string) => void }) {
  const [name, setName] = useState("");
  const [role, setRole] = useState<Role>("user");
  const [minds, setMinds] = useState<string[]>([]);
  const [ends, setEnds] = useState("");
  const [attributes, setAttributes] = useState<Attribute[]>([]);
  const [policies, setPolicies] = useState<Draft[]>([]);
  const form = useRef<HTMLFormElement>(null);
  const all = useLoad((signal) => take(api.GET("/api/v1/minds", { signal })), []);
  const { busy, error, run, clear } = useAction();
  const own = Object.keys(ROLES).indexOf(me.value?.role ?? "user");
  const submit = (event: Event) => {
    event.preventDefault();
    void run(async () => {
      const expires_at = ends === "" ? null : new Date(ends).toISOString();
      const body = {
        name, role, minds: minds.length > 0 ? minds : null, expires_at, attributes: toAttributes(attributes),
        policies: role === "user" ? toPolicies(policies) : [],
      };
      const answer = await take(api.POST("/api/v1/keys", { body }));
      made(answer.key);
    });
  };
  const flip = (mind: string, on: boolean) => setMinds((known) => (on ? [...known, mind] : known.filter((one) => one !== mind)));
  return (
    <Dialog title="Make a key" close={close}>
      <form ref={form} class="stack" onSubmit={submit}>
        <Field label="Name" help="What or whom it is for.">
          {(id, help) => <input id={id} aria-describedby={help} required maxLength={100} value={name} onInput={(event) => setName(event.currentTarget.value)} />}
        </Field>
        <Field label="Role" help={ROLES[role]}>
          {(id, help) => (
            <select id={id} aria-describedby={help} value={role} onChange={(event) => { setRole(event.currentTarget.value as Role); clear(); }}>
              {Object.keys(ROLES).slice(0, own + 1).map((one) => <option key={one} value={one}>{one}</option>)}
            </select>
          )}
        </Field>
        {all.error && <Failure error={all.error} retry={all.reload} />}
        {all.data && all.data.length > 0 && (
          <fieldset class="stack tight">
            <legend>Only these Minds <span class="muted">none chosen: all{me.value?.minds && ", which your key cannot give"}</span></legend>
            {all.data.map((one) => (
              <label key={one.name} class="check">
                <input type="checkbox" checked={minds.includes(one.name)} onChange={(event) => flip(one.name, event.currentTarget.checked)} />
                <Untrusted text={one.name} />
              </label>
            ))}
          </fieldset>
        )}
        <AttributeFields all={attributes} change={setAttributes} />
        {role === "user" ? (
          <KeyPolicies all={policies} set={setPolicies} error={error} clear={clear} submit={() => form.current?.requestSubmit()} />
        ) : (
          <NoPolicies count={policies.length} />
        )}
        <Field label={<>Valid until<span class="muted"> optional</span></>}>
          {(id) => <input id={id} type="datetime-local" value={ends} onInput={(event) => setEnds(event.currentTarget.value)} />}
        </Field>
        {error && !(role === "user" && isPlaced(error, policies)) && <Failure error={error} />}
        <div class="actions end">
          <button type="button" onClick={close}>Cancel</button>
          <button type="submit" class="primary" disabled={busy}>Make it</button>
        </div>
      </form>
    </Dialog>
  );
}
