// Evaluations as pages show them: their words, and the addresses of what is chosen.
import type { ComponentProps } from "preact";
import { api, take, type Schemas } from "../lib/api";
import { href } from "../lib/router";
import type { Badge } from "../ui/page";

export type Evaluation = Schemas["Evaluation"];
export type Report = Schemas["EvaluationReport"];
export type Judged = Schemas["EvaluationQuestion"];
export type Figures = Schemas["EvaluationFigures"];
export type Mark = Schemas["EvaluationMark"];
type Tone = NonNullable<ComponentProps<typeof Badge>["tone"]>;

export const MARKS: Record<Mark, { title: string; tone: Tone }> = {
  right: { title: "right", tone: "good" },
  wrong: { title: "wrong", tone: "bad" },
  declined: { title: "declined", tone: "warn" },
  failed: { title: "failed", tone: "plain" },
  invalid: { title: "not judged", tone: "plain" },
};

export const STATUSES: Record<Evaluation["status"], { title: string; tone: Tone }> = {
  running: { title: "running", tone: "busy" },
  completed: { title: "done", tone: "good" },
  cancelled: { title: "stopped", tone: "plain" },
  failed: { title: "failed", tone: "bad" },
  interrupted: { title: "interrupted", tone: "warn" },
};

/** The runs of a Mind, the newest first. */
export async function allOf(name: string, signal: AbortSignal): Promise<Evaluation[]> {
  const { data } = await take(api.GET("/api/v1/minds/{name}/evaluations", { params: { path: { name } }, signal }));
  return data;
}

/** Milliseconds until a run is looked at again; a report with many questions is large. */
export const again = (evaluation: Evaluation): number | null =>
  evaluation.status === "running" ? Math.max(1000, 10 * evaluation.judged_count) : null;

export const suiteOf = (evaluation: Evaluation): string => evaluation.suite.trim() || "Suite without a name";

/** How many questions have which mark. The figures count those that were to be declined apart. */
export function countsOf(figures: Figures): [Mark, number][] {
  const judged = figures.answerable + figures.unanswerable;
  const right = figures.right + figures.rightly_declined;
  const wrong = Math.round((figures.wrong_share ?? 0) * judged);
  const { declined } = figures;
  return [["right", right], ["wrong", wrong], ["declined", declined], ["failed", judged - right - wrong - declined]];
}

export const askAddress = (mind: string, question: string): string => `${href("ask")}?${new URLSearchParams({ mind, question }).toString()}`;

/** What a suite looks like. */
export const EXAMPLE = `name: shop
questions:
  - question: How many customers are there?
    sql: SELECT count(*) FROM customers
  - question: Who lives in Germany?
    rows: [[Ann], [Zoë]]
  - question: What will the revenue be next year?
    expect: declined
`;
