import { MindPage, NewMind } from "./mind";
import { Minds } from "./list";

/** `/minds`, `/minds/new`, `/minds/{name}` */
export function MindsPage({ path: [name] }: { path: string[] }) {
  if (name === undefined) return <Minds />;
  if (name === "new") return <NewMind />;
  return <MindPage key={name} name={name} />;
}
