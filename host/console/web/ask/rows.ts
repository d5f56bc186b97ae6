// The rows of a result: pages as they are needed, the last ones kept.
import { chartOf, type Chart } from "../chart/spec";
import { api, isAbort, take, toError, type ApiError, type Schemas } from "../lib/api";
import { withDocuments } from "./documents";

export const PAGE_ROWS = 200;
const KEPT_PAGES = 40;
const AT_ONCE = 2;
/** Rows around those in the page that are loaded before they are needed. */
const AHEAD = 60;
/** Milliseconds until pages are asked for. Who leaps over many asks for the last ones only. */
const SETTLED = 70;

export type Column = Schemas["ColumnType"];

export class Rows {
  readonly #pages = new Map<number, unknown[][]>();
  readonly #asked = new Map<number, AbortController>();
  #wanted: number[] = [];
  #timer = 0;
  columns: Column[] = [];
  total: number | null = null;
  isStable = true;
  error: ApiError | null = null;
  /** Undefined until it is known. */
  chart: Chart | null | undefined;

  constructor(
    private readonly conversation: string,
    private readonly message: string,
    private readonly changed: () => void,
    chart: Chart | null | undefined,
  ) {
    this.chart = chart;
  }

  row(index: number): unknown[] | null {
    return this.#pages.get(Math.floor(index / PAGE_ROWS))?.[index % PAGE_ROWS] ?? null;
  }

  /** Loads what is missing of these rows; what was wanted before and is not any more is given up. */
  want(from: number, until: number): void {
    const [first, last] = [Math.max(from - AHEAD, 0), Math.max(from, Math.min(until + AHEAD, this.total ?? until) - 1)];
    const wanted: number[] = [];
    for (let page = Math.floor(first / PAGE_ROWS); page <= Math.floor(last / PAGE_ROWS); page++) wanted.push(page);
    if (this.#timer !== 0 && String(wanted) === String(this.#wanted)) return;
    this.#wanted = wanted;
    for (const [page, abort] of this.#asked) if (!wanted.includes(page)) abort.abort();
    clearTimeout(this.#timer);
    this.#timer = 0;
    if (this.total === null) return this.#next();
    this.#timer = window.setTimeout(() => {
      this.#timer = 0;
      this.#next();
    }, SETTLED);
  }

  retry(): void {
    this.error = null;
    this.changed();
    this.#next();
  }

  close(): void {
    clearTimeout(this.#timer);
    this.#timer = 0;
    this.#wanted = [];
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
      // The first page of a short result holds all that a chart needs, so that no statement runs for it alone.
      const chart = this.chart === undefined && page === 0 ? { include: "chart" } : {};
      const query = { limit: PAGE_ROWS, offset: page * PAGE_ROWS, ...chart };
      const json = await take(
        api.GET("/api/v1/conversations/{id}/items/{item_id}/result", { params: { path, query }, signal: abort.signal, parseAs: "text" }),
      );
      const answer = withDocuments<Schemas["ResultPage"]>(json, ({ result }) => result, "result", "data");
      if (this.total === null) this.columns = answer.result.column_types;
      this.total = answer.total;
      if ("include" in query) this.chart = chartOf(answer);
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
