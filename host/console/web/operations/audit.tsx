import { useEffect, useState } from "preact/hooks";
import { api, take, type Schemas } from "../lib/api";
import { useAction } from "../lib/load";
import { Failure } from "../ui/failure";
import { Badge } from "../ui/page";
import { Time } from "../ui/time";
import { Untrusted } from "../ui/text";

type Entry = Schemas["AuditEntry"];
const PAGE = 50;

/** Who did what, newest first. */
export function Audit() {
  const [all, setAll] = useState<Entry[]>([]);
  const [more, setMore] = useState(true);
  const { busy, error, run } = useAction();
  const load = (after?: string) =>
    void run(async () => {
      const page = await take(api.GET("/api/v1/audit", { params: { query: { limit: PAGE, ...(after ? { after } : {}) } } }));
      setAll((known) => (after ? [...known, ...page.data] : page.data));
      setMore(page.has_more);
    });
  useEffect(() => load(), []);
  return (
    <>
      {error && <Failure error={error} />}
      <div class="card flush scroll" tabIndex={0} role="region" aria-label="Audit trail">
        <table>
          <thead><tr><th scope="col">When</th><th scope="col">Key</th><th scope="col">What</th><th scope="col">On</th><th scope="col">Answer</th></tr></thead>
          <tbody>
            {all.map((one) => (
              <tr key={one.id} title={one.request_id ? `Request ${one.request_id}` : undefined}>
                <td><Time at={one.created_at} /></td>
                <td><Untrusted text={one.key_name ?? "command line"} /></td>
                <td><code><Untrusted text={one.action} /></code></td>
                <td><Untrusted text={one.made ?? one.mind ?? one.resource} /></td>
                <td>{one.status !== null && <Badge tone={one.status < 400 ? "good" : "bad"}>{one.status}</Badge>}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      {more && all.length > 0 && <div><button type="button" disabled={busy} onClick={() => load(all[all.length - 1]!.id)}>Older entries</button></div>}
    </>
  );
}
