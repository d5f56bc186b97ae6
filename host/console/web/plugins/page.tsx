import { Plugins } from "./list";
import { NotFound } from "../ui/not_found";
import { PluginPage } from "./plugin";

/** `/plugins`, `/plugins/{name}` */
export function PluginsPage({ path: [name, ...rest] }: { path: string[] }) {
  if (rest.length > 0) return <NotFound />;
  return name === undefined ? <Plugins /> : <PluginPage key={name} name={name} />;
}
