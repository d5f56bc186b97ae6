// Policies of a Mind or a key, and how a form's choices become one.
import { api, take, type ApiError, type Schemas } from "../lib/api";

export type Policy = Schemas["Policy"];
export type NewPolicy = Schemas["NewPolicy"];
type Mask = Schemas["ColumnMask"];

/** What becomes of a column. */
export type Treatment = "shown" | "hidden" | "null" | "last4" | "text" | "sql";
export const TREATMENTS: Record<Treatment, string> = {
  shown: "Shown",
  hidden: "Hidden",
  null: "Masked: NULL",
  last4: "Masked: last four",
  text: "Masked: this text",
  sql: "Masked: an expression",
};

export interface ColumnChoice {
  treatment: Treatment;
  /** The text or the expression of the mask. */
  text: string;
}

export const policiesOf = async (name: string, signal?: AbortSignal): Promise<Policy[]> =>
  (await take(api.GET("/api/v1/minds/{name}/policies", { params: { path: { name } }, ...(signal && { signal }) }))).policies;

/** The saved policies of all other tables, as they are sent. */
export async function othersOf(name: string, datasource: string, table: string): Promise<NewPolicy[]> {
  return without(await policiesOf(name), datasource, table);
}

function without(all: Policy[], datasource: string, table: string): NewPolicy[] {
  const others = all.filter((one) => one.datasource !== datasource || one.table !== table);
  return others.map(({ problem: _, ...rest }) => rest);
}

/** Whether it restricts nothing. */
export const isEmpty = ({ filter, hidden, masked }: NewPolicy): boolean =>
  !filter && (hidden ?? []).length === 0 && Object.keys(masked ?? {}).length === 0;

/** The policy of one table among all. */
export const policyOf = (all: Policy[], { datasource, table }: { datasource: string; table: string }): Policy | null =>
  all.find((one) => one.datasource === datasource && one.table === table) ?? null;

/** `PUT` replaces all, so the others are read again and sent back as they are. Refuses to replace another policy than
 * `known`: somebody else changed it in the meantime. Gives the policy as the server has it now. */
export async function replaceOne(name: string, of: { datasource: string; table: string }, known: Policy | null, policy: NewPolicy | null): Promise<Policy | null> {
  const { datasource, table } = of;
  const all = await policiesOf(name);
  if (JSON.stringify(policyOf(all, of)) !== JSON.stringify(known)) {
    throw new Error("Somebody else changed this policy after this page was opened. Nothing was saved: open the page again to see theirs.");
  }
  const sent = without(all, datasource, table);
  // The changed one is first, so that `policies[0]` in an error is this one.
  const policies = policy ? [policy, ...sent] : sent;
  const saved = await take(api.PUT("/api/v1/minds/{name}/policies", { params: { path: { name } }, body: { policies } }));
  return policyOf(saved.policies, of);
}

export function choiceOf(policy: Policy | null, column: string): ColumnChoice {
  if (policy?.hidden.includes(column)) return { treatment: "hidden", text: "" };
  const mask = policy && Object.hasOwn(policy.masked, column) ? policy.masked[column] : undefined;
  if (mask === undefined) return { treatment: "shown", text: "" };
  if (typeof mask === "string") return { treatment: mask, text: "" };
  return "text" in mask ? { treatment: "text", text: mask.text } : { treatment: "sql", text: mask.sql };
}

export function toMask({ treatment, text }: ColumnChoice): Mask | null {
  if (treatment === "null" || treatment === "last4") return treatment;
  if (treatment === "text") return { text };
  return treatment === "sql" ? { sql: text } : null;
}

export function toPolicy(datasource: string, table: string, filter: string, choices: Map<string, ColumnChoice>): NewPolicy {
  const all = [...choices];
  const masked = all.flatMap(([column, choice]) => {
    const mask = toMask(choice);
    return mask === null ? [] : [[column, mask] as const];
  });
  const hidden = all.filter(([, choice]) => choice.treatment === "hidden").map(([column]) => column);
  return { datasource, table, filter: filter.trim() === "" ? null : filter, hidden, masked: Object.fromEntries(masked) };
}

/** What of the policy at `index` an error is about: `filter`, `table`, `datasource`, `column NAME`, or `policy` for all of
 * it. Null for what is no part of this policy. `hidden` is as it was sent. */
export function placeOf(error: ApiError | null, index: number, hidden: string[]): string | null {
  const [, at, rest] = /^policies\[(\d+)\](.*)$/s.exec(error?.param ?? "") ?? [];
  if (at === undefined || Number(at) !== index) return null;
  const [, part, of] = /^\.(filter|table|datasource|hidden|masked)(.*)$/s.exec(rest!) ?? [];
  if (part === "masked") return `column ${of!.slice(1)}`;
  if (part === "hidden") return `column ${hidden[Number(/^\[(\d+)\]/.exec(of!)?.[1])] ?? ""}`;
  return part ?? "policy";
}

/** Whether a place is one of these columns. */
export const isColumn = (place: string | null, names: string[]): boolean => names.some((name) => place === `column ${name}`);

/** What a masked column has, in words. */
export function wordsOf(mask: Mask): string {
  if (mask === "null") return "NULL";
  if (mask === "last4") return "last four characters";
  return "text" in mask ? `“${mask.text}”` : mask.sql;
}
