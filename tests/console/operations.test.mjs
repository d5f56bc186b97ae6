// Operators and admins: keys, workspaces, what runs, usage, audit, health.
import assert from "node:assert/strict";
import { test } from "node:test";
import { browser, server } from "./demo.mjs";
import { inspect, openPage, signIn, visit } from "./support.mjs";

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

test("key is rotated only when that is confirmed", async () => {
  const made = await server.api("POST", "/keys", { name: "rotated", role: "user" });
  const { page, watch, context } = await openPage(browser, server);
  await signIn(page, server, server.key, "/console/operations/keys");
  const button = page.getByRole("button", { name: "Rotate rotated" });
  await button.click();
  const question = page.getByRole("dialog", { name: "Rotate rotated?" });
  await question.waitFor();
  assert.deepEqual(await inspect(page, "question before a rotation"), []);
  await question.getByRole("button", { name: "Cancel" }).click();
  await question.waitFor({ state: "detached" });
  assert.equal((await server.api("GET", "/keys/current", undefined, made.key)).name, "rotated", "it was rotated unasked");
  // The focus is where it was before the dialog.
  assert(await button.evaluate((one) => one === document.activeElement));
  await button.click();
  await question.getByRole("button", { name: "Rotate", exact: true }).click();
  const text = await page.getByRole("dialog", { name: "The new key" }).locator("code").textContent();
  assert.notEqual(text, made.key);
  assert.equal((await server.api("GET", "/keys/current", undefined, text)).name, "rotated");
  await assert.rejects(server.api("GET", "/keys/current", undefined, made.key), /401/);
  watch.check();
  await context.close();
});

