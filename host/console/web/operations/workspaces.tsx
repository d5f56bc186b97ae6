import { useState } from "preact/hooks";
import { api, may, take } from "../lib/api";
import { useAction, useLoad } from "../lib/load";
import { me } from "../lib/session";
import { Confirm } from "../ui/dialog";
import { Failure } from "../ui/failure";
import { Load } from "../ui/page";
import { Time } from "../ui/time";
import { Untrusted } from "../ui/text";
import { Shown } from "./keys";

/** Tenants: each sees nothing of another. */
export function Workspaces() {
  const loaded = useLoad((signal) => take(api.GET("/api/v1/workspaces", { signal })), []);
  const [name, setName] = useState("");
  const [doomed, setDoomed] = useState<string | null>(null);
  const [made, setMade] = useState<string | null>(null);
  const { busy, error, run, clear } = useAction();
  const create = (event: Event) => {
    event.preventDefault();
    void run(async () => {
      await take(api.POST("/api/v1/workspaces", { body: { name } }));
      setName("");
      loaded.reload();
    });
  };
  const remove = (name: string) =>
    void run(async () => {
      await take(api.DELETE("/api/v1/workspaces/{name}", { params: { path: { name } } }));
      setDoomed(null);
      loaded.reload();
    });
  const makeKey = (name: string) =>
    void run(async () => {
      const body = { name: "first key", role: "admin" as const };
      const answer = await take(api.POST("/api/v1/workspaces/{name}/keys", { params: { path: { name } }, body }));
      setMade(answer.key);
    });
  return (
    <>
      {error && !doomed && <Failure error={error} />}
      <Load of={loaded}>
        {(all) => (
          <div class="card flush scroll" tabIndex={0} role="region" aria-label="Workspaces">
            <table>
              <thead><tr><th scope="col">Name</th><th scope="col">Files</th><th scope="col">Made</th><th scope="col"><span class="hidden">What can be done</span></th></tr></thead>
              <tbody>
                {all.map((one) => (
                  <tr key={one.id}>
                    <td><Untrusted text={one.name} /></td>
                    <td><code><Untrusted text={one.files_directory} /></code></td>
                    <td><Time at={one.created_at} /></td>
                    <td class="right">
                      {one.name !== me.value?.workspace && (
                        <span class="row end">
                          {may("create_workspace_key") && <button type="button" class="small" disabled={busy} onClick={() => makeKey(one.name)}>Make an admin key</button>}
                          {may("delete_workspace") && <button type="button" class="small danger" onClick={() => setDoomed(one.name)}>Delete</button>}
                        </span>
                      )}
                      {one.name === me.value?.workspace && <span class="muted">yours</span>}
                    </td>
                  </tr>
                ))}
              </tbody>
            </table>
          </div>
        )}
      </Load>
      {may("create_workspace") && (
        <form class="row" onSubmit={create}>
          <input class="auto" aria-label="Name of the new workspace" placeholder="new-workspace" required value={name} onInput={(event) => setName(event.currentTarget.value)} />
          <button type="submit" disabled={busy}>Make a workspace</button>
        </form>
      )}
      {doomed && (
        <Confirm title={`Delete ${doomed}?`} action="Delete" busy={busy} close={() => { setDoomed(null); clear(); }} confirm={() => remove(doomed)}>
          <p>Its keys, conversations and providers are deleted. This cannot be undone.</p>
          {error && <Failure error={error} />}
        </Confirm>
      )}
      {made && <Shown text={made} close={() => setMade(null)} />}
    </>
  );
}
