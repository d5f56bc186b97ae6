// The files of a datasource that reads a directory: what is there, more of them, fewer of them.
import { useEffect, useState } from "preact/hooks";
import { ApiError, api, may, take, type Schemas } from "../lib/api";
import { bytes, plural, visible } from "../lib/format";
import { useAction, type Loaded } from "../lib/load";
import { Confirm } from "../ui/dialog";
import { Drop } from "../ui/drop";
import { Failure } from "../ui/failure";
import { Empty, Load, Progress } from "../ui/page";
import { Time } from "../ui/time";
import { Untrusted } from "../ui/text";
import { add, again, changed, dismiss, markChanged, stop, transfers, type Transfer } from "./uploads";

type StoredFile = Schemas["StoredFile"];

/** The files of a datasource; false if its engine reads no directory of the workspace's own, which only the server knows. */
export async function filesOf(name: string, signal?: AbortSignal): Promise<StoredFile[] | false> {
  try {
    return await take(api.GET("/api/v1/datasources/{name}/files", { params: { path: { name } }, signal }));
  } catch (error) {
    if (error instanceof ApiError && error.code === "wrong_state") return false;
    throw error;
  }
}

interface Props {
  name: string;
  files: Loaded<StoredFile[] | false>;
  isReading: boolean;
  /** Reads the catalog. */
  read: () => Promise<void>;
}

export function Files({ name, files, isReading, read }: Props) {
  const own = transfers.value.filter((one) => one.datasource === name);
  const stored = own.filter((one) => one.state === "stored").length;
  useEffect(() => {
    if (stored > 0) files.reload();
  }, [stored]);
  if (files.data === false) return <Empty title="This datasource takes no files" />;
  return (
    <>
      {may("upload_file") && (
        <Drop multiple take={(file) => add(name, file)}>Drop files here, or choose them. Their tables are known when the catalog is read.</Drop>
      )}
      {own.length > stored && (
        <ul class="entries" aria-label="Uploads">
          {own.filter((one) => one.state !== "stored").map((one) => <Upload key={one.id} transfer={one} />)}
        </ul>
      )}
      <p class="muted" role="status">{stored > 0 && `${plural(stored, "file")} stored.`}</p>
      {changed.value.has(name) && !isReading && <Unread read={read} />}
      <Load of={files}>{(all) => <List name={name} files={all || []} deleted={() => { markChanged(name, true); files.reload(); }} />}</Load>
    </>
  );
}

/** The catalog has the tables of the files as they were when it was read. */
function Unread({ read }: { read: () => Promise<void> }) {
  const { busy, error, run } = useAction();
  return (
    <div class="notice row" role="status">
      <span class="fill">The files changed. Tables and columns are known again when the catalog is read.</span>
      {may("refresh_catalog") && <button type="button" class="small" disabled={busy} onClick={() => void run(read)}>Read the catalog</button>}
      {error && <Failure error={error} />}
    </div>
  );
}

const STATES: Record<Transfer["state"], string> = { waiting: "waits", sending: "", stored: "", stopped: "stopped", failed: "not stored" };

function Upload({ transfer: { id, file, state, sent, error } }: { transfer: Transfer }) {
  const isOver = state === "stopped" || state === "failed";
  const isSent = sent >= file.size;
  return (
    <li class="card stack tight">
      <div class="row">
        <strong class="fill"><Untrusted text={file.name} /></strong>
        <span class="muted" role="status">{state === "sending" ? (isSent ? "the server stores it" : `${bytes(sent)} of ${bytes(file.size)}`) : STATES[state]}</span>
        {!isOver && <button type="button" class="small" onClick={() => stop(id)}>Stop<span class="hidden"> <Untrusted text={file.name} /></span></button>}
        {state === "failed" && error?.code === "name_taken" && <button type="button" class="small" onClick={() => again(id, true)}>Replace the file that is there</button>}
        {(state === "stopped" || (state === "failed" && error?.code !== "name_taken")) && <button type="button" class="small" onClick={() => again(id, false)}>Try again</button>}
        {isOver && <button type="button" class="small quiet" aria-label={`Take ${visible(file.name)} off the list`} onClick={() => dismiss(id)}>✕</button>}
      </div>
      {state === "sending" && <Progress label={`Upload of ${visible(file.name)}`} value={isSent ? undefined : sent / file.size} />}
      {error && <Failure error={error} />}
    </li>
  );
}

function List({ name, files, deleted }: { name: string; files: StoredFile[]; deleted: () => void }) {
  const [doomed, setDoomed] = useState<string | null>(null);
  const { busy, error, run, clear } = useAction();
  const close = () => { setDoomed(null); clear(); };
  const remove = (file: string) =>
    void run(async () => {
      await take(api.DELETE("/api/v1/datasources/{name}/files/{file}", { params: { path: { name, file } } }));
      setDoomed(null);
      deleted();
    });
  if (files.length === 0) return <Empty title="There is no file yet" />;
  const total = files.reduce((sum, one) => sum + one.bytes, 0);
  return (
    <>
      <p class="muted">{plural(files.length, "file")}, {bytes(total)}</p>
      <div class="card flush scroll" tabIndex={0} role="region" aria-label="Files">
        <table>
          <thead><tr><th scope="col">File</th><th scope="col" class="right">Size</th><th scope="col">Changed</th><th><span class="hidden">Actions</span></th></tr></thead>
          <tbody>
            {files.map((one) => (
              <tr key={one.name}>
                <th scope="row"><Untrusted text={one.name} /></th>
                <td class="right">{bytes(one.bytes)}</td>
                <td><Time at={one.modified_at} /></td>
                <td class="right">{may("delete_file") && <button type="button" class="small danger" aria-label={`Delete ${visible(one.name)}`} onClick={() => setDoomed(one.name)}>Delete</button>}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      {doomed !== null && (
        <Confirm title={`Delete ${doomed}?`} action="Delete" busy={busy} close={close} confirm={() => remove(doomed)}>
          <p>The file is gone for good. Questions about its table fail until the catalog is read again.</p>
          {error && <Failure error={error} />}
        </Confirm>
      )}
    </>
  );
}
