import { visible } from "../lib/format";

const SHOWN = 300;

/** Text of others: invisible characters shown, its direction kept to itself, long text cut with the rest on hover. */
export function Untrusted({ text, max = SHOWN }: { text: string; max?: number }) {
  const cut = text.length > max;
  return (
    <bdi title={cut ? visible(text.slice(0, 4 * max)) : undefined}>{visible(cut ? `${text.slice(0, max)}…` : text)}</bdi>
  );
}
