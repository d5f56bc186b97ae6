import { NewDatasource, ChangeDatasource } from "./connect";
import { DatasourcePage } from "./datasource";
import { Datasources } from "./list";

/** `/data`, `/data/new`, `/data/{name}`, `/data/{name}/…` */
export function DataPage({ path }: { path: string[] }) {
  const [name, view = "tables", table] = path;
  if (name === undefined) return <Datasources />;
  if (name === "new" && path.length === 1) return <NewDatasource />;
  if (view === "change") return <ChangeDatasource name={name} />;
  return <DatasourcePage key={name} name={name} view={view} table={table ?? null} />;
}
