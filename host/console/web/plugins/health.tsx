// Whether a version is called, and the button that lets it be called again.
import { api, may, take, type Schemas } from "../lib/api";
import { useAction } from "../lib/load";
import { Failure } from "../ui/failure";
import { Badge } from "../ui/page";
import { Time } from "../ui/time";
import { Untrusted } from "../ui/text";

type Health = Schemas["PluginHealth"];
type Status = Schemas["PluginHealthStatus"];

const WORDS: Record<Status, string> = { ok: "healthy", backing_off: "backing off", quarantined: "quarantined" };

/** The worst of what is said: the version may be well, and not called for a workspace or a datasource. */
export function statusOf(health: Health): Status {
  if (health.status === "quarantined" || health.workspaces.some((one) => one.status === "quarantined")) return "quarantined";
  const isWell = health.status === "ok" && health.workspaces.length === 0 && health.targets.length === 0;
  return isWell ? "ok" : "backing_off";
}

export function HealthBadge({ health }: { health: Health }) {
  const status = statusOf(health);
  return <Badge tone={status === "ok" ? "good" : "bad"}>{WORDS[status]}</Badge>;
}

/** Why a version is not called, for whom, and until when. Nothing if it is healthy. */
export function Trouble({ plugin, digest, health, released }: { plugin: string; digest: string; health: Health; released: () => void }) {
  const { busy, error, run } = useAction();
  if (statusOf(health) === "ok") return null;
  const release = () =>
    void run(async () => {
      const params = { path: { name: plugin }, query: { digest } };
      await take(api.POST("/api/v1/plugins/{name}/release", { params }));
      released();
    });
  return (
    <div class="trouble stack tight" role="group" aria-label="Why it is not called">
      <ul class="rights">
        {health.status !== "ok" && <One who="all that use it" status={health.status} until={health.until} since={health.since} reason={health.reason} />}
        {health.workspaces.map((one) => <One key={one.workspace} who={`workspace ${one.workspace}`} {...one} />)}
        {health.targets.map((one) => <One key={one.id} who={`${one.name} in ${one.workspace}`} status="backing_off" since={null} {...one} />)}
      </ul>
      {may("release_plugin") && <div><button type="button" class="small" disabled={busy} onClick={release}>Release</button></div>}
      {error && <Failure error={error} />}
    </div>
  );
}

function One({ who, status, until, since, reason }: { who: string; status: Status; until: string | null; since: string | null; reason: string | null }) {
  return (
    <li>
      <strong><Untrusted text={who} /></strong>: {WORDS[status]}
      {until !== null && <> until <Time at={until} /></>}
      {since !== null && <> since <Time at={since} /></>}
      {reason !== null && <span class="muted"> · <Untrusted text={reason} max={400} /></span>}
    </li>
  );
}
