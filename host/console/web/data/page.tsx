import { may } from "../lib/api";
import { NotFound } from "../ui/not_found";
import { NewDatasource, ChangeDatasource } from "./connect";
import { DatasourcePage } from "./datasource";
import { Datasources } from "./list";
import { SearchPage } from "./search";

/** `/data`, `/data/new`, `/data/search`, `/data/{name}`, `/data/{name}/…` */
export function DataPage({ path }: { path: string[] }) {
  const [name, view = "tables", table] = path;
  if (name === undefined) return <Datasources />;
  if (name === "new" && path.length === 1) return may("create_datasource") ? <NewDatasource /> : <NotFound />;
  if (name === "search" && path.length === 1) return <SearchPage />;
  if (view === "change") return may("patch_datasource") ? <ChangeDatasource key={name} name={name} /> : <NotFound />;
  if (path.length > (view === "tables" ? 3 : 2)) return <NotFound />;
  return <DatasourcePage key={name} name={name} view={view} table={table ?? null} />;
}
