// Names of tables and columns are completed while SQL is written, by keyboard alone.
import assert from "node:assert/strict";
import { before, test } from "node:test";
import { browser, server } from "./demo.mjs";
import { openPage, signIn } from "./support.mjs";

before(async () => {
  const parameters = { allow_direct_queries: true };
  await server.api("POST", "/minds", { name: "both", datasources: ["shop", "warehouse"], parameters });
  await server.api("POST", "/minds", { name: "shopkeeper", datasources: ["shop"], parameters });
});

/** An editor for SQL to a Mind, with the names of its tables. */
async function openEditor(mind, ...datasources) {
  const opened = await openPage(browser, server);
  const { page } = opened;
  const parts = ["/api/v1/engines", ...datasources.map((one) => `/datasources/${one}/catalog?mind=${mind}`)];
  // To the end: what is typed before the names are there is not completed once they come.
  const loaded = Promise.all(parts.map(async (part) => {
    const answer = await page.waitForResponse((one) => one.url().endsWith(part) && one.ok());
    await answer.finished();
  }));
  await signIn(page, server, server.key, `/console/ask?mind=${mind}`);
  await page.getByRole("checkbox", { name: "In SQL" }).check();
  await page.locator(".editor .cm-content").waitFor();
  await loaded;
  return opened;
}

const options = (page) => page.locator(".editor .cm-tooltip-autocomplete li");
const labels = (page) => options(page).locator(".cm-completionLabel").allTextContents();

/** Types, and waits until a name is offered. */
async function offered(page, text, name) {
  await page.keyboard.type(text);
  await options(page).locator(".cm-completionLabel").getByText(name, { exact: true }).first().waitFor();
}

/** Goes to a name with the arrows, and takes it. The editor ignores keys in the first moments of a list. */
async function accept(page, name) {
  const chosen = page.locator(".editor .cm-tooltip-autocomplete li[aria-selected]");
  const first = await chosen.textContent();
  for (;;) {
    await page.keyboard.press("ArrowDown");
    if ((await chosen.textContent()) !== first || (await options(page).count()) === 1) break;
  }
  for (let presses = 0; (await chosen.locator(".cm-completionLabel").textContent()) !== name; presses++) {
    assert(presses < 200, `${name} is not reached`);
    await page.keyboard.press("ArrowDown");
  }
  await page.keyboard.press("Enter");
  await options(page).first().waitFor({ state: "detached" });
}

/** Begins anew. Typing over a selection lets Chromium style what it moves, which the policy refuses. */
async function clear(page) {
  for (const key of ["Escape", "Control+a", "Delete"]) await page.keyboard.press(key);
}

const written = (page) => page.locator(".editor .cm-content").innerText();

test("tables and columns are completed, with and without their schema", async () => {
  const { page, watch, context } = await openEditor("shopkeeper", "shop");
  await offered(page, "SELECT * FROM ord", "orders");
  await accept(page, "orders");
  assert.equal((await written(page)).trim(), "SELECT * FROM orders");
  await offered(page, " WHERE orders.cha", "channel");
  await clear(page);
  await offered(page, "SELECT * FROM main.ord", "orders");
  // Keywords, which are written large, are offered everywhere.
  assert.deepEqual((await labels(page)).filter((one) => one !== one.toUpperCase()).sort(), ["order_items", "orders"]);
  await clear(page);
  await offered(page, "SELECT * FROM shop.main.orders AS o WHERE o.tot", "total");
  watch.check();
  await context.close();
});

test("tables of several datasources are completed with theirs, and alone where that is clear", async () => {
  const { page, watch, context } = await openEditor("both", "shop", "warehouse");
  await offered(page, "SELECT * FROM warehouse.main.supp", "suppliers");
  await clear(page);
  await offered(page, "SELECT * FROM warehouse.supp", "suppliers");
  await clear(page);
  await offered(page, "SELECT * FROM supp", "suppliers");
  await clear(page);
  await offered(page, "SELECT * FROM ware", "warehouse");
  // What is offered is what the server takes.
  for (const name of ["suppliers", "main.suppliers", "warehouse.suppliers", "warehouse.main.suppliers"]) {
    await server.api("POST", "/responses", { model: "both", store: false, tools: [{ type: "sql_query", query: `SELECT count(*) FROM ${name}` }] });
  }
  watch.check();
  await context.close();
});
