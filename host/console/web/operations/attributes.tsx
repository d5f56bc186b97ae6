// What a key says about its holder, for the policies of Minds.
import type { ComponentChildren } from "preact";
import type { Schemas } from "../lib/api";

type Attributes = Schemas["BTreeMap"];
const KINDS = { text: "Text", number: "Number", flag: "True or false", texts: "List of texts", numbers: "List of numbers" } as const;

export interface Attribute {
  name: string;
  kind: keyof typeof KINDS;
  text: string;
}

/** What the API takes. A number that is none is sent as it was typed, and the server says what is wrong. */
export function toAttributes(all: Attribute[]): Attributes {
  const number = (text: string) => (text.trim() === "" || Number.isNaN(Number(text)) ? text : Number(text));
  const lines = (text: string) => text.split("\n").map((one) => one.trim()).filter(Boolean);
  const value = ({ kind, text }: Attribute): Attributes[string] => {
    if (kind === "number") return number(text);
    if (kind === "flag") return text === "true";
    if (kind === "texts") return lines(text);
    return kind === "numbers" ? lines(text).map(number) : text;
  };
  return Object.fromEntries(all.filter((one) => one.name.trim() !== "").map((one) => [one.name.trim(), value(one)]));
}

/** The fields for attributes that a key has. */
export function ofKey(attributes: Attributes): Attribute[] {
  return Object.entries(attributes).map(([name, value]): Attribute => {
    if (Array.isArray(value)) return { name, kind: value.every((one) => typeof one === "number") && value.length > 0 ? "numbers" : "texts", text: value.join("\n") };
    if (typeof value === "boolean") return { name, kind: "flag", text: value ? "true" : "" };
    return { name, kind: typeof value === "number" ? "number" : "text", text: String(value) };
  });
}

interface Props {
  all: Attribute[];
  change: (all: Attribute[]) => void;
  legend?: ComponentChildren;
}

const OF_NEW_KEY = <>Attributes <span class="muted">optional, for policies; they never change</span></>;

export function AttributeFields({ all, change, legend = OF_NEW_KEY }: Props) {
  const set = (index: number, to: Partial<Attribute>) => change(all.map((one, place) => (place === index ? { ...one, ...to } : one)));
  return (
    <fieldset class="stack tight">
      <legend>{legend}</legend>
      {all.map(({ name, kind, text }, index) => {
        const number = index + 1;
        const value = { "aria-label": `Value of attribute ${number}`, value: text };
        return (
          <div key={index} class="row attribute">
            <input class="name" aria-label={`Name of attribute ${number}`} placeholder="tenant" required value={name} onInput={(event) => set(index, { name: event.currentTarget.value })} />
            <select class="auto" aria-label={`Kind of attribute ${number}`} value={kind} onChange={(event) => set(index, { kind: event.currentTarget.value as Attribute["kind"] })}>
              {Object.entries(KINDS).map(([one, title]) => <option key={one} value={one}>{title}</option>)}
            </select>
            {kind === "flag" && (
              <select class="name" {...value} onChange={(event) => set(index, { text: event.currentTarget.value })}>
                <option value="">false</option>
                <option value="true">true</option>
              </select>
            )}
            {(kind === "texts" || kind === "numbers") && <textarea class="name" {...value} rows={3} placeholder="one a line" onInput={(event) => set(index, { text: event.currentTarget.value })} />}
            {(kind === "text" || kind === "number") && <input class="name" {...value} inputMode={kind === "number" ? "decimal" : undefined} onInput={(event) => set(index, { text: event.currentTarget.value })} />}
            <button type="button" class="small" aria-label={`Remove attribute ${number}`} onClick={() => change(all.filter((_, place) => place !== index))}>Remove</button>
          </div>
        );
      })}
      <div><button type="button" class="small" onClick={() => change([...all, { name: "", kind: "text", text: "" }])}>Add an attribute</button></div>
    </fieldset>
  );
}
