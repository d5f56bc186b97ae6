// What an administrator looks after: usage, what runs, the audit trail, keys, workspaces, health.
import type { VNode } from "preact";
import { may } from "../lib/api";
import { href } from "../lib/router";
import { NotFound } from "../ui/not_found";
import { Head } from "../ui/page";
import { Tabs } from "../ui/tabs";
import { Audit } from "./audit";
import { Health } from "./health";
import { Keys } from "./keys";
import { Providers } from "./providers";
import { Running } from "./running";
import { Usage } from "./usage";
import { Workspaces } from "./workspaces";

/** `path` is what follows the name of the view in the address. */
type View = (props: { path: string[] }) => VNode;

const VIEWS: { path: string; title: string; view: View; shown: () => boolean }[] = [
  { path: "usage", title: "Usage", view: Usage, shown: () => may("list_usage") },
  { path: "running", title: "Running", view: Running, shown: () => may("list_running") },
  { path: "keys", title: "Keys", view: Keys, shown: () => may("list_keys") },
  { path: "providers", title: "Providers", view: Providers, shown: () => may("create_provider") },
  { path: "audit", title: "Audit", view: Audit, shown: () => may("list_audit") },
  { path: "workspaces", title: "Workspaces", view: Workspaces, shown: () => may("list_workspaces") },
  { path: "health", title: "Health", view: Health, shown: () => true },
];

/** `/operations/{view}/…` */
export function OperationsPage({ path: [name, ...rest] }: { path: string[] }) {
  const views = VIEWS.filter((one) => one.shown());
  const current = name === undefined ? views[0] : views.find((one) => one.path === name);
  // Only providers have pages of their own below.
  if (!current || rest.length > (current.path === "providers" ? 2 : 0)) return <NotFound />;
  const View = current.view;
  return (
    <div class="page">
      <Head title="Operations" />
      <Tabs tabs={views.map(({ path, title }) => ({ title, to: href("operations", path), isCurrent: path === current.path }))} />
      <View path={rest} />
    </div>
  );
}
