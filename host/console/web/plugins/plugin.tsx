// One plugin: what serves, the rollout under way, its versions, its health and its usage.
import { useState } from "preact/hooks";
import { api, may, take, type Schemas } from "../lib/api";
import { bytes } from "../lib/format";
import { useAction, useLoad } from "../lib/load";
import { Link, href } from "../lib/router";
import { Confirm } from "../ui/dialog";
import { Failure } from "../ui/failure";
import { Badge, Head, Load } from "../ui/page";
import { Untrusted } from "../ui/text";
import { Activate } from "./activate";
import { HealthBadge, Trouble, statusOf } from "./health";
import { ENDED } from "./list";
import { AllRights } from "./rights";
import { RolloutView, Rollouts } from "./rollout";
import { Usage } from "./usage";

type Plugin = Schemas["Plugin"];
type Version = Schemas["PluginVersion"];

/** Milliseconds until it is asked for again during a rollout, and while a version is not called. */
const EVERY = 1000;
const TROUBLED = 5000;

function again(plugin: Plugin): number | null {
  if (plugin.rollouts.some((one) => !ENDED.has(one.stage))) return EVERY;
  return plugin.versions.some(({ health }: Version) => health && statusOf(health) !== "ok") ? TROUBLED : null;
}

export function PluginPage({ name }: { name: string }) {
  const loaded = useLoad(
    (signal) => take(api.GET("/api/v1/plugins/{name}", { params: { path: { name } }, signal })),
    [name],
    again,
  );
  return (
    <div class="page">
      <Head title={<Untrusted text={name} />} up={<Link to={href("plugins")}>Plugins</Link>} />
      <Load of={loaded}>{(plugin) => <PluginView plugin={plugin} changed={loaded.reload} />}</Load>
    </div>
  );
}

function PluginView({ plugin, changed }: { plugin: Plugin; changed: () => void }) {
  const current = plugin.rollouts.find((one) => !ENDED.has(one.stage));
  const ended = plugin.rollouts.filter((one) => ENDED.has(one.stage));
  // As the server looks for it: the rollout that made the active version serve.
  const last = ended.find((one) => one.stage === "completed" && !one.is_rollback && one.to === plugin.active);
  const mayGoBack = may("roll_back_plugin") && (current !== undefined || (last !== undefined && last.from !== null));
  return (
    <>
      {current && <RolloutView rollout={current} />}
      {mayGoBack && <GoBack name={plugin.name} running={current !== undefined} changed={changed} />}
      <h2>Versions</h2>
      <ul class="versions">
        {plugin.versions.map((one) => <VersionView key={one.digest ?? one.file} plugin={plugin} version={one} blocked={current !== undefined} changed={changed} />)}
      </ul>
      {ended.length > 0 && <Rollouts rollouts={ended} />}
      {may("get_plugin_usage") && <Usage name={plugin.name} />}
    </>
  );
}

function GoBack({ name, running, changed }: { name: string; running: boolean; changed: () => void }) {
  const { busy, error, run } = useAction();
  const back = () =>
    void run(async () => {
      await take(api.POST("/api/v1/plugins/{name}/rollback", { params: { path: { name } } }));
      changed();
    });
  return (
    <div class="row">
      <button type="button" class="danger" disabled={busy} onClick={back}>{running ? "Stop and roll back" : "Roll back to the version before"}</button>
      {error && <Failure error={error} />}
    </div>
  );
}

function VersionView({ plugin, version, blocked, changed }: { plugin: Plugin; version: Version; blocked: boolean; changed: () => void }) {
  const [opened, setOpened] = useState(false);
  const [doomed, setDoomed] = useState(false);
  const { busy, error, run, clear } = useAction();
  const close = () => { setDoomed(false); clear(); };
  const isActive = version.status === "active";
  const path = { name: plugin.name, version: version.digest! };
  const remove = () =>
    void run(async () => {
      await take(api.DELETE("/api/v1/plugins/{name}/versions/{version}", { params: { path } }));
      close();
      changed();
    });
  return (
    <li class="card stack tight">
      <div class="row">
        <h3><Untrusted text={version.version ?? version.file ?? "?"} /></h3>
        <Badge tone={isActive ? "good" : version.status === "refused" ? "bad" : "plain"}>{isActive ? "serves" : version.status}</Badge>
        {version.signer ? <Badge tone="good">signed by <Untrusted text={version.signer} /></Badge> : <Badge>not signed</Badge>}
        {version.health && <HealthBadge health={version.health} />}
        <span class="grow" />
        {!isActive && version.status !== "refused" && version.digest && may("activate_plugin") && (
          <button type="button" class="small primary" disabled={blocked} onClick={() => setOpened(true)}>Activate …</button>
        )}
        {!isActive && version.digest && may("remove_plugin_version") && <button type="button" class="small danger" disabled={blocked} onClick={() => setDoomed(true)}>Remove …</button>}
      </div>
      <p class="muted">
        {version.size !== undefined && bytes(version.size)} · <Untrusted text={version.world ?? ""} /> · WIT <Untrusted text={version.wit ?? ""} /> · <code title={version.digest}>{version.digest?.slice(0, 16)}</code>
        {(version.engines?.length ?? 0) > 0 && <> · engines <Untrusted text={version.engines!.join(", ")} /></>}
      </p>
      {version.status !== "active" && <p class="muted"><Untrusted text={version.reason} max={1000} /></p>}
      {version.health && version.digest && <Trouble plugin={plugin.name} digest={version.digest} health={version.health} released={changed} />}
      {version.rights && <AllRights rights={version.rights} wider={version.wider_rights} />}
      {doomed && (
        <Confirm title={`Remove ${plugin.name} ${version.version ?? version.file ?? ""}?`} action="Remove" busy={busy} close={close} confirm={remove}>
          <p>Its file is deleted from this server. To have it again, install the file.</p>
          {error && <Failure error={error} />}
        </Confirm>
      )}
      {opened && <Activate name={plugin.name} version={version} close={() => setOpened(false)} changed={changed} />}
    </li>
  );
}
