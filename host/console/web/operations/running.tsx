import { api, may, take, type Schemas } from "../lib/api";
import { useAction, useLoad } from "../lib/load";
import { Failure } from "../ui/failure";
import { Badge, Empty, Load } from "../ui/page";
import { Time } from "../ui/time";
import { Untrusted } from "../ui/text";

type One = Schemas["Running"];
const EVERY = 2000;
const KINDS: Record<One["kind"], string> = { answer: "answer", sql_query: "SQL", page: "page of a result", export: "export" };

/** What the server works on now, with a button that stops it. */
export function Running() {
  const loaded = useLoad(
    async (signal) => {
      const { data } = await take(api.GET("/api/v1/running", { signal }));
      // Others than admins see their own alone.
      const keys = may("list_keys") && data.length > 0 ? await take(api.GET("/api/v1/keys", { signal })) : [];
      return { data, names: new Map(keys.map((key) => [key.id, key.name])) };
    },
    [],
    () => EVERY,
  );
  const { busy, error, run } = useAction();
  const stop = (one: One) =>
    void run(async () => {
      await take(api.POST("/api/v1/running/{id}/cancel", { params: { path: { id: one.id } } }));
      loaded.reload();
    });
  return (
    <>
      {error && <Failure error={error} />}
      <Load of={loaded}>
        {({ data, names }) => data.length === 0 ? <Empty title="Nothing runs"><p class="muted">Answers, pages and exports are listed here while they are made.</p></Empty> : (
          <div class="card flush scroll" tabIndex={0} role="region" aria-label="What runs">
            <table>
              <thead><tr><th scope="col">Since</th><th scope="col">What</th><th scope="col">Mind</th><th scope="col">Key</th><th scope="col">Text</th><th scope="col"><span class="hidden">What can be done</span></th></tr></thead>
              <tbody>
                {data.map((one) => (
                  <tr key={one.id}>
                    <td><Time at={one.started_at} exact /></td>
                    <td>{KINDS[one.kind]} {one.background && <Badge>background</Badge>} {!one.on_this_host && <Badge>another host</Badge>}</td>
                    <td><Untrusted text={one.mind} /></td>
                    <td><Untrusted text={names.get(one.key_id) ?? one.key_id} /></td>
                    <td class="statement">{one.text === null ? <span class="muted">not known here</span> : <Untrusted text={one.text} />}</td>
                    <td class="right">{may("stop_running") && <button type="button" class="small danger" disabled={busy} onClick={() => stop(one)}>Stop</button>}</td>
                  </tr>
                ))}
              </tbody>
            </table>
          </div>
        )}
      </Load>
    </>
  );
}
