// Secrets of a connection: typed once, masked, kept while their field is empty, asked for again when they would go elsewhere.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { createServer } from "node:http";
import { after, before, test } from "node:test";
import { browser, server } from "./demo.mjs";
import { openPage, signIn } from "./support.mjs";

const KEY = "open-sesame-never-shown";
const PLUGIN = "connector-rust";

/** An engine that answers to who has the key. It has no tables. */
const asked = [];
const engine = createServer((request, response) => {
  asked.push(request.headers.authorization);
  const isKnown = request.headers.authorization === `Bearer ${KEY}`;
  response.writeHead(isKnown ? 200 : 401, { "Content-Type": "application/json" });
  if (!isKnown) response.end(JSON.stringify({ error: "this key opens nothing" }));
  else if (request.url === "/version") response.end(JSON.stringify({ product: "Nothing", version: "1" }));
  else response.end(`${JSON.stringify({ columns: [{ name: "name", type: "text" }] })}\n`);
});
let address;

before(async () => {
  await new Promise((resolve) => engine.listen(0, "127.0.0.1", resolve));
  address = `http://127.0.0.1:${engine.address().port}`;
  const body = readFileSync(new URL(`../museum/0.1.0/${PLUGIN}.wasm`, import.meta.url));
  const headers = { Authorization: `Bearer ${server.key}`, "Content-Type": "application/wasm" };
  const answer = await fetch(`${server.url}/api/v1/plugins`, { method: "POST", headers, body });
  assert(answer.ok, await answer.text());
  await server.api("POST", `/plugins/${PLUGIN}/activate`, {});
  while (!(await server.api("GET", "/engines")).some((one) => one.plugin === PLUGIN)) await new Promise((resolve) => setTimeout(resolve, 100));
});
after(() => engine.close());

test("secret is masked, kept while its field is empty, and sent again for another address", async () => {
  const { page, watch, context } = await openPage(browser, server);
  await signIn(page, server, server.key, "/console/data/new");
  await page.getByRole("radio", { name: /^Rust/ }).check();
  await page.getByLabel("Name").fill("vault");
  await page.getByLabel(/^URL/).fill(address);
  const secret = page.getByLabel(/^API key/);
  assert.equal(await secret.getAttribute("type"), "password");
  await secret.fill("wrong");
  await page.getByRole("button", { name: "Test and connect" }).click();
  await page.getByRole("alert").getByText(/Request/).waitFor();
  assert(!(await page.getByRole("alert").textContent()).includes("wrong"));
  await secret.fill(KEY);
  await page.getByRole("button", { name: "Test and connect" }).click();
  await page.getByRole("heading", { name: "vault" }).waitFor();

  await page.getByRole("link", { name: "Connection" }).click();
  await page.getByLabel(/^Description/).waitFor();
  const nowhere = async () => {
    assert(!(await page.content()).includes(KEY));
    assert.equal(await page.locator("input, textarea").evaluateAll((all, key) => all.filter((one) => one.value.includes(key)).length, KEY), 0);
  };
  await nowhere();
  assert.equal(await secret.inputValue(), "");
  assert.equal(await secret.getAttribute("placeholder"), "stored; leave empty to keep it");
  await page.getByLabel(/^Description/).fill("Has nothing");
  await page.getByRole("button", { name: "Test and save" }).click();
  await page.getByText("Has nothing").waitFor();
  assert.deepEqual((await server.api("GET", "/datasources/vault")).connection_data, { url: address, api_key: "********" });
  asked.length = 0;
  await server.api("POST", "/datasources/vault/catalog/refresh?wait=30", {});
  assert(asked.length > 0 && asked.every((one) => one === `Bearer ${KEY}`));

  // Whoever may change the address does not get the secret with it.
  await page.getByRole("link", { name: "Connection" }).click();
  await page.getByLabel(/^URL/).fill(`${address}/other`);
  await page.getByRole("button", { name: "Test and save" }).click();
  await page.getByRole("alert").getByText(/api_key/).waitFor();
  await nowhere();
  watch.check();
  await context.close();
});
