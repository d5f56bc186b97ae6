import { useState } from "preact/hooks";
import { api, may, take, type Schemas } from "../lib/api";
import { visible } from "../lib/format";
import { useAction, useLoad } from "../lib/load";
import { Link, href } from "../lib/router";
import { Confirm } from "../ui/dialog";
import { Failure } from "../ui/failure";
import { NotFound } from "../ui/not_found";
import { Badge, Load } from "../ui/page";
import { Untrusted } from "../ui/text";
import { ChangeProvider, NewProvider, providerAddress } from "./provider_form";

type Provider = Schemas["Provider"];

/** `/operations/providers`, `/operations/providers/new`, `/operations/providers/{name}` */
export function Providers({ path }: { path: string[] }) {
  const [name] = path;
  if (name === undefined) return <ProviderList />;
  if (name === "new" && path.length === 1) return <NewProvider />;
  if (!may("patch_provider")) return <NotFound />;
  return <ChangeProvider key={name} name={name} />;
}

/** Vendors of language models that Minds can use. */
function ProviderList() {
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
      <div class="row">
        <p class="muted fill">Vendors of language models that Minds can use.</p>
        {may("create_provider") && <Link class="button primary" to={href("operations", "providers", "new")}>Add a provider</Link>}
      </div>
      {error && !doomed && <Failure error={error} />}
      <Load of={loaded}>
        {(all) => (
          <ul class="versions">
            {all.map((one) => (
              <li key={one.id} class="card stack tight">
                <div class="row">
                  <h2>{may("patch_provider") ? <Link to={providerAddress(one.name)}><Untrusted text={one.name} /></Link> : <Untrusted text={one.name} />}</h2>
                  {one.default && <Badge tone="good">new Minds use it</Badge>}
                  <span class="grow" />
                  {!one.default && may("patch_provider") && <button type="button" class="small" aria-label={`Use for new Minds: ${visible(one.name)}`} disabled={busy} onClick={() => choose(one.name)}>Use for new Minds</button>}
                  {may("delete_provider") && <button type="button" class="small danger" aria-label={`Delete ${visible(one.name)}`} onClick={() => setDoomed(one)}>Delete</button>}
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
