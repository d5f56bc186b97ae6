// Datasources and Minds: connect, look, describe, search, draw, make, change.
import assert from "node:assert/strict";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { test } from "node:test";
import { browser, server } from "./demo.mjs";
import { openPage, signIn, visit } from "./support.mjs";
import { Vendor } from "./vendor.mjs";

test("database is connected with a form of its connector, and tried first", async () => {
  const { page, watch, context } = await openPage(browser, server);
  await signIn(page, server, server.key, "/console/data");
  await page.getByRole("link", { name: "Connect a database" }).click();
  await page.getByRole("radio", { name: /SQLite/ }).check();
  await page.getByLabel("Name").fill("stock");
  await page.getByLabel("Path").fill("missing.db");
  await page.getByRole("button", { name: "Test and connect" }).click();
  await page.getByRole("alert").getByText(/Request/).waitFor();
  await page.getByLabel("Path").fill("warehouse.db");
  await page.getByRole("button", { name: "Test and connect" }).click();
  // The catalog loads while one looks.
  await page.getByRole("link", { name: "suppliers" }).waitFor();
  await page.getByText(/tables$/).first().waitFor();
  watch.check();
  await context.close();
});

test("list of a connection is written one a line, and sent as a list", async () => {
  const { page, watch, context } = await openPage(browser, server);
  const more = { schemas: { type: "array", items: { type: "string" }, title: "Schemas" }, roles: { type: "object", title: "Roles" } };
  await page.route(/\/api\/v1\/engines$/, async (route) => {
    const answer = await route.fetch();
    const engines = await answer.json();
    for (const { connection_data } of engines) Object.assign(connection_data.properties, more);
    await route.fulfill({ response: answer, json: engines });
  });
  await signIn(page, server, server.key, "/console/data/new");
  await page.getByRole("radio", { name: /SQLite/ }).check();
  await page.getByLabel("Name").fill("listed");
  await page.getByLabel("Path").fill("missing.db");
  await page.getByLabel(/^Schemas/).focus();
  await page.keyboard.type("sales\n");
  await page.keyboard.press("Enter");
  await page.keyboard.type(" stock, old ");
  assert.equal(await page.getByLabel(/^Schemas/).inputValue(), "sales\n\n stock, old ");
  await page.getByLabel(/^Roles/).fill('{"hive": "reader"}');
  const sent = page.waitForRequest((one) => one.method() === "POST" && one.url().endsWith("/datasources"));
  await page.getByRole("button", { name: "Test and connect" }).click();
  assert.deepEqual((await sent).postDataJSON().connection_data, { path: "missing.db", schemas: ["sales", "stock, old"], roles: { hive: "reader" } });
  await page.getByRole("alert").getByText(/Request/).waitFor();
  watch.check();
  await context.close();
});

test("database that is connected leads to its page, also if its catalog is not read", async () => {
  const { page, watch, context } = await openPage(browser, server);
  await page.route(/\/catalog\/refresh$/, (route) => route.fulfill({ status: 503, json: { error: { message: "Too busy.", code: "overloaded" } } }));
  await signIn(page, server, server.key, "/console/data/new");
  await page.getByRole("radio", { name: /SQLite/ }).check();
  await page.getByLabel("Name").fill("unread");
  await page.getByLabel("Path").fill("warehouse.db");
  await page.getByRole("button", { name: "Test and connect" }).click();
  await page.getByRole("heading", { name: "unread" }).waitFor();
  await page.getByText("Not read yet").first().waitFor();
  await page.unrouteAll();
  await page.getByRole("button", { name: "Read the tables" }).click();
  await page.getByRole("link", { name: "suppliers" }).waitFor();
  await server.api("DELETE", "/datasources/unread");
  watch.check();
  await context.close();
});

test("run that reads a large catalog is stopped", async () => {
  const database = new DatabaseSync(join(server.dir, "files/default/large.db"));
  const columns = Array.from({ length: 8 }, (_, index) => `c${index}`);
  database.exec("BEGIN");
  for (let table = 0; table < 150; table++) {
    database.exec(`CREATE TABLE t${table} (${columns.join(", ")})`);
    const values = columns.map((_, index) => `i * ${index + 1}`).join(", ");
    database.exec(`INSERT INTO t${table} WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 5000) SELECT ${values} FROM n`);
  }
  database.exec("COMMIT");
  database.close();
  await server.api("POST", "/datasources", { name: "large", engine: "sqlite", connection_data: { path: "large.db" } });
  const { page, watch, context } = await openPage(browser, server);
  await signIn(page, server, server.key, "/console/data/large");
  await page.getByRole("button", { name: "Read the tables" }).click();
  await page.getByRole("progressbar", { name: "Reading the catalog" }).waitFor();
  await page.getByRole("button", { name: "Stop reading" }).click();
  await page.getByText("Stopped", { exact: true }).first().waitFor();
  await page.getByRole("button", { name: "Read again" }).waitFor();
  const { status, tables } = await server.api("GET", "/datasources/large/catalog");
  assert.equal(status.overall_status, "CANCELLED");
  assert(tables.filter((one) => one.status === "COMPLETED").length < 150);
  await server.api("DELETE", "/datasources/large");
  watch.check();
  await context.close();
});

