import type { ComponentChildren } from "preact";
import { useEffect, useRef } from "preact/hooks";
import { visible } from "../lib/format";

/** A modal dialog; Escape and its button close it. The focus goes back to where it was, however the dialog ends. */
export function Dialog({ title, close, children }: { title: string; close: () => void; children: ComponentChildren }) {
  const ref = useRef<HTMLDialogElement>(null);
  const isOver = useRef(false);
  useEffect(() => {
    const dialog = ref.current!;
    dialog.showModal();
    return () => {
      isOver.current = true;
      // Only a dialog that is closed gives the focus back, and lets what is outside of it have it.
      dialog.close();
      if (document.activeElement === document.body) document.getElementById("main")?.focus({ preventScroll: true });
    };
  }, []);
  return (
    <dialog ref={ref} aria-label={visible(title)} onClose={() => isOver.current || close()}>
      <div class="dialog-head">
        <h2>{visible(title)}</h2>
        <button type="button" class="quiet" aria-label="Close" onClick={() => ref.current?.close()}>✕</button>
      </div>
      {children}
    </dialog>
  );
}

/** Asks before what cannot be undone. */
export function Confirm(props: { title: string; action: string; busy?: boolean; close: () => void; confirm: () => void; children: ComponentChildren }) {
  return (
    <Dialog title={props.title} close={props.close}>
      {props.children}
      <div class="actions end">
        <button type="button" onClick={props.close}>Cancel</button>
        <button type="button" class="danger" disabled={props.busy} onClick={props.confirm}>{props.action}</button>
      </div>
    </Dialog>
  );
}
