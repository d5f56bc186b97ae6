// One datasource: its tables, a table, the diagram, its files; and the run that reads them.
import { useEffect, useState } from "preact/hooks";
import { api, may, take } from "../lib/api";
import { plural } from "../lib/format";
import { useAction, useLoad, type Loaded } from "../lib/load";
import { Link, href } from "../lib/router";
import { Failure, RequestId } from "../ui/failure";
import { NotFound } from "../ui/not_found";
import { Badge, Head, Load, Progress } from "../ui/page";
import { Tabs } from "../ui/tabs";
import { Untrusted } from "../ui/text";
import { datasourceAddress, searchAddress, type Catalog } from "./addresses";
import { remember } from "./catalogs";
import { Diagram } from "./diagram";
import { Files, filesOf } from "./files";
import { TablePage } from "./table";
import { Tables } from "./tables";
import { markChanged } from "./uploads";

/** How often a run is looked at, in milliseconds. */
const EVERY = 700;

const VIEWS = new Set(["tables", "diagram", "files"]);

const isLoading = (catalog: Catalog) => catalog.status.active_flow_runs > 0 || ["PENDING", "LOADING"].includes(catalog.status.overall_status);

const isUnread = (catalog: Catalog) => ["NOT_STARTED", "NOT_CATALOGED"].includes(catalog.status.overall_status);

export function DatasourcePage({ name, view, table }: { name: string; view: string; table: string | null }) {
  const loaded = useLoad(
    (signal) => take(api.GET("/api/v1/datasources/{name}/catalog", { params: { path: { name } }, signal })),
    [name],
    (catalog) => (isLoading(catalog) ? EVERY : null),
  );
  const files = useLoad(async (signal) => (may("list_files") ? filesOf(name, signal) : false), [name]);
  const isReading = loaded.data !== null && isLoading(loaded.data);
  useEffect(() => {
    if (isReading) markChanged(name, false);
  }, [isReading]);
  useEffect(() => {
    if (loaded.data && !isReading) remember(loaded.data);
  }, [loaded.data]);
  const read = async () => {
    loaded.set(await take(api.POST("/api/v1/datasources/{name}/catalog/refresh", { params: { path: { name } }, body: {} })));
    loaded.reload();
  };
  if (view === "tables" && table !== null) return <TablePage name={name} table={table} catalog={loaded} />;
  if (!VIEWS.has(view) || (view === "files" && !may("list_files"))) return <NotFound />;
  const isDiagram = view === "diagram";
  const takesFiles = view === "files" || (files.data !== null && files.data !== false);
  const tabs = [
    { title: "Tables", to: datasourceAddress(name), isCurrent: view === "tables" },
    { title: "Diagram", to: href("data", name, "diagram"), isCurrent: isDiagram },
    ...(takesFiles ? [{ title: "Files", to: href("data", name, "files"), isCurrent: view === "files" }] : []),
  ];
  return (
    <div class={isDiagram ? "page wide" : "page"}>
      <Head
        title={<Untrusted text={name} />}
        up={<Up />}
        about={loaded.data && <>{loaded.data.datasource.description && <><Untrusted text={loaded.data.datasource.description} /> · </>}<Untrusted text={loaded.data.datasource.engine} /></>}
      >
        <RunButtons name={name} catalog={loaded} />
        {may("patch_datasource") && loaded.data && <Link class="button" to={href("data", name, "change")}>Connection</Link>}
      </Head>
      <Load of={loaded}>
        {(catalog) => (
          <>
            <Run catalog={catalog} />
            {files.error && view !== "files" && <Failure error={files.error} retry={files.reload} />}
            <Tabs tabs={tabs} />
            {isDiagram && <Diagram name={name} tables={catalog.tables} />}
            {view === "files" && <Files name={name} files={files} isReading={isReading} read={read} />}
            {view === "tables" && <Tables name={name} catalog={catalog} />}
          </>
        )}
      </Load>
    </div>
  );
}

function Up() {
  return <><Link to={href("data")}>Data</Link> · <Link to={searchAddress("")}>Search</Link></>;
}

/** How far the run is, and how it ended where it did not end well. */
function Run({ catalog }: { catalog: Catalog }) {
  const { status } = catalog;
  if (isLoading(catalog)) {
    return (
      <div class="card run" role="status">
        <div class="row"><Badge tone="busy">Reading the catalog</Badge><span class="muted"><Untrusted text={status.message} /></span></div>
        <Progress label="Reading the catalog" value={status.progress} />
      </div>
    );
  }
  if (status.overall_status === "COMPLETED") return null;
  const tone = status.overall_status === "FAILED" ? "bad" : "warn";
  const failed = catalog.tables.filter((table) => table.status === "FAILED");
  return (
    <div class="card run">
      <div class="row">
        <Badge tone={tone}>{WORDS[status.overall_status] ?? status.overall_status}</Badge>
        {/* The server's words name the operation that loads it. */}
        <span>{isUnread(catalog) ? "Tables and columns are known once the catalog is read." : <Untrusted text={status.message} max={1000} />}</span>
      </div>
      {failed.length > 0 && <p class="muted">{plural(failed.length, "table")} could not be read.</p>}
      {status.overall_status === "FAILED" && <RequestId id={status.request_id} />}
    </div>
  );
}

export const WORDS: Record<string, string> = {
  NOT_STARTED: "Not read yet",
  NOT_CATALOGED: "Not read yet",
  PENDING: "Waiting",
  LOADING: "Reading",
  COMPLETED: "Read",
  FAILED: "Failed",
  CANCELLED: "Stopped",
};

function RunButtons({ name, catalog }: { name: string; catalog: Loaded<Catalog> }) {
  const { busy, error, run } = useAction();
  const [mode, setMode] = useState<"all" | "missing_only">("all");
  if (!may("refresh_catalog") || catalog.data === null) return null;
  const path = { name };
  const act = (go: () => Promise<Catalog>) => void run(async () => { catalog.set(await go()); catalog.reload(); });
  const refresh = () => act(() => take(api.POST("/api/v1/datasources/{name}/catalog/refresh", { params: { path }, body: { mode } })));
  const cancel = () => act(() => take(api.POST("/api/v1/datasources/{name}/catalog/cancel", { params: { path } })));
  return (
    <>
      {error && <Failure error={error} />}
      {isLoading(catalog.data) ? (
        <button type="button" disabled={busy} onClick={cancel}>Stop reading</button>
      ) : (
        <>
          {!isUnread(catalog.data) && (
            <select class="auto" aria-label="Which tables are read" value={mode} onChange={(event) => setMode(event.currentTarget.value as typeof mode)}>
              <option value="all">All tables</option>
              <option value="missing_only">Only new tables</option>
            </select>
          )}
          <button type="button" disabled={busy} onClick={refresh}>{isUnread(catalog.data) ? "Read the tables" : "Read again"}</button>
        </>
      )}
    </>
  );
}
