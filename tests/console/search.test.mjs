// Search over all datasources that a key may see.
import assert from "node:assert/strict";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { before, test } from "node:test";
import { browser, server } from "./demo.mjs";
import { openPage, signIn, tabTo } from "./support.mjs";

before(async () => {
  const database = new DatabaseSync(join(server.dir, "files/default/quokkas.db"));
  for (const name of ["zoo", "quokka", "quokka_food", "old_quokka"]) database.exec(`CREATE TABLE "${name}" (id INTEGER PRIMARY KEY, keeper TEXT)`);
  database.exec("CREATE TABLE visits (id INTEGER PRIMARY KEY, saw TEXT, quokkas_seen INTEGER)");
  for (let day = 0; day < 50; day++) database.exec(`INSERT INTO visits (saw) VALUES ('${day % 2 ? "a quokka asleep" : "nothing"}')`);
  for (let many = 0; many < 250; many++) database.exec(`CREATE TABLE "wombat_${many}" (id INTEGER)`);
  database.close();
  await server.api("POST", "/datasources", { name: "reserve", engine: "sqlite", connection_data: { path: "quokkas.db" } });
  await server.api("POST", "/datasources/reserve/catalog/refresh?wait=120", {});
  await server.api("PATCH", "/datasources/reserve/catalog/tables/main.zoo", { description: "Where a quokka <b>lives</b>" });
  await server.api("POST", "/minds", { name: "quokka_friend", datasources: ["reserve"] });
});

const hits = (page, group) => page.getByRole("region", { name: group }).getByRole("listitem");

test("search finds names, descriptions and values of all datasources, the best first", async () => {
  const { page, watch, context } = await openPage(browser, server);
  await signIn(page, server, server.key, "/console/data");
  const field = page.getByRole("searchbox", { name: "Search all data" });
  await tabTo(page, field);
  await page.keyboard.type("QUOKKA");
  await page.keyboard.press("Enter");
  await page.getByText(/\d catalogs searched/).waitFor();
  // Minds are loaded apart from the catalogs.
  await hits(page, "Minds").first().waitFor();
  assert.equal(new URL(page.url()).pathname + new URL(page.url()).search, "/console/data/search?q=QUOKKA");
  assert.deepEqual(await hits(page, "Tables").getByRole("link").allTextContents(), ["quokka", "quokka_food", "old_quokka", "zoo"]);
  assert.deepEqual(await hits(page, "Columns").getByRole("link").allTextContents(), ["quokkas_seen", "saw"]);
  assert.deepEqual(await hits(page, "Minds").getByRole("link").allTextContents(), ["quokka_friend"]);
  assert.equal(await hits(page, "Tables").last().locator("mark").textContent(), "quokka");
  await hits(page, "Tables").last().getByText("Where a quokka <b>lives</b>").waitFor();
  await hits(page, "Columns").last().getByText("has the value a quokka asleep").waitFor();
  // The other datasources too, and a link leads to the column.
  await field.fill("channel");
  await page.keyboard.press("Enter");
  await hits(page, "Columns").filter({ hasText: "shop · orders" }).getByRole("link").click();
  await page.getByRole("heading", { name: "orders", exact: true }).waitFor();
  const column = page.locator(".column.found");
  assert.equal(await column.getByRole("heading").textContent(), "channel");
  await page.waitForFunction((one) => { const { top, bottom } = one.getBoundingClientRect(); return top >= 0 && bottom <= innerHeight; }, await column.elementHandle());
  watch.check();
  await context.close();
});

test("search shows the best two hundred and counts the rest, and finds what was changed meanwhile", async () => {
  const { page, watch, context } = await openPage(browser, server);
  await signIn(page, server, server.key, "/console/data/search?q=wombat");
  await page.getByText("250 matches; the best 200 are shown, 50 more are not").waitFor();
  assert.equal(await hits(page, "Tables").count(), 200);
  await page.getByRole("searchbox", { name: "Search all data" }).fill("main.wombat_77");
  await page.keyboard.press("Enter");
  await page.getByText("1 match", { exact: true }).waitFor();
  await page.getByRole("link", { name: "main.wombat_77" }).click();
  await page.getByRole("button", { name: /^Description of wombat_77:/ }).click();
  await page.getByRole("textbox", { name: "Description of wombat_77" }).fill("Digs xylophones");
  await page.getByRole("button", { name: "Save" }).click();
  await page.getByRole("button", { name: /^Description of wombat_77:/ }).getByText("xylophones").waitFor();
  await page.getByRole("link", { name: "Search", exact: true }).click();
  await page.getByRole("searchbox", { name: "Search all data" }).fill("xylophone");
  await page.keyboard.press("Enter");
  await hits(page, "Tables").getByRole("link", { name: "wombat_77" }).waitFor();
  await page.getByRole("searchbox", { name: "Search all data" }).fill("no such thing (");
  await page.keyboard.press("Enter");
  await page.getByText("Nothing was found").waitFor();
  watch.check();
  await context.close();
});

test("search of a datasource leads on to all of them", async () => {
  const { page, watch, context } = await openPage(browser, server);
  await signIn(page, server, await server.keyOf("user"), "/console/data/reserve");
  await page.getByLabel(/Search tables/).fill("channel");
  await page.getByRole("link", { name: "Search all datasources" }).click();
  await hits(page, "Columns").filter({ hasText: "shop · orders" }).waitFor();
  watch.check();
  await context.close();
});
