import { PluginError, control, http, log } from "./mindhost/index.js";
import type { Row, Scanner, Table, TableRef } from "./mindhost/index.js";
import { total } from "./lib/sums.ts";

/** An item as the source gives it. */
interface Item extends Record<string, unknown> {
  n: number;
  id: bigint | number;
}

interface Page {
  items: Item[];
}

const ITEMS: Table = {
  columns: [
    { name: "n", type: "int64" },
    { name: "id", type: "decimal", nativeType: "decimal(20,0)" },
    { name: "amount", type: "decimal", nativeType: "decimal(30,19)" },
    { name: "at", type: "timestamp-utc" },
  ],
};

export default class Items implements Scanner {
  private readonly url: string;

  constructor({ url }: { url: string }) {
    this.url = url;
  }

  check() {
    const began = Date.now();
    control.sleep(150);
    console.log("slept", { enough: Date.now() - began >= 150 });
    console.warn("a warning\nin two lines");
    log.debug("a detail");
    return { product: "Items", version: 1 };
  }

  tables() {
    return ["items", "broken", "refused"];
  }

  describe() {
    return ITEMS;
  }

  *scan({ name }: TableRef): Generator<Row> {
    const first = http.withQuery(`${this.url}/items`, { page: 1 });
    for (const page of http.pages(first, { retries: 3, exact: true })) yield* (page as Page).items;
    if (name === "broken") total(null!);
    if (name === "refused") refuse();
  }
}

function refuse(): never {
  try {
    total(null!);
  } catch (cause) {
    throw new PluginError("upstream", "the items are odd", { cause });
  }
  throw new Error("nothing was odd");
}
