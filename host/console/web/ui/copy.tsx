import { useState } from "preact/hooks";

/** Copies text, and says whether that worked. */
export function Copy({ text, label = "Copy" }: { text: string; label?: string }) {
  const [said, setSaid] = useState<string | null>(null);
  const copy = async () => setSaid((await toClipboard(text)) ? "Copied" : "Not copied: select the text");
  return (
    <button type="button" class="small" onClick={() => void copy()} onBlur={() => setSaid(null)}>
      <span aria-live="polite">{said ?? label}</span>
    </button>
  );
}

/** Browsers have `navigator.clipboard` over TLS and on localhost alone; elsewhere a selection can be copied. */
async function toClipboard(text: string): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    const button = document.activeElement;
    const area = document.createElement("textarea");
    area.className = "hidden";
    area.value = text;
    // A dialog that is open takes the focus from what is outside of it.
    (button?.parentElement ?? document.body).append(area);
    area.select();
    const isCopied = document.execCommand("copy");
    area.remove();
    if (button instanceof HTMLElement) button.focus();
    return isCopied;
  }
}
