import { Untrusted } from "./text";

/** The line of a text that the server names as `line 3`, wherever it says so. */
export function Line({ of: text, named }: { of: string; named: string | null }) {
  const number = Number(/line (\d+)/.exec(named ?? "")?.[1] ?? 0);
  const line = text.split("\n")[number - 1];
  return line === undefined ? null : <pre class="line" aria-label={`Line ${number}`}><span class="muted">{number} </span><Untrusted text={line} /></pre>;
}
