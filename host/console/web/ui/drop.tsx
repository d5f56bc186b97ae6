import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";

/** Takes a file that is dropped on it, or chosen. */
export function Drop({ accept, take, children }: { accept: string; take: (file: File) => void; children: ComponentChildren }) {
  const [over, setOver] = useState(false);
  const first = (files: FileList | null | undefined) => {
    const file = files?.[0];
    if (file) take(file);
  };
  return (
    <label
      class={over ? "drop over" : "drop"}
      onDragOver={(event) => { event.preventDefault(); setOver(true); }}
      onDragLeave={() => setOver(false)}
      onDrop={(event) => { event.preventDefault(); setOver(false); first(event.dataTransfer?.files); }}
    >
      <span>{children}</span>
      <input type="file" accept={accept} class="file" onChange={(event) => first(event.currentTarget.files)} />
    </label>
  );
}
