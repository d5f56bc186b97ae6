// The catalogs that a search over all datasources reads. They are kept until the page is left or the session ends.
import { effect, signal } from "@preact/signals";
import { api, isAbort, take, toError, type ApiError, type Schemas } from "../lib/api";
import { key } from "../lib/session";

type Catalog = Schemas["Catalog"];

/** By the id of the datasource, for a name may be given again. */
export const catalogs = signal<ReadonlyMap<string, Catalog>>(new Map());

effect(() => {
  if (key.value === null) catalogs.value = new Map();
});

/** Keeps a catalog that was loaded elsewhere, so that a search finds what was changed there. */
export function remember(catalog: Catalog): void {
  catalogs.value = new Map([...catalogs.value, [catalog.datasource.id, catalog]]);
}

export interface Reading {
  /** Catalogs that were read, and how many there are. Null until the list of datasources is there. */
  done: number;
  of: number | null;
  errors: ApiError[];
}

/** Reads the catalogs that are not kept yet, one after the other, and drops those of datasources that are gone. */
export async function readAll(signal: AbortSignal, report: (reading: Reading) => void): Promise<void> {
  const errors: ApiError[] = [];
  try {
    const all = await take(api.GET("/api/v1/datasources", { signal }));
    const ids = new Set(all.map((one) => one.id));
    catalogs.value = new Map([...catalogs.value].filter(([id]) => ids.has(id)));
    for (const [done, { id, name }] of all.entries()) {
      report({ done, of: all.length, errors });
      if (catalogs.value.has(id)) continue;
      try {
        remember(await take(api.GET("/api/v1/datasources/{name}/catalog", { params: { path: { name } }, signal })));
      } catch (error) {
        if (isAbort(error)) throw error;
        // The others can be searched all the same.
        errors.push(toError(error));
      }
    }
    report({ done: all.length, of: all.length, errors });
  } catch (error) {
    if (!isAbort(error)) report({ done: 0, of: 0, errors: [...errors, toError(error)] });
  }
}
