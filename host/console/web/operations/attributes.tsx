// What a key says about its holder, for the policies of Minds.
import type { ComponentChildren } from "preact";
import type { Schemas } from "../lib/api";

type Attributes = Record<string, Schemas["Attribute"]>;
const KINDS = { text: "Text", number: "Number", flag: "True or false", texts: "List of texts", numbers: "List of numbers" } as const;

export interface Attribute {
  name: string;
  kind: keyof typeof KINDS;
  text: string;
}

/** As people write numbers; JavaScript also takes `0x10`. */
const NUMBER = /^[+-]?(\d+(\.\d*)?|\.\d+)(e[+-]?\d+)?$/i;
/** JavaScript keeps this many digits of any number. */
const EXACT_DIGITS = 15;

/** Those that count, without sign, point and exponent. */
const digitsOf = (text: string): string => {
  const digits = text.replace(/e.*/i, "");
  return (digits.includes(".") ? digits.replace(/0+$/, "") : digits).replace(/\D/g, "").replace(/^0+/, "");
};

/** A number of the attribute `name`. What is none would be sent as a text, or as null, and a whole number beyond 2^53 as
 * its neighbour: a policy would then let the key see the rows of another. */
function toNumber(name: string, text: string): number {
  const value = Number(text);
  if (!NUMBER.test(text.trim()) || !Number.isFinite(value)) throw new Error(`The attribute ${name}: “${text}” is no number.`);
  if (Number.isInteger(value) && !Number.isSafeInteger(value)) {
    throw new Error(`The attribute ${name}: the console cannot keep all digits of ${text}, which is beyond 2^53. The API takes it up to 64 bits; a longer one must be a text.`);
  }
  if (digitsOf(text).length > EXACT_DIGITS && digitsOf(text) !== digitsOf(String(value))) {
    throw new Error(`The attribute ${name}: the console cannot keep all digits of ${text}, and the API would refuse it. Make it a text, and let the policy cast it.`);
  }
  return value;
}

/** What the API takes. Throws for a number that is none, or that JavaScript cannot hold. */
export function toAttributes(all: Attribute[]): Attributes {
  const lines = (text: string) => text.split("\n").map((one) => one.trim()).filter(Boolean);
  const value = ({ name, kind, text }: Attribute): Attributes[string] => {
    if (kind === "number") return toNumber(name, text);
    if (kind === "flag") return text === "true";
    if (kind === "texts") return lines(text);
    return kind === "numbers" ? lines(text).map((one) => toNumber(name, one)) : text;
  };
  return Object.fromEntries(all.filter((one) => one.name.trim() !== "").map((one) => [one.name.trim(), value(one)]));
}

/** The fields for attributes that a key has. A number that was rounded when it was read is refused when it is sent. */
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
