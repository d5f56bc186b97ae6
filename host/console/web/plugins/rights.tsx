import type { Schemas } from "../lib/api";
import { Untrusted } from "../ui/text";

/** What a version may do that the one before may not. */
export function Rights({ title, rights }: { title: string; rights: Schemas["PluginRight"][] }) {
  if (rights.length === 0) return <p class="muted">It may do no more than the version that serves.</p>;
  return (
    <div class="notice">
      <p class="heading">{title}</p>
      <ul class="rights">
        {rights.map((one) => <li key={one.name}><code><Untrusted text={one.name} /></code> <Untrusted text={one.description} /></li>)}
      </ul>
    </div>
  );
}
