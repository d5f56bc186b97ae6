import { Plugins } from "./list";
import { PluginPage } from "./plugin";

/** `/plugins`, `/plugins/{name}` */
export function PluginsPage({ path: [name] }: { path: string[] }) {
  return name === undefined ? <Plugins /> : <PluginPage key={name} name={name} />;
}
