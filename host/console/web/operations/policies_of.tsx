// The policies of a key, in the list of keys.
import { plural } from "../lib/format";
import { PolicyFacts } from "../minds/policies";
import type { Policy } from "../minds/policy";
import { Badge } from "../ui/page";
import { Untrusted } from "../ui/text";

/** Most policies of a key that are shown unasked. */
const SHOWN = 3;

export function PoliciesOf({ all }: { all: Policy[] }) {
  if (all.length === 0) return null;
  return (
    <details class="more key-policies" open={all.length <= SHOWN}>
      <summary>{plural(all.length, "policy", "policies")} {all.some((one) => one.problem !== null) && <Badge tone="bad">problem</Badge>}</summary>
      <ul class="entries">{all.map((one, index) => <Item key={index} policy={one} />)}</ul>
    </details>
  );
}

function Item({ policy }: { policy: Policy }) {
  return (
    <li class="stack tight">
      <strong><Untrusted text={policy.datasource} /> · <Untrusted text={policy.table} /></strong>
      {policy.problem !== null && <p class="stale">Problem: <Untrusted text={policy.problem} max={2000} /></p>}
      <PolicyFacts policy={policy} />
    </li>
  );
}
