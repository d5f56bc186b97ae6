// Installs a plugin file: first shows what it is and may do, then keeps it. It serves nothing until it is activated.
import { useEffect, useRef, useState } from "preact/hooks";
import { isAbort, send, toError, type ApiError, type Schemas } from "../lib/api";
import { bytes } from "../lib/format";
import { Link, href } from "../lib/router";
import { Drop } from "../ui/drop";
import { Failure } from "../ui/failure";
import { Untrusted } from "../ui/text";
import { Rights } from "./rights";

type Inspected = Schemas["InspectedPlugin"];

async function upload(file: File, dryRun: boolean, signal: AbortSignal): Promise<unknown> {
  const headers = { "Content-Type": "application/wasm" };
  const answer = await send(`/api/v1/plugins${dryRun ? "?dry_run=true" : ""}`, { method: "POST", headers, body: file, signal });
  return answer.json();
}

/** What is dropped, and how far it is. The file and what the server said of it are one: only what was shown is kept. */
type State =
  | { is: "empty" }
  | { is: "looking"; file: File }
  | { is: "shown" | "keeping"; file: File; inspected: Inspected }
  | { is: "kept"; name: string };

export function Install({ installed }: { installed: () => void }) {
  const [state, setState] = useState<State>({ is: "empty" });
  const [error, setError] = useState<ApiError | null>(null);
  const current = useRef<AbortController | null>(null);
  useEffect(() => () => current.current?.abort(), []);

  /** Goes from one state to the next. A file that is dropped in the meantime ends what runs, and its answer is dropped. */
  const go = async (from: State, act: (signal: AbortSignal) => Promise<State>, failed: State) => {
    current.current?.abort();
    const abort = new AbortController();
    current.current = abort;
    setState(from);
    setError(null);
    try {
      const next = await act(abort.signal);
      if (!abort.signal.aborted) setState(next);
    } catch (thrown) {
      if (abort.signal.aborted || isAbort(thrown)) return;
      setError(toError(thrown));
      setState(failed);
    }
  };
  const look = (file: File) =>
    void go({ is: "looking", file }, async (signal) => ({ is: "shown", file, inspected: (await upload(file, true, signal)) as Inspected }), { is: "empty" });
  const keep = (file: File, inspected: Inspected) => {
    const act = async (signal: AbortSignal): Promise<State> => {
      await upload(file, false, signal);
      installed();
      return { is: "kept", name: inspected.name };
    };
    void go({ is: "keeping", file, inspected }, act, { is: "shown", file, inspected });
  };
  return (
    <section class="stack" aria-label="Install a plugin">
      <h2>Install a plugin</h2>
      <Drop accept=".wasm,application/wasm" take={look}>Drop a plugin file here, or choose one. It is only looked at first.</Drop>
      {state.is === "looking" && <p class="muted" role="status">The server looks at <Untrusted text={state.file.name} /> …</p>}
      {state.is === "kept" && <p class="notice" role="status">Installed. <Link to={href("plugins", state.name)}>Activate it</Link> when you want it to serve.</p>}
      {(state.is === "shown" || state.is === "keeping") && (
        <About file={state.file} inspected={state.inspected} busy={state.is === "keeping"} keep={() => keep(state.file, state.inspected)} />
      )}
      {error && <Failure error={error} />}
    </section>
  );
}

/** What the server said of a file, and the button that keeps it. */
function About({ file, inspected, busy, keep }: { file: File; inspected: Inspected; busy: boolean; keep: () => void }) {
  return (
    <div class="card stack">
      <h3><Untrusted text={inspected.title} /> <Untrusted text={inspected.version} /></h3>
      <dl class="facts">
        <dt>File</dt><dd><Untrusted text={file.name} /></dd>
        <dt>Name</dt><dd><Untrusted text={inspected.name} /> · {inspected.kind}</dd>
        <dt>Signed by</dt><dd>{inspected.signer ? <Untrusted text={inspected.signer} /> : "no key that this server trusts"}</dd>
        <dt>Size</dt><dd>{bytes(inspected.size)}</dd>
        <dt>SHA-256</dt><dd><code>{inspected.digest}</code></dd>
      </dl>
      <Rights title="It may do more than the version that serves" rights={inspected.wider_rights} />
      <div class="actions"><button type="button" class="primary" disabled={busy} onClick={keep}>{busy ? "Installing …" : "Install"}</button></div>
    </div>
  );
}
