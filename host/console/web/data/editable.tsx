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

/** Not a character: not every system has a font with it. */
function Pencil() {
  return (
    <svg class="pencil" viewBox="0 0 16 16" aria-hidden="true">
      <path d="m2.5 13.5.8-3.2 7.6-7.6a1.2 1.2 0 0 1 1.7 0l.7.7a1.2 1.2 0 0 1 0 1.7l-7.6 7.6zM9.7 4l2.3 2.3" />
    </svg>
  );
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
      <button ref={opener} type="button" class="editable" onClick={() => setDraft(text ?? "")}><span class="hidden">{visible(label)}: </span>{shown} <Pencil /></button>
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
