import { useState } from "preact/hooks";

/** Copies text, and says so. */
export function Copy({ text, label = "Copy" }: { text: string; label?: string }) {
  const [copied, setCopied] = useState(false);
  const copy = async () => {
    await navigator.clipboard.writeText(text).then(() => setCopied(true), () => setCopied(false));
  };
  return (
    <button type="button" class="small" onClick={() => void copy()} onBlur={() => setCopied(false)}>
      <span aria-live="polite">{copied ? "Copied" : label}</span>
    </button>
  );
}