test("workspace is made and deleted", async () => {
  const { page, watch, context } = await openPage(browser, server);
  await signIn(page, server, server.key, "/console/operations/workspaces");
  await page.getByLabel("Name of the new workspace").fill("branch");
  await page.getByRole("button", { name: "Make a workspace" }).click();
  const row = page.getByRole("row", { name: /branch/ });
  // Its first key, which belongs to it alone, is shown once.
  await row.getByRole("button", { name: "Make an admin key" }).click();
  const shown = page.getByRole("dialog", { name: "The new key" });
  const who = await server.api("GET", "/keys/current", undefined, await shown.locator("code").textContent());
  assert.deepEqual([who.workspace, who.role], ["branch", "admin"]);
  await page.keyboard.press("Escape");
  await shown.waitFor({ state: "detached" });
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

test("text of a new key is copied", async () => {
  const { page, watch, context } = await openPage(browser, server);
  await context.grantPermissions(["clipboard-read", "clipboard-write"], { origin: server.url });
  await signIn(page, server, server.key, "/console/operations/keys");
  await page.getByRole("button", { name: "Make a key" }).click();
  await page.getByLabel("Name").fill("copied");
  await page.getByRole("button", { name: "Make it" }).click();
  const dialog = page.getByRole("dialog", { name: "The new key" });
  const text = await dialog.locator("code").textContent();
  await dialog.getByRole("button", { name: "Copy" }).click();
  await dialog.getByRole("button", { name: "Copied" }).waitFor();
  assert.equal(await page.evaluate(() => navigator.clipboard.readText()), text);
  assert.equal((await server.api("GET", "/keys/current", undefined, text)).name, "copied");
  watch.check();
  await context.close();
});

test("usage is a chart over a chosen period, and a table by key, Mind, day and plugin", async () => {
  await server.api("POST", "/responses", { model: "analyst", input: "How many orders are there?" });
  // The day of that answer, also if midnight comes while the page is looked at.
  const today = new Date().toISOString().slice(0, 10);
  const { page, watch, context } = await openPage(browser, server);
  await signIn(page, server, server.key, "/console/operations/usage");
  const chart = page.getByRole("region", { name: "Usage by day" });
  await chart.getByRole("img", { name: /^Requests by day/ }).waitFor();
  assert.equal(await chart.locator(".bar").count(), 30);
  await page.getByLabel("Period").selectOption("90 days");
  await page.waitForFunction(() => document.querySelectorAll(".bars .bar").length === 90);
  assert.equal(new URL(page.url()).searchParams.get("days"), "90");
  await chart.getByLabel("Measure").selectOption("Tokens read");
  await chart.getByRole("img", { name: /^Tokens read by day/ }).waitFor();
  await chart.getByText("Values of the chart").click();
  await chart.getByRole("row", { name: today }).waitFor();

  const groups = page.getByRole("region", { name: "Usage by group" });
  const rowOf = async (group, name) => {
    await groups.getByRole("combobox").selectOption(group);
    await groups.getByRole("columnheader", { name: group, exact: true }).waitFor();
    return groups.getByRole("row", { name }).first();
  };
  await (await rowOf("Key", "first key")).waitFor();
  await (await rowOf("Mind", "analyst")).waitFor();
  await (await rowOf("Day", today)).waitFor();
  await (await rowOf("Plugin", "connector-sqlite")).waitFor();
  await groups.getByRole("columnheader", { name: "Calls" }).waitFor();
  // The address holds the choices.
  assert.equal(new URL(page.url()).searchParams.get("by"), "plugin");
  watch.check();
  await context.close();
});

test("usage by plugin leaves out those that were never used, and is for operators", async () => {
  const { page, watch, context } = await openPage(browser, server);
  await page.route(/\/api\/v1\/plugins$/, async (route) => {
    const answer = await route.fetch();
    const all = await answer.json();
    await route.fulfill({ response: answer, json: [...all, { ...all[0], name: "never-used" }] });
  });
  await signIn(page, server, server.key, "/console/operations/usage?by=plugin");
  const groups = page.getByRole("region", { name: "Usage by group" });
  await groups.getByRole("row", { name: "connector-sqlite" }).waitFor();
  assert.equal(await groups.getByText("never-used").count(), 0);
  watch.check();
  await context.close();

  const admin = await openPage(browser, server);
  await signIn(admin.page, server, await server.keyOf("admin"), "/console/operations/usage?by=plugin");
  await admin.page.getByRole("heading", { name: "By key" }).waitFor();
  assert.equal(await admin.page.getByRole("option", { name: "Plugin" }).count(), 0);
  admin.watch.check();
  await admin.context.close();
});

test("audit is filtered by key, text and failure, also over older entries", async () => {
  const { id, key } = await server.api("POST", "/keys", { name: "audited", role: "admin" });
  // More than a page of entries, the one that failed being the oldest of them.
  await server.api("POST", "/minds", { name: "audited", datasources: ["shop"] }, key);
  await server.api("POST", "/minds", { name: "audited", datasources: ["shop"] }, key).catch(() => undefined);
  for (let made = 0; made < 60; made++) await server.api("PATCH", "/datasources/shop", { description: `description ${made}` }, key);

  const { page, watch, context } = await openPage(browser, server);
  await signIn(page, server, server.key, "/console/operations/audit");
  const table = page.getByRole("region", { name: "Audit trail" });
  const rows = table.locator("tbody tr");
  await rows.first().waitFor();
  await page.getByLabel("Key", { exact: true }).selectOption(id);
  await page.getByRole("status").filter({ hasText: "50 entries" }).waitFor();
  assert(await rows.evaluateAll((all) => all.every((row) => row.children[1].textContent === "audited")));
  await page.getByLabel("Failed only").check();
  await page.getByRole("status").filter({ hasText: "0 entries of 50" }).waitFor();
  await page.getByRole("button", { name: "Older entries" }).click();
  await rows.getByText("POST /minds").waitFor();
  assert.equal(await rows.count(), 1);
  await page.getByLabel("Failed only").uncheck();
  await page.getByLabel("Search what is loaded").fill("post /minds");
  await page.waitForFunction(() => document.querySelectorAll("main tbody tr").length === 2);
  await page.getByRole("button", { name: "Older entries" }).waitFor({ state: "detached" });

  // The address holds them, so it shows another admin the same.
  const { search } = new URL(page.url());
  await visit(page, "/console/operations/keys");
  await visit(page, `/console/operations/audit${search}`);
  await page.getByRole("status").filter({ hasText: "0 entries of 50" }).waitFor();
  assert.equal(await page.getByLabel("Key", { exact: true }).inputValue(), id);
  watch.check();
  await context.close();
});
