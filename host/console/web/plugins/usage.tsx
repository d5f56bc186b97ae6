// What a plugin has used since the server began, by version and target, and how its versions are.
import type { ComponentChildren } from "preact";
import { api, may, take, type Schemas } from "../lib/api";
import { brief, bytes, milliseconds, number } from "../lib/format";
import { useAction, useLoad } from "../lib/load";
import { Failure } from "../ui/failure";
import { Badge, Load } from "../ui/page";
import { Time } from "../ui/time";
import { Untrusted } from "../ui/text";

type VersionUsage = Schemas["PluginVersionUsage"];

export function Usage({ name }: { name: string }) {
  const loaded = useLoad((signal) => take(api.GET("/api/v1/plugins/{name}/usage", { params: { path: { name } }, signal })), [name]);
  return (
    <>
      <h2>Since the server began</h2>
      <Load of={loaded}>
        {(usage) =>
          usage.since_start.length === 0 ? (
            <p class="muted">It was not called yet.</p>
          ) : (
            <>{usage.since_start.map((one) => <VersionView key={one.digest} plugin={name} usage={one} released={loaded.reload} />)}</>
          )
        }
      </Load>
    </>
  );
}

function VersionView({ plugin, usage, released }: { plugin: string; usage: VersionUsage; released: () => void }) {
  return (
    <div class="card flush">
      <div class="row padded">
        <h3>Version <Untrusted text={usage.version} /></h3>
        <Health plugin={plugin} usage={usage} released={released} />
      </div>
      <div class="scroll" tabIndex={0} role="region" aria-label={`Usage of ${usage.version} by target`}>
        <table>
          <thead>
            <tr>
              <th scope="col">Target</th><th scope="col" class="right">Calls</th><th scope="col" class="right">Mean time</th><th scope="col" class="right">Faults</th>
              <th scope="col" class="right">Rows</th><th scope="col" class="right">Results</th><th scope="col" class="right">Tokens</th><th scope="col" class="right">Peak memory</th>
            </tr>
          </thead>
          <tbody>
            {usage.targets.map((one) => <Line key={one.id} title={<><Untrusted text={one.name} /> <span class="muted"><Untrusted text={one.workspace} /></span></>} figures={one.figures} />)}
            <Line title={<strong>All</strong>} figures={usage.figures} />
          </tbody>
        </table>
      </div>
    </div>
  );
}

function Line({ title, figures }: { title: ComponentChildren; figures: Schemas["PluginFigures"] }) {
  const mean = figures.calls === 0 ? 0 : figures.call_ns / figures.calls / 1e6;
  return (
    <tr>
      <td>{title}</td>
      <td class="right">{number(figures.calls)}</td>
      <td class="right">{milliseconds(mean)}</td>
      <td class="right">{number(figures.plugin_errors + figures.traps)}</td>
      <td class="right">{brief(figures.rows)}</td>
      <td class="right">{bytes(figures.result_bytes)}</td>
      <td class="right">{brief(figures.input_tokens + figures.output_tokens)}</td>
      <td class="right">{bytes(figures.peak_memory_bytes)}</td>
    </tr>
  );
}

function Health({ plugin, usage, released }: { plugin: string; usage: VersionUsage; released: () => void }) {
  const { busy, error, run } = useAction();
  const { health } = usage;
  const isOk = health.status === "ok" && health.workspaces.length === 0 && health.targets.length === 0;
  if (isOk) return <Badge tone="good">healthy</Badge>;
  const release = () =>
    void run(async () => {
      const params = { path: { name: plugin }, query: { digest: usage.digest } };
      await take(api.POST("/api/v1/plugins/{name}/release", { params }));
      released();
    });
  const troubled = [...health.workspaces.map((one) => one.workspace), ...health.targets.map((one) => one.name)];
  return (
    <>
      <Badge tone="bad">{health.status === "quarantined" ? "quarantined" : "backing off"}</Badge>
      {health.until && <span class="muted">until <Time at={health.until} /></span>}
      <span class="muted grow"><Untrusted text={health.reason ?? troubled.join(", ")} max={400} /></span>
      {may("release_plugin") && <button type="button" class="small" disabled={busy} onClick={release}>Release</button>}
      {error && <Failure error={error} />}
    </>
  );
}
