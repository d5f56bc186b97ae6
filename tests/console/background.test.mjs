// What fails while nobody waits for it: a run that reads a catalog, an evaluation, a rollout. Each says why, with the id of
// the request that began it, under which the server's log has it.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { test } from "node:test";
import { browser, server } from "./demo.mjs";
import { inspect, openPage, signIn, visit } from "./support.mjs";
import { MODEL, versionOf } from "./version.mjs";

/** Sends JSON, or a file, to the API, and gives the answer with the id of the request. */
async function begin(path, body, key = server.key) {
  const isFile = body instanceof Uint8Array;
  const headers = { Authorization: `Bearer ${key}`, "Content-Type": isFile ? "application/wasm" : "application/json" };
  const answer = await fetch(`${server.url}/api/v1${path}`, { method: "POST", headers, body: isFile ? body : JSON.stringify(body) });
  const text = await answer.text();
  assert(answer.ok, text);
  return { ...JSON.parse(text), request: answer.headers.get("x-request-id") };
}

/** The ids of requests that the page shows. */
const requests = (page) => page.locator("main").getByText(/^Request \S+/).locator("code").allTextContents();

test("run that read not all of a catalog says why, with the id of its request, also for others and beside the table", async () => {
  const database = new DatabaseSync(join(server.dir, "files/default/half.db"));
  database.exec("CREATE TABLE item (id INTEGER); CREATE VIEW broken AS SELECT * FROM gone");
  database.close();
  await server.api("POST", "/datasources", { name: "half", engine: "sqlite", connection_data: { path: "half.db" } });
  const { page, watch, context } = await openPage(browser, server);
  await signIn(page, server, server.key, "/console/data/half");
  const asked = page.waitForResponse(/\/catalog\/refresh$/);
  await page.getByRole("button", { name: "Read the tables" }).click();
  const request = (await asked).headers()["x-request-id"];
  const says = async (page) => {
    await page.getByText(/main\.broken: .*gone/).waitFor();
    assert.deepEqual(await requests(page), [request]);
  };
  await says(page);
  assert.deepEqual(await inspect(page, "run that failed"), []);
  await page.getByRole("link", { name: "broken", exact: true }).click();
  await page.getByRole("heading", { name: "broken", exact: true }).waitFor();
  await page.locator(".failure").getByText(/gone/).waitFor();
  assert.deepEqual(await requests(page), [request]);
  assert.deepEqual(await inspect(page, "table that failed"), []);
  await visit(page, "/console/data/half/tables/main.item");
  await page.getByRole("heading", { name: "item", exact: true }).waitFor();
  assert.deepEqual(await requests(page), []);
  watch.check();
  await context.close();
  const other = await openPage(browser, server);
  await signIn(other.page, server, await server.keyOf("user"), "/console/data/half");
  await says(other.page);
  other.watch.check();
  await other.context.close();
});

test("evaluation that could not go on says why, with the id of its request", async () => {
  const lines = Array.from({ length: 1000 }, () => JSON.stringify({ question: "How many orders are there?", rows: [[-1]] }));
  const tester = await server.api("POST", "/keys", { name: "tester", role: "editor" });
  const { id, request } = await begin("/minds/analyst/evaluations", { suite: lines.join("\n"), jobs: 1 }, tester.key);
  const { page, watch, context } = await openPage(browser, server);
  await signIn(page, server, server.key, `/console/minds/analyst/evaluations/${id}`);
  await page.getByRole("progressbar").waitFor();
  assert.deepEqual(await requests(page), []);
  await server.api("DELETE", `/keys/${tester.id}`);
  await page.locator(".failure").getByText(/the key that it asked with was revoked/).waitFor();
  assert.deepEqual(await requests(page), [request]);
  assert.deepEqual(await inspect(page, "evaluation that failed"), []);
  watch.check();
  await context.close();
});

test("rollout that was rolled back says why, with the id of the request that began it", async () => {
  await begin("/plugins", readFileSync(versionOf(server, "0.1.4")));
  const { request } = await begin(`/plugins/${MODEL}/activate`, { version: "0.1.4", canary: { percent: 50, seconds: 3600 } });
  const { page, watch, context } = await openPage(browser, server);
  await signIn(page, server, server.key, `/console/plugins/${MODEL}`);
  await page.getByText("Serves a share of 50").waitFor();
  assert.deepEqual(await requests(page), []);
  // By another client, with a request of its own.
  await begin(`/plugins/${MODEL}/rollback`, {});
  const row = page.getByRole("region", { name: "Rollouts" }).getByRole("row").filter({ hasText: "0.1.4" });
  await row.getByText("Rolled back", { exact: true }).waitFor();
  await row.getByText("an operator rolled back").waitFor();
  assert.deepEqual(await requests(page), [request]);
  assert.deepEqual(await inspect(page, "rollout that was rolled back"), []);
  watch.check();
  await context.close();
});
