import { useState } from "preact/hooks";
import { visible } from "../lib/format";
import { Inline } from "../lib/markdown";
import { Field } from "./field";
import { fields, takesFractions, title, toText, toValue, type Control, type ObjectSchema, type Property } from "./schema";
import { Untrusted } from "./text";

export type Values = Record<string, unknown>;

interface Props {
  schema: ObjectSchema;
  values: Values;
  change: (values: Values) => void;
  /** Names of secrets that are stored: left empty, they stay as they are. */
  stored?: Set<string>;
}

const FIRST = 6;

/** What an empty field of several lines says. */
const EXAMPLES = { lines: "Paste it, or drop a file here", list: "One a line", json: 'JSON: {"name": "value"}', "secret-lines": "Paste it, or drop a file here" };

/** The fields of a JSON schema. Long forms show what is needed, and the rest on request. */
export function SchemaForm(props: Props) {
  const all = fields(props.schema);
  const needed = all.filter((one) => one.required || one.property["x-secret"] === true && one.control === "secret");
  const rest = all.filter((one) => !needed.includes(one));
  const shown = all.length <= FIRST ? all : needed;
  return (
    <>
      {shown.map((one) => <SchemaField key={one.name} {...one} {...props} />)}
      {shown !== all && rest.length > 0 && (
        <details class="more">
          <summary>More settings</summary>
          <div class="stack">{rest.map((one) => <SchemaField key={one.name} {...one} {...props} />)}</div>
        </details>
      )}
    </>
  );
}

type FieldProps = Props & { name: string; property: Property; required: boolean; control: Control };

function SchemaField({ name, property, required, control, values, change, stored }: FieldProps) {
  const [wrong, setWrong] = useState<string | null>(null);
  /** A list as it is written: its value has no empty lines, without which no next one could begin. */
  const [written, setWritten] = useState("");
  const set = (value: unknown) => {
    const { [name]: _, ...others } = values;
    change(value === undefined ? others : { ...others, [name]: value });
  };
  const write = (text: string) => {
    setWritten(text);
    try {
      set(toValue(control, text));
      setWrong(null);
    } catch {
      set(text);
      setWrong("This is no JSON.");
    }
  };
  const shown = title(name, property);
  if (control === "switch") {
    const on = (values[name] ?? property.default) === true;
    return (
      <label class="check">
        <input type="checkbox" checked={on} onChange={(event) => set(event.currentTarget.checked)} />
        <span><Untrusted text={shown} />{property.description && <span class="muted"> <Inline text={property.description} /></span>}</span>
      </label>
    );
  }
  const help = (
    <>
      {property.description && <Inline text={property.description} />}
      {wrong && <strong role="alert"> {wrong}</strong>}
    </>
  );
  const isStored = stored?.has(name) ?? false;
  const isRemoved = isStored && values[name] === null;
  const hint = isRemoved ? "removed when this is saved" : isStored ? "stored; leave empty to keep it" : toText(property.default);
  const removal = isStored && !required && (
    <label class="check">
      <input type="checkbox" checked={isRemoved} onChange={(event) => set(event.currentTarget.checked ? null : undefined)} />
      <span>Remove the stored one<span class="hidden"> of <Untrusted text={shown} /></span></span>
    </label>
  );
  const field = (
    <Field label={<><Untrusted text={shown} />{!required && <span class="muted"> optional</span>}</>} help={help}>
      {(id, describedBy) => {
        const common = { id, "aria-describedby": describedBy, required: required && !isStored, disabled: isRemoved };
        const isWritten = control === "list" && JSON.stringify(toValue(control, written)) === JSON.stringify(values[name]);
        const text = isWritten ? written : toText(values[name], control);
        const onInput = (event: Event) => write((event.currentTarget as HTMLInputElement).value);
        if (control === "choice") {
          return (
            <select {...common} value={text} onChange={onInput}>
              <option value="">{property.default === undefined ? "—" : `${visible(toText(property.default))} (default)`}</option>
              {property.enum!.filter((one) => one !== property.default).map((one) => <option key={toText(one)} value={toText(one)}>{visible(toText(one))}</option>)}
            </select>
          );
        }
        if (control === "lines" || control === "list" || control === "json" || control === "secret-lines") {
          return <Lines {...common} secret={control === "secret-lines"} text={text} hint={hint || EXAMPLES[control]} write={write} />;
        }
        const type = control === "secret" ? "password" : control === "number" ? "number" : "text";
        return (
          <input
            {...common} type={type} value={text} placeholder={hint} min={property.minimum} max={property.maximum} step={type === "number" && takesFractions(property) ? "any" : undefined}
            maxLength={property.maxLength} autocomplete={control === "secret" ? "new-password" : "off"} spellcheck={false} onInput={onInput}
          />
        );
      }}
    </Field>
  );
  return removal ? <div class="stack tight">{field}{removal}</div> : field;
}

/** Several lines, which can also be dropped as a file. */
function Lines(props: { id: string; "aria-describedby": string | undefined; required: boolean; disabled: boolean; secret: boolean; text: string; hint: string; write: (text: string) => void }) {
  const { secret, text, hint, write, ...common } = props;
  const drop = (event: DragEvent) => {
    const file = event.dataTransfer?.files[0];
    if (!file) return;
    event.preventDefault();
    void file.text().then(write);
  };
  return (
    <textarea
      {...common} class={secret ? "secret" : undefined} value={text} placeholder={hint} rows={3} spellcheck={false}
      autocomplete="off" onDragOver={(event) => event.preventDefault()} onDrop={drop} onInput={(event) => write(event.currentTarget.value)}
    />
  );
}
