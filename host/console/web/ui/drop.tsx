import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";

interface Props {
  /** Endings and types that the file picker offers; any if absent. */
  accept?: string;
  /** Whether several files may be given at once; otherwise the first counts. */
  multiple?: boolean;
  /** Called for each file. */
  take: (file: File) => void;
  children: ComponentChildren;
}

/** Takes files that are dropped on it, or chosen. */
export function Drop({ accept, multiple = false, take, children }: Props) {
  const [over, setOver] = useState(false);
  const give = (files: FileList | null | undefined) => {
    for (const file of [...(files ?? [])].slice(0, multiple ? undefined : 1)) take(file);
  };
  return (
    <label
      class={over ? "drop over" : "drop"}
      onDragOver={(event) => { event.preventDefault(); setOver(true); }}
      onDragLeave={() => setOver(false)}
      onDrop={(event) => { event.preventDefault(); setOver(false); give(event.dataTransfer?.files); }}
    >
      <span>{children}</span>
      <input
        type="file" accept={accept} multiple={multiple} class="file"
        // So that the same file can be chosen again, such as once it was corrected.
        onClick={(event) => { event.currentTarget.value = ""; }}
        onChange={(event) => {
          give(event.currentTarget.files);
          if (multiple) event.currentTarget.value = "";
        }}
      />
    </label>
  );
}
