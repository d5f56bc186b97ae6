// What a plugin used: by day, and since the server began by version and target.
import type { ComponentChildren } from "preact";
import type { Schemas } from "../lib/api";
import { brief, bytes, milliseconds, number } from "../lib/format";
import { useLoad } from "../lib/load";
import { LINES, meanMs, sum, tokensOf, usageOf } from "../lib/plugin_usage";
import { Load } from "../ui/page";
import { Untrusted } from "../ui/text";
import { Days } from "./days";

type VersionUsage = Schemas["PluginVersionUsage"];

export function Usage({ name }: { name: string }) {
  // In an object, for null is what is not loaded yet.
  const loaded = useLoad(async (signal) => ({ usage: await usageOf(name, { limit: LINES }, signal) }), [name]);
  return (
    <Load of={loaded}>
      {({ usage }) =>
        usage === null ? (
          <><h2>Usage</h2><p class="muted">It was not used in the last 30 days.</p></>
        ) : (
          <>
            <Days usage={usage} />
            <h2>Since the server began</h2>
            {usage.since_start.length === 0 && <p class="muted">It was not called yet.</p>}
            {usage.since_start.map((one) => <VersionView key={one.digest} usage={one} />)}
          </>
        )
      }
    </Load>
  );
}

function VersionView({ usage }: { usage: VersionUsage }) {
  return (
    <div class="card flush">
      <h3 class="padded">Version <Untrusted text={usage.version} /></h3>
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
  const total = sum([figures]);
  return (
    <tr>
      <td>{title}</td>
      <td class="right">{number(total.calls)}</td>
      <td class="right">{milliseconds(meanMs(total))}</td>
      <td class="right">{number(total.faults)}</td>
      <td class="right">{brief(total.rows)}</td>
      <td class="right">{bytes(total.bytes)}</td>
      <td class="right">{brief(tokensOf(total))}</td>
      <td class="right">{bytes(figures.peak_memory_bytes)}</td>
    </tr>
  );
}
