import { PluginError, control, http, log } from "./mindhost/index.js";
import { total } from "./lib/sums.js";

const ITEMS = {
  columns: [
    { name: "n", type: "int64" },
    { name: "id", type: "decimal", nativeType: "decimal(20,0)" },
    { name: "amount", type: "decimal", nativeType: "decimal(30,19)" },
    { name: "at", type: "timestamp-utc" },
  ],
};

export default class Items {
  constructor({ url }) {
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

  *scan({ name }) {
    const first = http.withQuery(`${this.url}/items`, { page: 1 });
    for (const page of http.pages(first, { retries: 3, exact: true })) yield* page.items;
    if (name === "broken") total(null);
    if (name === "refused") refuse();
  }
}

function refuse() {
  try {
    total(null);
  } catch (cause) {
    throw new PluginError("upstream", "the items are odd", { cause });
  }
}
