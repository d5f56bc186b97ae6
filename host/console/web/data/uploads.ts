// Uploads into datasources. They are kept here, not in a page, so that they go on while one looks at another page.
import { effect, signal } from "@preact/signals";
import { isAbort, toError, type ApiError, type Schemas } from "../lib/api";
import { mayLose } from "../lib/leaving";
import { key } from "../lib/session";
import { upload } from "../lib/upload";

export interface Transfer {
  id: number;
  datasource: string;
  file: File;
  state: "waiting" | "sending" | "stored" | "stopped" | "failed";
  /** Bytes that were sent. */
  sent: number;
  error: ApiError | null;
  /** Whether it may take the place of a file of that name. */
  overwrite: boolean;
}

export const transfers = signal<Transfer[]>([]);
/** Datasources whose files changed since their catalog was read, as far as this page did it. */
export const changed = signal<ReadonlySet<string>>(new Set());

let last = 0;
let current: { id: number; abort: AbortController } | null = null;

// The key that sends them is no longer there.
effect(() => {
  if (key.value !== null) return;
  current?.abort.abort();
  transfers.value = [];
  changed.value = new Set();
});

export function add(datasource: string, file: File): void {
  transfers.value = [...transfers.value, { id: ++last, datasource, file, state: "waiting", sent: 0, error: null, overwrite: false }];
  void work();
}

/** Sends a file once more. */
export function again(id: number, overwrite: boolean): void {
  set(id, { state: "waiting", sent: 0, error: null, overwrite });
  void work();
}

export function stop(id: number): void {
  if (current?.id === id) current.abort.abort();
  else set(id, { state: "stopped" });
}

/** Takes an upload that ended off the list. */
export function dismiss(id: number): void {
  transfers.value = transfers.value.filter((one) => one.id !== id);
}

export function markChanged(datasource: string, isChanged: boolean): void {
  if (changed.value.has(datasource) === isChanged) return;
  const others = [...changed.value].filter((one) => one !== datasource);
  changed.value = new Set(isChanged ? [...others, datasource] : others);
}

function set(id: number, changes: Partial<Transfer>): void {
  transfers.value = transfers.value.map((one) => (one.id === id ? { ...one, ...changes } : one));
}

/** Sends what waits, one file after the other. */
async function work(): Promise<void> {
  if (current) return;
  const done = mayLose();
  for (;;) {
    const next = transfers.value.find((one) => one.state === "waiting");
    if (!next) return done();
    const abort = new AbortController();
    current = { id: next.id, abort };
    set(next.id, { state: "sending" });
    try {
      await sendOne(next, abort.signal);
      set(next.id, { state: "stored" });
      markChanged(next.datasource, true);
    } catch (thrown) {
      set(next.id, isAbort(thrown) ? { state: "stopped" } : { state: "failed", error: toError(thrown) });
    } finally {
      current = null;
    }
  }
}

async function sendOne({ id, datasource, file, overwrite }: Transfer, signal: AbortSignal): Promise<Schemas["StoredFile"]> {
  const query = new URLSearchParams({ name: file.name, ...(overwrite && { overwrite: "true" }) });
  const address = `/api/v1/datasources/${encodeURIComponent(datasource)}/files?${query}`;
  const answer = await upload(address, file, (sent) => set(id, { sent }), signal);
  return (await answer.json()) as Schemas["StoredFile"];
}
