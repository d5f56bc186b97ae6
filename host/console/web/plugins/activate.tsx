// Activates a version: at once, or for a share of the calls first. What it may do beyond the old one is accepted by name.
import { useId, useState } from "preact/hooks";
import { api, take, type Schemas } from "../lib/api";
import { percent as shareOf } from "../lib/format";
import { useAction } from "../lib/load";
import { Dialog } from "../ui/dialog";
import { Failure } from "../ui/failure";
import { Field } from "../ui/field";
import { Untrusted } from "../ui/text";
import { Rights } from "./rights";

export function Activate({ name, version, close, changed }: { name: string; version: Schemas["PluginVersion"]; close: () => void; changed: () => void }) {
  const [percent, setPercent] = useState(10);
  const [seconds, setSeconds] = useState(60);
  const [accepted, setAccepted] = useState(false);
  const shown = useId();
  const { busy, error, run } = useAction();
  const wider = version.wider_rights;
  const activate = (event: Event) => {
    event.preventDefault();
    void run(async () => {
      const canary = percent > 0 ? { percent, seconds } : null;
      const body = { version: version.digest!, canary, ...(accepted && { accept_rights: wider.map((one) => one.name) }) };
      await take(api.POST("/api/v1/plugins/{name}/activate", { params: { path: { name } }, body }));
      changed();
      close();
    });
  };
  return (
    <Dialog title={`Activate ${name} ${version.version}`} close={close}>
      <form class="stack" onSubmit={activate}>
        <Rights title="It may do more than the version that serves:" rights={wider} />
        {wider.length > 0 && (
          <label class="check">
            <input type="checkbox" required checked={accepted} onChange={(event) => setAccepted(event.currentTarget.checked)} />
            <span>I accept these rights of <Untrusted text={name} /></span>
          </label>
        )}
        <Field label="Share of the calls at first" help={percent === 0 ? "It serves all calls at once." : "The old version goes on with the others. Both are compared."}>
          {(id, help) => (
            <div class="row">
              <input id={id} aria-describedby={help} type="range" class="grow" min={0} max={100} step={5} value={percent} onInput={(event) => setPercent(event.currentTarget.valueAsNumber)} />
              <output id={shown} for={id} class="share">{shareOf(percent / 100)}</output>
            </div>
          )}
        </Field>
        {percent > 0 && (
          <Field label="For how many seconds">
            {(id) => <input id={id} type="number" required min={1} max={86400} value={seconds} onInput={(event) => setSeconds(event.currentTarget.valueAsNumber)} />}
          </Field>
        )}
        {error && <Failure error={error} />}
        <div class="actions end">
          <button type="button" onClick={close}>Cancel</button>
          <button type="submit" class="primary" disabled={busy}>Activate</button>
        </div>
      </form>
    </Dialog>
  );
}
