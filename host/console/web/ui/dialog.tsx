import type { ComponentChildren } from "preact";
import { useEffect, useRef } from "preact/hooks";

/** A modal dialog; Escape and its button close it. */
export function Dialog({ title, close, children }: { title: string; close: () => void; children: ComponentChildren }) {
  const ref = useRef<HTMLDialogElement>(null);
  useEffect(() => ref.current?.showModal(), []);
  return (
    <dialog ref={ref} aria-label={title} onClose={close}>
      <div class="dialog-head">
        <h2>{title}</h2>
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
