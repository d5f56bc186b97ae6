// A version that keeps failing is not called any more: the console says so to operators and admins, and they release it.
import assert from "node:assert/strict";
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { after, test } from "node:test";
import { inspect, openPage, signIn, startBrowser, startServer } from "./support.mjs";

// Instances may have little memory, so a statement that sorts much ends them; and after a few faults they rest.
const [server, browser] = await Promise.all([
  startServer({
    MINDHOST_PLUGINS__MAX_MEMORY_BYTES: "67108864",
    MINDHOST_PLUGINS__FAULTS__BUDGET: "2",
    MINDHOST_PLUGINS__FAULTS__BACKOFF: "10ms",
    MINDHOST_PLUGINS__FAULTS__QUARANTINE_AFTER: "2",
  }),
  startBrowser(),
]);
const PATH = "/console/plugins/connector-sqlite";
const LARGE = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 200) SELECT count(*) FROM (SELECT DISTINCT printf('%1000000d', i) FROM n) t";

after(async () => {
  try {
    await browser.close();
  } finally {
    await server.stop();
  }
});

async function fail() {
  for (let tries = 0; tries < 40; tries++) {
    const made = server.api("POST", "/responses", { model: "small", tools: [{ type: "sql_query", query: LARGE }] });
    const { message } = await made.then(() => ({ message: "it succeeded" }), (error) => error);
    if (message.includes("is in quarantine")) return;
  }
  assert.fail("the plugin is not in quarantine after 40 failures");
}

test("quarantine is shown and released, by operators and by admins, once on the page", async () => {
  mkdirSync(join(server.dir, "files/default"), { recursive: true });
  const database = new DatabaseSync(join(server.dir, "files/default/small.db"));
  database.exec("CREATE TABLE IF NOT EXISTS item (id INTEGER)");
  database.close();
  await server.api("POST", "/datasources", { name: "small", engine: "sqlite", connection_data: { path: "small.db" } });
  await server.api("POST", "/datasources/small/catalog/refresh?wait=60", {});
  await server.api("POST", "/minds", { name: "small", datasources: ["small"], parameters: { allow_direct_queries: true } });
  const admin = await server.keyOf("admin");
  for (const key of [server.key, admin]) {
    await fail();
    const { page, watch, context } = await openPage(browser, server);
    await signIn(page, server, key, PATH);
    const trouble = page.getByRole("group", { name: "Why it is not called" });
    await trouble.getByText(/workspace default.*quarantined since .*ran out of memory/).waitFor();
    assert.equal(await page.getByText("quarantined", { exact: true }).count(), 1);
    assert.deepEqual(await inspect(page, "quarantine"), []);
    await trouble.getByRole("button", { name: "Release" }).click();
    await trouble.waitFor({ state: "detached" });
    await page.getByText("healthy", { exact: true }).waitFor();
    const answer = await server.api("POST", "/responses", { model: "small", tools: [{ type: "sql_query", query: "SELECT 1 AS one" }] });
    assert.equal(answer.status, "completed");
    watch.check();
    await context.close();
  }
  // A fault is counted once, though the server counts it as an error and as a trap.
  const { figures } = (await server.api("GET", "/plugins/connector-sqlite/usage")).since_start[0];
  const { page, watch, context } = await openPage(browser, server);
  await signIn(page, server, server.key, PATH);
  const row = page.getByRole("region", { name: /^Usage of 0\.1\.0/ }).getByRole("row", { name: /^All/ });
  assert.equal(await row.getByRole("cell").nth(3).textContent(), `${figures.traps}`);
  watch.check();
  await context.close();
});
