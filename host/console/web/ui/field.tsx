import type { ComponentChildren } from "preact";
import { useId } from "preact/hooks";

/** A label, its control and what helps to fill it. `children` gets the id that the label names. */
export function Field(props: { label: ComponentChildren; help?: ComponentChildren; children: (id: string, help: string | undefined) => ComponentChildren }) {
  const id = useId();
  const help = props.help ? `${id}-help` : undefined;
  return (
    <div class="field">
      <label for={id}>{props.label}</label>
      {props.children(id, help)}
      {help && <p id={help} class="muted">{props.help}</p>}
    </div>
  );
}
