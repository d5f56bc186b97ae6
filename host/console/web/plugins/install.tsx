// Installs a plugin file: first shows what it is and may do, then keeps it. It serves nothing until it is activated.
import { useState } from "preact/hooks";
import { send, type Schemas } from "../lib/api";
import { bytes } from "../lib/format";
import { useAction } from "../lib/load";
import { Link, href } from "../lib/router";
import { Drop } from "../ui/drop";
import { Failure } from "../ui/failure";
import { Untrusted } from "../ui/text";
import { Rights } from "./rights";

type Inspected = Schemas["InspectedPlugin"];

async function upload(file: File, dryRun: boolean): Promise<unknown> {
  const headers = { "Content-Type": "application/wasm" };
  const answer = await send(`/api/v1/plugins${dryRun ? "?dry_run=true" : ""}`, { method: "POST", headers, body: file });
  return answer.json();
}

export function Install({ installed }: { installed: () => void }) {
  const [file, setFile] = useState<File | null>(null);
  const [shown, setShown] = useState<Inspected | null>(null);
  const [done, setDone] = useState<string | null>(null);
  const { busy, error, run } = useAction();
  const look = (file: File) => {
    setFile(file);
    setShown(null);
    setDone(null);
    void run(async () => setShown((await upload(file, true)) as Inspected));
  };
  const keep = () =>
    void run(async () => {
      await upload(file!, false);
      setDone(shown!.name);
      setShown(null);
      installed();
    });
  return (
    <section class="stack" aria-label="Install a plugin">
      <Drop accept=".wasm,application/wasm" take={look}>Drop a plugin file here, or choose one. It is only looked at first.</Drop>
      {busy && <p class="muted" role="status">The server looks at it …</p>}
      {error && <Failure error={error} />}
      {done && <p class="notice" role="status">Installed. <Link to={href("plugins", done)}>Activate it</Link> when you want it to serve.</p>}
      {shown && (
        <div class="card stack">
          <h2><Untrusted text={shown.title} /> <Untrusted text={shown.version} /></h2>
          <dl class="facts">
            <dt>Name</dt><dd><Untrusted text={shown.name} /> · {shown.kind}</dd>
            <dt>Signed by</dt><dd>{shown.signer ? <Untrusted text={shown.signer} /> : "nobody that this server trusts"}</dd>
            <dt>Size</dt><dd>{bytes(shown.size)}</dd>
            <dt>SHA-256</dt><dd><code>{shown.digest}</code></dd>
          </dl>
          <Rights title="It may do more than the version that serves" rights={shown.wider_rights} />
          <div class="actions"><button type="button" class="primary" disabled={busy} onClick={keep}>Install</button></div>
        </div>
      )}
    </section>
  );
}