test("datasource is deleted only when that is confirmed", async () => {
  await server.api("POST", "/datasources", { name: "doomed", engine: "sqlite", connection_data: { path: "shop.db" } });
  const { page, watch, context } = await openPage(browser, server);
  await signIn(page, server, server.key, "/console/data/doomed/change");
  await page.getByRole("button", { name: "Delete …" }).click();
  const question = page.getByRole("dialog", { name: "Delete doomed?" });
  await question.getByRole("button", { name: "Cancel" }).click();
  await question.waitFor({ state: "detached" });
  assert.equal((await server.api("GET", "/datasources/doomed")).name, "doomed");
  await page.getByRole("button", { name: "Delete …" }).click();
  await question.getByRole("button", { name: "Delete", exact: true }).click();
  await page.getByRole("link", { name: /shop/ }).waitFor();
  assert(!(await server.api("GET", "/datasources")).some((one) => one.name === "doomed"));
  watch.check();
  await context.close();
});

test("what the server refuses is asked for once, and what may pass again", async () => {
  const { page, watch, context } = await openPage(browser, server);
  await page.clock.install();
  let asked = 0;
  page.on("request", (request) => { if (request.url().endsWith("/datasources/typo/catalog")) asked++; });
  await signIn(page, server, server.key, "/console/data/typo");
  await page.getByRole("alert").first().getByText(/Request/).waitFor();
  await page.clock.runFor(60_000);
  assert.equal(asked, 1);
  // A server that is overloaded is asked again by itself.
  let busy = true;
  await page.route(/\/datasources\/shop\/catalog$/, (route) => (busy ? route.fulfill({ status: 503, json: { error: { message: "Too busy.", code: "overloaded" } } }) : route.continue()));
  await visit(page, "/console/data/shop");
  await page.getByText("Too busy.").first().waitFor();
  busy = false;
  const again = page.waitForResponse((one) => one.url().endsWith("/datasources/shop/catalog") && one.ok());
  await page.clock.runFor(2_000);
  await again;
  await page.getByRole("link", { name: "orders", exact: true }).waitFor();
  watch.check();
  await context.close();
});

test("description is changed where it stands, and found by the search", async () => {
  const { page, watch, context } = await openPage(browser, server);
  await signIn(page, server, server.key, "/console/data/shop");
  await page.getByRole("link", { name: "orders", exact: true }).click();
  await page.getByRole("button", { name: /^Description of channel:/ }).click();
  await page.getByRole("textbox", { name: "Description of channel" }).fill("Where the zebra was bought");
  await page.getByRole("button", { name: "Save" }).click();
  await page.getByRole("button", { name: /^Description of channel:/ }).getByText("zebra").waitFor();
  assert((await page.getByRole("list", { name: "Common values" }).count()) > 0);
  await page.getByRole("link", { name: "shop", exact: true }).click();
  await page.getByLabel(/Search tables/).fill("ZEBRA");
  await page.getByText("1 of 12 tables").waitFor();
  await page.getByText("column channel").waitFor();
  watch.check();
  await context.close();
});

test("table shows its columns with their types, its keys both ways, and the shares of common values as bars", async () => {
  const { page, watch, context } = await openPage(browser, server);
  await signIn(page, server, server.key, "/console/data/shop/tables/main.orders");
  const keys = page.locator("dl.facts");
  await keys.getByText("Primary key").waitFor();
  assert.match(await keys.innerText(), /Primary key\s+id\s+Refers to\s+customer_id → customers\.id/);
  await keys.getByRole("link", { name: "customers.id" }).click();
  await page.getByRole("heading", { name: "customers", exact: true }).waitFor();
  await page.locator("dl.facts").getByText("Referred to by").waitFor();
  await page.locator("dl.facts").getByRole("link", { name: "orders", exact: true }).click();
  const column = page.locator(".column").filter({ has: page.getByRole("heading", { name: "channel", exact: true }) });
  await column.locator("code").getByText("text").waitFor();
  const known = (await server.api("GET", "/datasources/shop/catalog")).tables.find((one) => one.name === "orders").columns.find((one) => one.name === "channel").statistics;
  const values = column.getByRole("list", { name: "Common values" }).getByRole("listitem");
  assert.deepEqual(await values.locator(".value").allTextContents(), known.most_common_values.slice(0, 6));
  // The most common value has the longest bar, and the others their share of it.
  const widths = await values.locator(".bar").evaluateAll((all) => all.map((one) => one.getBoundingClientRect().width / one.parentElement.getBoundingClientRect().width));
  for (const [index, width] of widths.entries()) {
    const share = known.most_common_frequencies[index] / known.most_common_frequencies[0];
    assert(Math.abs(width / widths[0] - share) < 0.02, `bar ${index}: ${width / widths[0]} for ${share}`);
  }
  watch.check();
  await context.close();
});

