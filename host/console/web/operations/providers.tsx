import { useState } from "preact/hooks";
import { api, may, take, type Schemas } from "../lib/api";
import { useAction, useLoad } from "../lib/load";
import { Confirm } from "../ui/dialog";
import { Failure } from "../ui/failure";
import { Badge, Load } from "../ui/page";
import { Untrusted } from "../ui/text";

type Provider = Schemas["Provider"];

/** Vendors of language models that Minds can use. */
export function Providers() {
  const loaded = useLoad((signal) => take(api.GET("/api/v1/providers", { signal })), []);
  const [doomed, setDoomed] = useState<Provider | null>(null);
  const { busy, error, run, clear } = useAction();
  const choose = (name: string) =>
    void run(async () => {
      await take(api.PATCH("/api/v1/providers/{name}", { params: { path: { name } }, body: { default: true } }));
      loaded.reload();
    });
  const remove = (name: string) =>
    void run(async () => {
      await take(api.DELETE("/api/v1/providers/{name}", { params: { path: { name } } }));
      setDoomed(null);
      loaded.reload();
    });
  return (
    <>
      {error && !doomed && <Failure error={error} />}
      <Load of={loaded}>
        {(all) => (
          <ul class="versions">
            {all.map((one) => (
              <li key={one.id} class="card stack tight">
                <div class="row">
                  <h2><Untrusted text={one.name} /></h2>
                  {one.default && <Badge tone="good">new Minds use it</Badge>}
                  <span class="grow" />
                  {!one.default && may("patch_provider") && <button type="button" class="small" disabled={busy} onClick={() => choose(one.name)}>Use for new Minds</button>}
                  {may("delete_provider") && <button type="button" class="small danger" onClick={() => setDoomed(one)}>Delete</button>}
                </div>
                <p class="muted"><Untrusted text={one.plugin} /> · <Untrusted text={one.description || "No description."} /></p>
              </li>
            ))}
          </ul>
        )}
      </Load>
      {doomed && (
        <Confirm title={`Delete ${doomed.name}?`} action="Delete" busy={busy} close={() => { setDoomed(null); clear(); }} confirm={() => remove(doomed.name)}>
          <p>Only a provider that no Mind uses can be deleted.</p>
          {error && <Failure error={error} />}
        </Confirm>
      )}
    </>
  );
}
