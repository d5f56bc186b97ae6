// The rows of a result: pages as they are needed, the last ones kept.
import { api, isAbort, take, toError, type ApiError, type Schemas } from "../lib/api";

export const PAGE_ROWS = 200;
const KEPT_PAGES = 40;
const AT_ONCE = 2;

export type Column = Schemas["ColumnType"];

export class Rows {
  readonly #pages = new Map<number, unknown[][]>();
  readonly #asked = new Map<number, AbortController>();
  #wanted: number[] = [];
  columns: Column[] = [];
  total: number | null = null;
  isStable = true;
  error: ApiError | null = null;

  constructor(
    private readonly conversation: string,
    private readonly message: string,
    private readonly changed: () => void,
  ) {}

  row(index: number): unknown[] | null {
    return this.#pages.get(Math.floor(index / PAGE_ROWS))?.[index % PAGE_ROWS] ?? null;
  }

  /** Loads what is missing of these rows; what was wanted before and is not any more is given up. */
  want(from: number, until: number): void {
    const last = Math.max(from, until - 1);
    this.#wanted = [];
    for (let page = Math.floor(from / PAGE_ROWS); page <= Math.floor(last / PAGE_ROWS); page++) this.#wanted.push(page);
    for (const [page, abort] of this.#asked) if (!this.#wanted.includes(page)) abort.abort();
    this.#next();
  }

  retry(): void {
    this.error = null;
    this.#next();
  }

  close(): void {
    for (const abort of this.#asked.values()) abort.abort();
  }

  #next(): void {
    if (this.error) return;
    const missing = this.#wanted.filter((page) => !this.#pages.has(page) && !this.#asked.has(page));
    for (const page of missing.slice(0, AT_ONCE - this.#asked.size)) void this.#load(page);
  }

  async #load(page: number): Promise<void> {
    const abort = new AbortController();
    this.#asked.set(page, abort);
    try {
      const path = { id: this.conversation, item_id: this.message };
      const query = { limit: PAGE_ROWS, offset: page * PAGE_ROWS };
      const answer = await take(
        api.GET("/api/v1/conversations/{id}/items/{item_id}/result", { params: { path, query }, signal: abort.signal }),
      );
      this.columns = answer.result.column_types;
      this.total = answer.total;
      this.isStable = answer.is_pagination_consistent;
      this.#pages.set(page, answer.result.data);
      const oldest = [...this.#pages.keys()].find((one) => !this.#wanted.includes(one));
      if (this.#pages.size > KEPT_PAGES && oldest !== undefined) this.#pages.delete(oldest);
    } catch (thrown) {
      if (!isAbort(thrown)) this.error = toError(thrown);
    } finally {
      this.#asked.delete(page);
    }
    this.changed();
    this.#next();
  }
}
