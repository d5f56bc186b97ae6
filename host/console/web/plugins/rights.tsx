import type { Schemas } from "../lib/api";
import { plural } from "../lib/format";
import { Inline } from "../lib/markdown";
import { Untrusted } from "../ui/text";

type Right = Schemas["PluginRight"];

/** What a version may do that the one before may not. */
export function Rights({ title, rights }: { title: string; rights: Right[] }) {
  if (rights.length === 0) return <p class="muted">It may do no more than the version that serves.</p>;
  return (
    <div class="notice warn">
      <p class="heading">{title}</p>
      <List rights={rights} />
    </div>
  );
}

/** All that a version may do, below its count. */
export function AllRights({ rights, wider }: { rights: Right[]; wider: Right[] }) {
  if (rights.length === 0) return <p class="muted">It has no rights.</p>;
  return (
    <details class="more">
      <summary>{plural(rights.length, "right")}{wider.length > 0 && `, ${wider.length} more than the version that serves`}</summary>
      <List rights={rights} />
    </details>
  );
}

function List({ rights }: { rights: Right[] }) {
  return <ul class="rights">{rights.map((one) => <li key={one.name}><code><Untrusted text={one.name} /></code> <Inline text={one.description} /></li>)}</ul>;
}
