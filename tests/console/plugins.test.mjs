// Operators: look at a plugin file, install it, let it serve a share, roll back; look after keys and workspaces.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { browser, server } from "./demo.mjs";
import { openPage, signIn } from "./support.mjs";

const MODEL = "model-offline";

/** The offline model as its next version: with another number, in its manifest and in what it says of itself. */
function otherVersion() {
  const manifest = readFileSync(new URL(`../../plugins/${MODEL}/manifest.json`, import.meta.url), "utf8");
  const [old, next] = ['"version": "0.1.0"', '"version": "0.1.9"'];
  assert(manifest.includes(old));
  const built = readFileSync(join(process.env.TEST_PLUGINS, `${MODEL}.wasm`), "latin1");
  const [described, code, file] = [".next.json", ".code.wasm", ".next.wasm"].map((name) => join(server.dir, name));
  writeFileSync(described, manifest.replace(old, next));
  writeFileSync(code, built.replaceAll(old, next), "latin1");
  execFileSync(process.env.TEST_PROGRAM, ["plugin", "pack", code, "--manifest", described, "--output", file]);
  return file;
}

test("version is looked at, installed, serves a share, and is rolled back", async () => {
  const { page, watch, context } = await openPage(browser, server);
  await signIn(page, server, server.key, "/console/plugins");
  await page.locator("input[type=file]").setInputFiles(otherVersion());
  await page.getByRole("heading", { name: /0\.1\.9/ }).waitFor();
  await page.getByRole("button", { name: "Install", exact: true }).click();
  await page.getByRole("link", { name: "Activate it" }).click();
  await page.getByRole("button", { name: "Activate …" }).click();
  const dialog = page.getByRole("dialog");
  await dialog.getByRole("slider").fill("50");
  await dialog.getByText("50 %").waitFor();
  await dialog.getByLabel("For how many seconds").fill("600");
  await dialog.getByRole("button", { name: "Activate", exact: true }).click();
  await page.getByText("Serves a share of 50").waitFor({ timeout: 60_000 });
  // Calls go to both, and the curves follow them.
  const rollout = page.getByRole("region", { name: "Rollout" });
  const calls = rollout.getByRole("row", { name: /^New/ }).getByRole("cell").first();
  await rollout.getByRole("row", { name: /^New/ }).waitFor();
  for (let asked = 0; asked < 8; asked++) await server.api("POST", "/responses", { model: "analyst", input: "How many orders are there?", store: false });
  await page.waitForFunction((cell) => Number(cell.textContent) > 0, await calls.elementHandle());
  await rollout.getByRole("img", { name: /latency/ }).waitFor();
  await page.getByRole("button", { name: "Stop and roll back" }).click();
  await page.getByRole("table").getByText("Rolled back", { exact: true }).waitFor({ timeout: 60_000 });
  const [serves] = (await server.api("GET", `/plugins/${MODEL}`)).versions.filter((one) => one.status === "active");
  assert.equal(serves.version, "0.1.0");
  watch.check();
  await context.close();
});

test("file that is no plugin is refused in the server's words", async () => {
  const { page, watch, context } = await openPage(browser, server);
  await signIn(page, server, server.key, "/console/plugins");
  await page.locator("input[type=file]").setInputFiles({ name: "x.wasm", mimeType: "application/wasm", buffer: Buffer.from("nothing") });
  await page.getByRole("alert").getByText(/Request/).waitFor();
  watch.check();
  await context.close();
});

test("key is made for one Mind, shown once, and revoked", async () => {
  const { page, watch, context } = await openPage(browser, server);
  await signIn(page, server, server.key, "/console/operations/keys");
  await page.getByRole("button", { name: "Make a key" }).click();
  await page.getByLabel("Name").fill("dashboard");
  await page.getByRole("checkbox", { name: "analyst" }).check();
  await page.getByRole("button", { name: "Make it" }).click();
  const text = await page.getByRole("dialog", { name: "The new key" }).locator("code").textContent();
  assert.equal((await server.api("GET", "/keys/current", undefined, text)).minds[0], "analyst");
  await page.getByRole("button", { name: "Close" }).click();
  const row = page.getByRole("row", { name: /dashboard/ });
  await row.getByRole("button", { name: "Revoke" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Revoke" }).click();
  await row.getByText("revoked").waitFor();
  watch.check();
  await context.close();
});

test("workspace is made and deleted", async () => {
  const { page, watch, context } = await openPage(browser, server);
  await signIn(page, server, server.key, "/console/operations/workspaces");
  await page.getByLabel("Name of the new workspace").fill("branch");
  await page.getByRole("button", { name: "Make a workspace" }).click();
  const row = page.getByRole("row", { name: /branch/ });
  await row.getByRole("button", { name: "Delete" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Delete" }).click();
  await row.waitFor({ state: "detached" });
  watch.check();
  await context.close();
});

test("statement that runs too long is seen and stopped", async () => {
  const { page, watch, context } = await openPage(browser, server);
  await signIn(page, server, server.key, "/console/operations/running");
  await page.getByText("Nothing runs").waitFor();
  const query = "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n";
  const asked = server.api("POST", "/responses", { model: "manager", tools: [{ type: "sql_query", query }] }).catch((error) => error);
  const row = page.getByRole("row").filter({ hasText: query });
  await row.getByText("SQL").waitFor();
  await row.getByRole("button", { name: "Stop" }).click();
  await page.getByText("Nothing runs").waitFor();
  const { message } = await asked;
  assert.match(message, /499.*cancelled/s);
  watch.check();
  await context.close();
});

test("health and audit show what happened", async () => {
  const { page, watch, context } = await openPage(browser, server);
  await signIn(page, server, server.key, "/console/operations/health");
  await page.getByRole("cell", { name: "connector-sqlite" }).waitFor();
  await page.getByRole("link", { name: "Audit" }).click();
  await page.getByText("POST /console/links").waitFor();
  watch.check();
  await context.close();
});
