// Forms made from JSON schemas, as far as plugins use them: what field a property needs, and what its text stands for.

export interface Property {
  type?: string | string[];
  title?: string;
  description?: string;
  enum?: unknown[];
  default?: unknown;
  anyOf?: Property[];
  minimum?: number;
  maximum?: number;
  maxLength?: number;
  pattern?: string;
  items?: Property;
  "x-secret"?: boolean;
  "x-multiline"?: boolean;
  "x-destination"?: boolean;
}

export interface ObjectSchema {
  properties?: Record<string, Property>;
  required?: string[];
}

export type Control = "secret" | "secret-lines" | "choice" | "switch" | "number" | "lines" | "list" | "json" | "text";

function types(property: Property): string[] {
  const own = property.type === undefined ? [] : [property.type].flat();
  return [...own, ...(property.anyOf ?? []).flatMap(types)];
}

/** Property by property; those that must be given first. */
export function fields(schema: ObjectSchema): { name: string; property: Property; required: boolean; control: Control }[] {
  const required = new Set(schema.required ?? []);
  const all = Object.entries(schema.properties ?? {});
  const found = all.map(([name, property]) => ({ name, property, required: required.has(name), control: controlOf(property) }));
  return [...found.filter((one) => one.required), ...found.filter((one) => !one.required)];
}

function controlOf(property: Property): Control {
  const known = types(property);
  if (property["x-secret"]) return property["x-multiline"] ? "secret-lines" : "secret";
  if (property.enum) return "choice";
  if (known.includes("boolean")) return "switch";
  if (known.includes("integer") || known.includes("number")) return "number";
  if (known.includes("string")) return property["x-multiline"] && (property.maxLength ?? 0) > 80 ? "lines" : "text";
  return known.includes("array") && property.items && types(property.items).includes("string") ? "list" : "json";
}

/** Whether a number may have a fraction, which browsers refuse unless told. */
export const takesFractions = (property: Property): boolean => types(property).includes("number");

/** The names of the secrets among stored values: the API shows them masked. */
export function storedSecrets(schema: ObjectSchema, known: Record<string, unknown>): Set<string> {
  return new Set(Object.keys(known).filter((name) => schema.properties?.[name]?.["x-secret"] === true));
}

/** What a PATCH sends to make `values` of what is known; null if nothing changes. A field that was emptied is null, which
 * removes it; a secret that was left empty goes back masked, which keeps it. */
export function changesOf(known: Record<string, unknown>, values: Record<string, unknown>, secrets: Set<string>): Record<string, unknown> | null {
  const same = (name: string) => JSON.stringify(known[name]) === JSON.stringify(values[name]);
  const isKept = (name: string) => secrets.has(name) && values[name] === undefined;
  const names = [...new Set([...Object.keys(known), ...Object.keys(values)])];
  if (names.every((name) => isKept(name) || same(name))) return null;
  return Object.fromEntries(names.map((name) => [name, isKept(name) ? known[name] : (values[name] ?? null)]));
}

const SHORT = /\b(?:api|ca|id|ssl|tls|url)\b/gi;

/** The property's name for people: its title, or its name in words. */
export function title(name: string, property: Property): string {
  const words = name.charAt(0).toUpperCase() + name.slice(1).replaceAll("_", " ");
  return property.title ?? words.replace(SHORT, (short) => short.toUpperCase());
}

/** What a text stands for. Empty text stands for nothing. Throws where it is no JSON. */
export function toValue(control: Control, text: string): unknown {
  if (text === "") return undefined;
  if (control === "number") return Number(text);
  if (control === "list") {
    const lines = text.split("\n").map((line) => line.trim()).filter((line) => line !== "");
    return lines.length > 0 ? lines : undefined;
  }
  if (control === "json") return JSON.parse(text) as unknown;
  return text;
}

/** A value as text. Several names that a field takes as text stand as the field describes them: separated by commas. */
export function toText(value: unknown, control: Control = "text"): string {
  if (value === undefined || value === null) return "";
  if (Array.isArray(value) && control !== "json" && value.every((one) => typeof one === "string")) return value.join(control === "list" ? "\n" : ", ");
  return typeof value === "string" ? value : JSON.stringify(value);
}
