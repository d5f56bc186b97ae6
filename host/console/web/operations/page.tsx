// What an administrator looks after: usage, what runs, the audit trail, keys, workspaces, health.
import { may } from "../lib/api";
import { Link, href } from "../lib/router";
import { Head } from "../ui/page";
import { Audit } from "./audit";
import { Health } from "./health";
import { Keys } from "./keys";
import { Providers } from "./providers";
import { Running } from "./running";
import { Usage } from "./usage";
import { Workspaces } from "./workspaces";

const VIEWS = [
  { path: "usage", title: "Usage", view: Usage, shown: () => may("list_usage") },
  { path: "running", title: "Running", view: Running, shown: () => may("list_running") },
  { path: "keys", title: "Keys", view: Keys, shown: () => may("list_keys") },
  { path: "providers", title: "Providers", view: Providers, shown: () => may("create_provider") },
  { path: "audit", title: "Audit", view: Audit, shown: () => may("list_audit") },
  { path: "workspaces", title: "Workspaces", view: Workspaces, shown: () => may("list_workspaces") },
  { path: "health", title: "Health", view: Health, shown: () => true },
];

/** `/operations/{view}` */
export function OperationsPage({ path: [name = "usage"] }: { path: string[] }) {
  const views = VIEWS.filter((one) => one.shown());
  const current = views.find((one) => one.path === name) ?? views[0]!;
  const View = current.view;
  return (
    <div class="page">
      <Head title="Operations" />
      <nav class="tabs" aria-label="Views">
        {views.map(({ path, title }) => <Link key={path} to={href("operations", path)} aria-current={path === current.path ? "page" : undefined}>{title}</Link>)}
      </nav>
      <View />
    </div>
  );
}
