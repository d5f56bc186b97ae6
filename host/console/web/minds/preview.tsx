// What a caller sees of a table, with the policies as they would be: before they are saved.
import { useState } from "preact/hooks";
import { api, may, take, type Schemas } from "../lib/api";
import { number, plural, visible } from "../lib/format";
import { useAction, useLoad } from "../lib/load";
import { AttributeFields, ofKey, toAttributes, type Attribute } from "../operations/attributes";
import { Cell, isNumeric } from "../ask/cell";
import { withDocuments } from "../ask/documents";
import { Failure } from "../ui/failure";
import { Field } from "../ui/field";
import { Untrusted } from "../ui/text";
import { isEmpty, othersOf, type NewPolicy } from "./policy";

type Seen = Schemas["PolicyPreview"];

interface Props {
  name: string;
  datasource: string;
  table: string;
  /** The policy of the table as the form has it. */
  draft: NewPolicy;
}

export function attributesText(of: Record<string, Schemas["Attribute"]>): string {
  const all = Object.entries(of).map(([name, value]) => `${name} = ${JSON.stringify(value)}`);
  return all.length === 0 ? "no attributes" : all.join(", ");
}

export function Preview({ name, datasource, table, draft }: Props) {
  const [fields, setFields] = useState<Attribute[]>([]);
  const [shown, setShown] = useState<{ by: string; attributes: string; seen: Seen } | null>(null);
  const { busy, error, run } = useAction();
  // What the rows depend on: of another policy, or other attributes, they would say what is not so.
  const by = JSON.stringify([draft, fields]);
  const isStale = shown !== null && shown.by !== by;
  const show = (event: Event) => {
    event.preventDefault();
    setShown(null);
    void run(async () => {
      const attributes = toAttributes(fields);
      const others = await othersOf(name, datasource, table);
      const policies = isEmpty(draft) ? others : [draft, ...others];
      const body = { datasource, table, attributes, policies };
      const answer = api.POST("/api/v1/minds/{name}/policies/preview", { params: { path: { name } }, body, parseAs: "text" });
      const seen = withDocuments<Seen>(await take(answer), (seen) => seen, "data");
      setShown({ by, attributes: attributesText(attributes), seen });
    });
  };
  return (
    <section class="card stack" aria-label="As a caller sees it">
      <h2>As a caller sees it</h2>
      <form class="stack tight" onSubmit={show} autocomplete="off">
        <p class="muted">The first rows of the table, by the policy as it is above, saved or not, for a key with these attributes.</p>
        {may("list_keys") && <FromKey choose={setFields} />}
        <AttributeFields all={fields} change={setFields} legend={<>Attributes of the key<span class="muted"> none: those of a key without any</span></>} />
        <div><button type="submit" disabled={busy}>{busy ? "Asking …" : "Show"}</button></div>
      </form>
      {error && <Failure error={error} />}
      {isStale && <p class="muted" role="status">The policy or the attributes changed since the rows were shown. Show them again.</p>}
      {shown && !isStale && <Rows attributes={shown.attributes} seen={shown.seen} />}
    </section>
  );
}

/** Takes the attributes of a key that exists. */
function FromKey({ choose }: { choose: (fields: Attribute[]) => void }) {
  const keys = useLoad((signal) => take(api.GET("/api/v1/keys", { signal })), []);
  if (keys.error) return <Failure error={keys.error} retry={keys.reload} />;
  const some = (keys.data ?? []).filter((one) => Object.keys(one.attributes).length > 0 && one.revoked_at === null);
  if (some.length === 0) return null;
  return (
    <Field label={<>Take them from a key<span class="muted"> optional</span></>}>
      {(id) => (
        <select id={id} onChange={(event) => choose(ofKey(some.find((one) => one.id === event.currentTarget.value)?.attributes ?? {}))}>
          <option value="">—</option>
          {some.map((one) => <option key={one.id} value={one.id}>{visible(one.name)} ({one.role})</option>)}
        </select>
      )}
    </Field>
  );
}

function Rows({ attributes, seen }: { attributes: string; seen: Seen }) {
  const more = seen.total > seen.data.length;
  const align = (column: number) => (isNumeric(seen.column_types[column]!, seen.data[0]?.[column]) ? "right" : undefined);
  return (
    <div class="stack tight">
      <p role="status">
        With <Untrusted text={attributes} max={400} />: {plural(seen.total, "row")}{more && `, the first ${number(seen.data.length)} of them here`}, {plural(seen.column_names.length, "column")}.
      </p>
      <div class="scroll preview" tabIndex={0} role="region" aria-label="Rows that the caller sees">
        <table>
          <thead><tr>{seen.column_names.map((column, index) => <th key={index} scope="col" class={align(index)}><Untrusted text={column} /></th>)}</tr></thead>
          <tbody>
            {seen.data.map((row, index) => <tr key={index}>{row.map((value, index) => <td key={index} class={align(index)}><Cell value={value} column={seen.column_types[index]!} max={100} isOneLine /></td>)}</tr>)}
          </tbody>
        </table>
      </div>
    </div>
  );
}
