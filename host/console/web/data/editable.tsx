import { useLayoutEffect, useRef, useState } from "preact/hooks";
import { visible } from "../lib/format";
import { useAction } from "../lib/load";
import { useOpener } from "../lib/opener";
import { Failure } from "../ui/failure";
import { Untrusted } from "../ui/text";

interface Props {
  label: string;
  text: string | null;
  may: boolean;
  save: (text: string | null) => Promise<void>;
}

/** A description that is changed where it stands. Empty text clears it. */
export function Editable({ label, text, may, save }: Props) {
  const [draft, setDraft] = useState<string | null>(null);
  const { busy, error, run } = useAction();
  const field = useRef<HTMLTextAreaElement>(null);
  const isOpen = draft !== null;
  const opener = useOpener(isOpen);
  // At once, so that no key is lost that is pressed next.
  useLayoutEffect(() => field.current?.focus(), [isOpen]);
  const shown = text ? <Untrusted text={text} max={4000} /> : <span class="muted">{may ? "Add a description" : "No description"}</span>;
  if (!may) return <p>{shown}</p>;
  if (!isOpen) {
    return (
      <button ref={opener} type="button" class="editable" onClick={() => setDraft(text ?? "")}><span class="hidden">{visible(label)}: </span>{shown}</button>
    );
  }
  const submit = (event: Event) => {
    event.preventDefault();
    void run(async () => {
      await save(draft.trim() === "" ? null : draft);
      setDraft(null);
    });
  };
  return (
    <form class="stack tight" onSubmit={submit} onKeyDown={(event) => event.key === "Escape" && setDraft(null)}>
      <textarea
        aria-label={visible(label)} rows={2} value={draft} ref={field}
        onInput={(event) => setDraft(event.currentTarget.value)}
      />
      {error && <Failure error={error} />}
      <div class="row">
        <button type="submit" class="small primary" disabled={busy}>Save</button>
        <button type="button" class="small" onClick={() => setDraft(null)}>Cancel</button>
      </div>
    </form>
  );
}
