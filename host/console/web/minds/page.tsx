import { may } from "../lib/api";
import { Link, href } from "../lib/router";
import { NotFound } from "../ui/not_found";
import { Head } from "../ui/page";
import { Tabs } from "../ui/tabs";
import { Untrusted } from "../ui/text";
import { EntryPage } from "./entry_page";
import { EvaluationPage } from "./evaluation_page";
import { StartEvaluation } from "./evaluation_start";
import { Evaluations } from "./evaluations";
import { FeedbackList } from "./feedback";
import { Import } from "./import";
import { Knowledge } from "./knowledge";
import { Minds } from "./list";
import { NewMind, Settings } from "./mind";
import { Policies } from "./policies";
import { PolicyPage } from "./policy_page";

const VIEWS = [
  { path: "", title: "Settings", shown: () => true },
  { path: "knowledge", title: "Knowledge", shown: () => may("list_knowledge") },
  { path: "policies", title: "Policies", shown: () => may("get_policies") },
  { path: "feedback", title: "Feedback", shown: () => may("list_feedback") },
  { path: "evaluations", title: "Evaluations", shown: () => may("list_evaluations") },
];

/** `/minds`, `/minds/new`, `/minds/{name}`, `/minds/{name}/{view}/…` */
export function MindsPage({ path: [name, view = "", ...rest] }: { path: string[] }) {
  if (name === undefined) return <Minds />;
  if (name === "new" && view === "") return may("create_mind") ? <NewMind /> : <NotFound />;
  const views = VIEWS.filter((one) => one.shown());
  const current = views.find((one) => one.path === view);
  if (!current || !mayOpen(view, rest)) return <NotFound />;
  return (
    <div class="page narrow" key={name}>
      <Head title={<Untrusted text={name} />} up={<Link to={href("minds")}>Minds</Link>}>
        <Link class="button primary" to={`${href("ask")}?mind=${encodeURIComponent(name)}`}>Ask it</Link>
      </Head>
      <Tabs tabs={views.map(({ path, title }) => ({ title, to: href("minds", name, ...(path ? [path] : [])), isCurrent: path === current.path }))} />
      <View name={name} view={current.path} rest={rest} />
    </div>
  );
}

/** Whether there is such a page of a view, and the key may open it. */
function mayOpen(view: string, rest: string[]): boolean {
  if (view === "knowledge" && rest[0] === "new") return may("create_knowledge");
  if (view === "knowledge" && rest[0] === "import") return may("import_knowledge");
  if (view === "evaluations" && rest[0] === "new") return may("start_evaluation");
  const parts = view === "" || view === "feedback" ? 0 : view === "policies" ? 2 : 1;
  return rest.length === 0 || rest.length === parts;
}

function View({ name, view, rest: [first, second] }: { name: string; view: string; rest: string[] }) {
  if (view === "policies") {
    return first === undefined ? <Policies name={name} /> : <PolicyPage key={`${first}/${second}`} name={name} datasource={first} table={second ?? ""} />;
  }
  if (view === "feedback") return <FeedbackList name={name} />;
  if (view === "evaluations") {
    if (first === undefined) return <Evaluations name={name} />;
    if (first === "new") return <StartEvaluation name={name} />;
    return <EvaluationPage key={first} name={name} id={first} />;
  }
  if (view !== "knowledge") return <Settings name={name} />;
  if (first === undefined) return <Knowledge name={name} />;
  if (first === "import") return <Import name={name} />;
  return <EntryPage key={first} name={name} id={first === "new" ? null : first} />;
}
