import { api, may, take, type Schemas } from "../lib/api";
import { number } from "../lib/format";
import { useLoad } from "../lib/load";
import { Link, href } from "../lib/router";
import { Badge, Head, Load } from "../ui/page";
import { Untrusted } from "../ui/text";
import { Install } from "./install";

/** Milliseconds until the stages of rollouts are asked for again. */
const EVERY = 2000;

export function Plugins() {
  const isRolling = (all: Schemas["Plugin"][]) => all.some((plugin) => plugin.rollouts.some((one) => !ENDED.has(one.stage)));
  const loaded = useLoad((signal) => take(api.GET("/api/v1/plugins", { signal })), [], (all) => (isRolling(all) ? EVERY : null));
  return (
    <div class="page">
      <Head title="Plugins" about="Database engines and model vendors, each in a sandbox of its own. Versions change while calls go on." />
      <Load of={loaded}>
        {(all) => (
          <div class="cards">
            {all.map((one) => <Card key={one.name} plugin={one} />)}
          </div>
        )}
      </Load>
      {may("install_plugin") && <Install installed={loaded.reload} />}
    </div>
  );
}

export const ENDED = new Set<Schemas["Stage"]>(["completed", "rolled_back", "failed"]);

function Card({ plugin }: { plugin: Schemas["Plugin"] }) {
  const serving = plugin.versions.find((one) => one.digest === plugin.active);
  const rollout = plugin.rollouts.find((one) => !ENDED.has(one.stage));
  return (
    <Link class="card" to={href("plugins", plugin.name)}>
      <h2><Untrusted text={serving?.title ?? plugin.name} /></h2>
      <p class="muted"><Untrusted text={plugin.name} /> · {plugin.kind}</p>
      <p>
        {serving ? <Badge tone="good">serves <Untrusted text={serving.version ?? ""} /></Badge> : <Badge tone="warn">does not serve</Badge>}{" "}
        {rollout && <Badge tone="busy">{rollout.stage}: <Untrusted text={rollout.version} /></Badge>}{" "}
        {plugin.versions.length > 1 && <Badge>{number(plugin.versions.length)} versions</Badge>}
      </p>
    </Link>
  );
}