test("Mind keeps the usual model of its provider when it is saved, takes another, and goes back", async () => {
  const vendor = await Vendor.start();
  await server.api("POST", "/providers", { name: "usual", plugin: "model-openai", connection_data: { base_url: vendor.url, model: "told", api: "other" } });
  await server.api("POST", "/minds", { name: "modelled", provider: "usual", datasources: ["shop"] });
  const { page, watch, context } = await openPage(browser, server);
  await signIn(page, server, server.key, "/console/minds");
  const model = page.getByLabel(/^Model/);
  const save = async (change) => {
    await page.getByRole("link", { name: /modelled/ }).click();
    await model.waitFor();
    await change();
    await page.getByRole("button", { name: "Save" }).click();
    await page.getByRole("link", { name: "Make a Mind" }).waitFor();
    if ((await server.api("GET", "/minds/modelled")).provider !== "usual") return null;
    await server.api("POST", "/responses", { model: "modelled", input: "Which model are you?", store: false });
    return vendor.models.at(-1);
  };
  assert.equal(await save(() => page.getByLabel(/^Instructions/).fill("Be brief.")), "told");
  assert.equal(await save(() => model.fill("other")), "other");
  assert.equal(await save(() => page.getByLabel(/^Callers may send SQL/).check()), "other");
  assert.equal((await server.api("GET", "/minds/modelled")).parameters.allow_direct_queries, true);
  assert.equal(await save(() => model.fill("")), "told");
  // Of another provider it has the usual model, and none that only this one knows.
  await save(() => model.fill("other"));
  await save(() => page.getByLabel("Provider").selectOption("offline"));
  const { provider, model_name } = await server.api("GET", "/minds/modelled");
  assert.deepEqual([provider, model_name], ["offline", "offline"]);
  await server.api("DELETE", "/minds/modelled");
  await server.api("DELETE", "/providers/usual");
  await vendor.stop();
  watch.check();
  await context.close();
});

test("diagram shows tables with their keys, and leads to each", async () => {
  const { page, watch, context } = await openPage(browser, server);
  await signIn(page, server, server.key, "/console/data/shop/diagram");
  await page.locator(".table-box").nth(11).waitFor();
  assert((await page.locator(".diagram .line").count()) >= 8);
  await page.getByRole("link", { name: "order_items" }).focus();
  await page.keyboard.press("Enter");
  await page.getByRole("heading", { name: "order_items" }).waitFor();
  watch.check();
  await context.close();
});

test("Mind is made of some tables, asked, changed and deleted", async () => {
  const { page, watch, context } = await openPage(browser, server);
  await signIn(page, server, server.key, "/console/minds");
  await page.getByRole("link", { name: "Make a Mind" }).click();
  await page.getByLabel("Name").fill("reviewer");
  await page.getByRole("button", { name: "Choose tables of shop" }).click();
  await page.getByRole("checkbox", { name: "reviews" }).check();
  await page.getByRole("button", { name: "Make it" }).click();
  await page.getByRole("link", { name: /reviewer/ }).getByText("shop (1 table)").waitFor();
  await page.getByRole("link", { name: /reviewer/ }).click();
  assert.deepEqual((await server.api("GET", "/minds/reviewer")).datasource_tables, [{ name: "shop", tables: ["main.reviews"] }]);
  await page.getByLabel("Instructions").fill("Be brief.");
  await page.getByRole("button", { name: "Save" }).click();
  await page.getByRole("link", { name: /reviewer/ }).click();
  await page.getByRole("button", { name: "Delete …" }).click();
  await page.getByRole("button", { name: "Delete", exact: true }).click();
  await page.getByRole("link", { name: /analyst/ }).waitFor();
  assert.equal(await page.getByRole("link", { name: /reviewer/ }).count(), 0);
  watch.check();
  await context.close();
});
