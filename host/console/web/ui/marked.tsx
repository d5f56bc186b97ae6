import { visible } from "../lib/format";

/** Characters that are shown before and behind what was found. */
const BEFORE = 60;
const BEHIND = 160;

/** Text of others with what was found in it marked. Of long text the part around it is shown. */
export function Marked({ text, pattern }: { text: string; pattern: RegExp }) {
  const found = pattern.exec(text);
  const at = found?.index ?? 0;
  const [from, until] = [Math.max(at - BEFORE, 0), at + (found?.[0].length ?? 0)];
  return (
    <bdi>
      {from > 0 && "…"}{visible(text.slice(from, at))}
      {found && <mark>{visible(found[0])}</mark>}
      {visible(text.slice(until, until + BEHIND))}{until + BEHIND < text.length && "…"}
    </bdi>
  );
}
