// One field of an entry, with what the server said of it.
import type { ApiError } from "../lib/api";
import { Failure } from "../ui/failure";
import { Field } from "../ui/field";
import { SqlEditor, type CatalogOf } from "../ui/sql";
import { CARDINALITIES, type EntryField } from "./entry";

interface Props {
  field: EntryField;
  value: string;
  catalog: CatalogOf;
  error: ApiError | null;
  change: (text: string) => void;
  submit: () => void;
}

export function EntryControl({ field: { label, help, control, required }, value, catalog, error, change, submit }: Props) {
  const title = <>{label}{!required && <span class="muted"> optional</span>}</>;
  const bad = error ? true : undefined;
  return (
    <div class="stack tight">
      {control === "sql" ? (
        <SqlField label={label} title={title} help={help} value={value} catalog={catalog} change={change} submit={submit} />
      ) : (
        <Field label={title} help={help}>
          {(id, help) => {
            if (control === "lines" || control === "list") {
              return <textarea id={id} aria-describedby={help} aria-invalid={bad} rows={3} required={required} value={value} onInput={(event) => change(event.currentTarget.value)} />;
            }
            if (control === "cardinality") {
              return (
                <select id={id} aria-describedby={help} aria-invalid={bad} value={value} onChange={(event) => change(event.currentTarget.value)}>
                  <option value="">not said</option>
                  {CARDINALITIES.map((one) => <option key={one} value={one}>{one.replaceAll("_", " ")}</option>)}
                </select>
              );
            }
            return <input id={id} aria-describedby={help} aria-invalid={bad} required={required} value={value} onInput={(event) => change(event.currentTarget.value)} />;
          }}
        </Field>
      )}
      {error && <Failure error={error} />}
    </div>
  );
}

interface SqlProps {
  label: string;
  title: preact.ComponentChildren;
  help?: string | undefined;
  hint?: string;
  value: string;
  catalog: CatalogOf;
  change: (text: string) => void;
  submit: () => void;
}

/** SQL with the label of a field. The editor has the label of its own, for it is no control that a label can name. */
export function SqlField({ label, title, help, hint = "", value, catalog, change, submit }: SqlProps) {
  return (
    <div class="field">
      <span class="label" aria-hidden="true">{title}</span>
      <SqlEditor label={label} value={value} change={change} submit={submit} catalog={catalog} hint={hint} focus={false} />
      {help && <p class="muted">{help}</p>}
    </div>
  );
}
