// Starts an evaluation from a suite: dropped, chosen or pasted.
import { useState } from "preact/hooks";
import { ApiError, api, take, type Schemas } from "../lib/api";
import { useAction } from "../lib/load";
import { Link, go, href } from "../lib/router";
import { Drop } from "../ui/drop";
import { Failure } from "../ui/failure";
import { Field } from "../ui/field";
import { Line } from "../ui/line";
import { EXAMPLE } from "./evaluation";

/** Most bytes of a suite that the server takes. A larger file is not put into the page. */
const MOST = 2 << 20;

export function StartEvaluation({ name }: { name: string }) {
  const [suite, setSuite] = useState("");
  const [jobs, setJobs] = useState("4");
  const [limit, setLimit] = useState("");
  const { busy, error, run, clear } = useAction();
  const read = (file: File) =>
    void run(async () => {
      if (file.size > MOST) throw new ApiError("The file is larger than 2 MiB, the most that a suite may be. Split it.", "console", 0, null, "suite");
      setSuite(await file.text());
    });
  const start = () =>
    void run(async () => {
      const body = { suite, ...(jobs !== "" && { jobs: Number(jobs) }), ...(limit !== "" && { limit: Number(limit) }) } as Schemas["NewEvaluation"];
      const made = await take(api.POST("/api/v1/minds/{name}/evaluations", { params: { path: { name } }, body }));
      go(href("minds", name, "evaluations", made.id));
    });
  const at = (param: string) => (error?.param === param ? error : null);
  const isPlaced = ["suite", "jobs", "limit"].some((param) => at(param));
  return (
    <form class="stack" onSubmit={(event) => { event.preventDefault(); start(); }}>
      <p class="up"><Link to={href("minds", name, "evaluations")}>All evaluations</Link></p>
      <h2>Evaluate it</h2>
      <p class="muted">It is asked with your key, and as your key sees the data. The answers cost what any answer costs.</p>
      <Drop accept=".yaml,.yml,.json,.jsonl,application/yaml,application/json" take={read}>Drop a suite here, or choose one: YAML or JSON lines</Drop>
      <div class="stack tight">
        <Field label="Suite" help="Questions with the SQL or the rows of a right answer. SQL is run by the Mind, so callers must be allowed to send SQL. At most 1,000 questions and 2 MiB.">
          {(id, help) => (
            <textarea
              id={id} class="mono" aria-describedby={help} aria-invalid={at("suite") ? true : undefined} required rows={14} spellcheck={false}
              value={suite} placeholder={EXAMPLE} onInput={(event) => { setSuite(event.currentTarget.value); clear(); }}
            />
          )}
        </Field>
        {at("suite") && <SuiteError error={at("suite")!} suite={suite} />}
      </div>
      <div class="two">
        <Count label="Questions at the same time" help="From 1 to 16. More are faster together, and each is slower." value={jobs} error={at("jobs")} change={(text) => { setJobs(text); clear(); }} />
        <Count label={<>Only the first<span class="muted"> optional</span></>} help="So many questions, to try a suite." value={limit} error={at("limit")} change={(text) => { setLimit(text); clear(); }} />
      </div>
      {error && !isPlaced && <Failure error={error} />}
      <div class="actions"><button type="submit" class="primary" disabled={busy || suite.trim() === ""}>{busy ? "Starting …" : "Start"}</button></div>
    </form>
  );
}

/** What is wrong with the suite. Of a long message the rest repeats the lines around the place; the page shows the one. */
function SuiteError({ error, suite }: { error: ApiError; suite: string }) {
  const first = error.message.split("\n")[0]!;
  return (
    <>
      <Failure error={new ApiError(first, error.code, error.status, error.requestId)} />
      <Line of={suite} named={first} />
    </>
  );
}

interface CountProps {
  label: preact.ComponentChildren;
  help: string;
  value: string;
  error: ApiError | null;
  change: (text: string) => void;
}

/** A number whose bounds the server knows. */
function Count({ label, help, value, error, change }: CountProps) {
  return (
    <div class="stack tight">
      <Field label={label} help={help}>
        {(id, help) => (
          <input id={id} type="number" aria-describedby={help} aria-invalid={error ? true : undefined} value={value} onInput={(event) => change(event.currentTarget.value)} />
        )}
      </Field>
      {error && <Failure error={error} />}
    </div>
  );
}
