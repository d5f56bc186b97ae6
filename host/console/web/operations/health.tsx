import { api, may, take } from "../lib/api";
import { number } from "../lib/format";
import { useLoad } from "../lib/load";
import { usageOf } from "../lib/plugin_usage";
import { Link, href } from "../lib/router";
import { HealthBadge } from "../plugins/health";
import { Badge, Load } from "../ui/page";
import { Untrusted } from "../ui/text";

const EVERY = 5000;

/** Whether the server can work, and which versions of plugins are in trouble. */
export function Health() {
  const loaded = useLoad((signal) => take(api.GET("/readyz", { signal })), [], () => EVERY);
  return (
    <>
      <Load of={loaded}>
        {(ready) => (
          <dl class="facts">
            <dt>Server</dt><dd><Badge tone="good">{ready.status}</Badge></dd>
            <dt>Compiling</dt><dd>{ready.compiling.length === 0 ? "nothing" : <Untrusted text={ready.compiling.join(", ")} />}</dd>
            {ready.missing.length > 0 && (
              <>
                <dt>Missing</dt>
                <dd>
                  The active version is not on this server, or cannot be used:{" "}
                  <Untrusted text={ready.missing.map((one) => `${one.serves} (${one.digest.slice(0, 12)})`).join(", ")} />
                </dd>
              </>
            )}
          </dl>
        )}
      </Load>
      {may("get_plugin_usage") && <Plugins />}
    </>
  );
}

function Plugins() {
  const loaded = useLoad(async (signal) => {
    const all = await take(api.GET("/api/v1/plugins", { signal }));
    const usages = await Promise.all(all.map((one) => usageOf(one.name, { limit: 1 }, signal)));
    return usages.filter((one) => one !== null);
  }, [], () => EVERY);
  return (
    <Load of={loaded}>
      {(all) => (
        <div class="card flush scroll" tabIndex={0} role="region" aria-label="Health of plugins">
          <table>
            <thead><tr><th scope="col">Plugin</th><th scope="col">Version</th><th scope="col">Health</th><th scope="col" class="right">Instances</th></tr></thead>
            <tbody>
              {all.flatMap((usage) => usage.since_start.map((one) => (
                <tr key={usage.plugin + one.digest}>
                  <td><Link to={href("plugins", usage.plugin)}><Untrusted text={usage.plugin} /></Link></td>
                  <td><Untrusted text={one.version} /></td>
                  <td><HealthBadge health={one.health} /> {one.health.reason && <span class="muted"><Untrusted text={one.health.reason} /></span>}</td>
                  <td class="right">{number(one.instances)}</td>
                </tr>
              )))}
            </tbody>
          </table>
        </div>
      )}
    </Load>
  );
}
