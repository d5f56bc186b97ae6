// Policies of a Mind, and how a form's choices become one.
import { api, take, type Schemas } from "../lib/api";

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

/** `PUT` replaces all, so the others are read again and sent back as they are. */
export async function replaceOne(name: string, datasource: string, table: string, policy: NewPolicy | null): Promise<void> {
  const others = (await policiesOf(name)).filter((one) => one.datasource !== datasource || one.table !== table);
  const sent = others.map(({ problem: _, ...rest }) => rest);
  // The changed one is first, so that `policies[0]` in an error is this one.
  const policies = policy ? [policy, ...sent] : sent;
  await take(api.PUT("/api/v1/minds/{name}/policies", { params: { path: { name } }, body: { policies } }));
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

/** What a masked column has, in words. */
export function wordsOf(mask: Mask): string {
  if (mask === "null") return "NULL";
  if (mask === "last4") return "last four characters";
  return "text" in mask ? `“${mask.text}”` : mask.sql;
}
