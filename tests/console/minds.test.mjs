// What a Mind was taught, what its callers may see, and what they said: each is read, changed and tried in the browser.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { browser, server } from "./demo.mjs";
import { PAYLOADS } from "./payloads.mjs";
import { openPage, signIn, visit } from "./support.mjs";

/** A Mind of its own, so that no test sees what another taught. */
async function makeMind(name) {
  const all = await server.api("GET", "/minds");
  if (all.some((one) => one.name === name)) await server.api("DELETE", `/minds/${name}`);
  await server.api("POST", "/minds", { name, datasources: ["shop"], parameters: { allow_direct_queries: true } });
}

async function open(path, key = server.key) {
  const opened = await openPage(browser, server);
  await signIn(opened.page, server, key, `/console${path}`);
  return opened;
}

const entries = async (mind) => (await server.api("GET", `/minds/${mind}/knowledge`)).data;

test("term is taught, found, changed and deleted, and an error stands at its field", async () => {
  await makeMind("taught");
  const { page, watch, context } = await open("/minds/taught/knowledge");
  await page.getByText("It was taught nothing yet").waitFor();
  await page.getByRole("link", { name: "Teach it" }).click();
  await page.getByLabel("Word", { exact: true }).fill("regular");
  await page.getByLabel(/^Synonyms/).fill("loyal customer\nfriend, of the house");
  await page.getByLabel("Meaning").fill("A customer with three orders or more.");
  await page.getByLabel(/^Table/).fill("custmers");
  await page.getByRole("button", { name: "Teach it" }).click();
  await page.getByLabel(/^Table/).locator("xpath=../..").getByRole("alert").getByText(/no table 'custmers'/).waitFor();
  assert.equal(await page.getByLabel(/^Table/).getAttribute("aria-invalid"), "true");
  assert.deepEqual(await entries("taught"), []);
  await page.getByLabel(/^Table/).fill("customers");
  await page.getByRole("button", { name: "Teach it" }).click();
  await page.getByRole("region", { name: "Terms" }).getByRole("link", { name: "regular" }).waitFor();
  const [made] = await entries("taught");
  assert.deepEqual(made.synonyms, ["loyal customer", "friend, of the house"]);
  await page.getByLabel("Search knowledge").fill("NOTHING LIKE IT");
  await page.getByText("0 of 1 entry").waitFor();
  await page.getByLabel("Search knowledge").fill("FRIEND");
  await page.getByRole("link", { name: "regular" }).click();
  await page.getByLabel("Meaning").fill("Four orders.");
  await page.getByRole("button", { name: "Save" }).click();
  await page.getByText("Four orders.").waitFor();
  assert.equal((await entries("taught"))[0].id, made.id);
  await page.getByRole("link", { name: "regular" }).click();
  await page.getByRole("button", { name: "Delete …" }).click();
  await page.getByRole("button", { name: "Delete", exact: true }).click();
  await page.getByText("It was taught nothing yet").waitFor();
  watch.check();
  await context.close();
});

test("verified question is written in the SQL editor", async () => {
  await makeMind("verified");
  const { page, watch, context } = await open("/minds/verified/knowledge/new");
  await page.getByLabel("Kind").selectOption("verified_query");
  await page.getByLabel("Question").fill("How many orders were cancelled?");
  await page.getByRole("textbox", { name: "Statement" }).fill("SELECT nope FROM orders");
  await page.getByRole("button", { name: "Teach it" }).click();
  await page.getByRole("alert").getByText(/no such column: nope/).waitFor();
  // What is there goes first: over selected text Chromium itself writes styles, which the policy refuses.
  await page.getByRole("textbox", { name: "Statement" }).press("Control+a");
  await page.getByRole("textbox", { name: "Statement" }).press("Delete");
  await page.getByRole("textbox", { name: "Statement" }).fill("SELECT count(*) FROM orders WHERE status = 'cancelled'");
  await page.getByRole("button", { name: "Teach it" }).click();
  await page.getByRole("region", { name: "Verified questions" }).getByText("How many orders were cancelled?").waitFor();
  assert.equal((await entries("verified"))[0].sql, "SELECT count(*) FROM orders WHERE status = 'cancelled'");
  watch.check();
  await context.close();
});

test("entry that is being saved is sent once, however often that is asked for", async () => {
  await makeMind("once");
  const { page, watch, context } = await open("/minds/once/knowledge/new");
  await page.getByLabel("Kind").selectOption("verified_query");
  await page.getByLabel("Question").fill("How many orders are there?");
  const statement = page.getByRole("textbox", { name: "Statement" });
  await statement.fill("SELECT count(*) FROM orders");
  let release;
  const held = new Promise((resolve) => { release = resolve; });
  let sent = 0;
  await page.route(/\/minds\/once\/knowledge$/, async (route) => {
    if (route.request().method() === "POST") {
      sent++;
      await held;
    }
    await route.continue();
  });
  await statement.press("Control+Enter");
  await page.getByRole("button", { name: "Checking …" }).waitFor();
  await statement.press("Control+Enter");
  release();
  await page.getByRole("region", { name: "Verified questions" }).getByText("How many orders are there?").waitFor();
  assert.equal(sent, 1);
  watch.check();
  await context.close();
});

test("form rounds no number of a parameter", async () => {
  const sent = '{"id":9007199254740993,"allow_direct_queries":true}';
  const body = `{"name":"exact","datasources":["shop"],"parameters":${sent}}`;
  const headers = { Authorization: `Bearer ${server.key}`, "Content-Type": "application/json" };
  const made = await fetch(`${server.url}/api/v1/minds`, { method: "POST", headers, body });
  assert(made.ok, await made.text());
  const shown = async () => (await fetch(`${server.url}/api/v1/minds/exact`, { headers })).text();
  const { page, watch, context } = await open("/minds/exact");
  await page.getByLabel(/^Instructions/).fill("Be brief.");
  await page.getByRole("button", { name: "Save" }).click();
  await page.getByRole("alert").getByText("has an integer that a browser rounds").waitFor();
  assert((await shown()).includes(`"parameters":${sent}`));
  await page.getByLabel(/^Instructions/).fill("");
  await page.getByLabel(/^Model/).fill("another");
  await page.getByRole("button", { name: "Save" }).click();
  await page.waitForURL(/\/console\/minds$/);
  assert((await shown()).includes(`"parameters":${sent}`));
  await server.api("DELETE", "/minds/exact");
  watch.check();
  await context.close();
});

test("stale entry says why", async () => {
  await makeMind("stale");
  await server.api("POST", "/minds/stale/knowledge", { kind: "term", name: "bestseller", meaning: "Sold often.", table: "products" });
  const parameters = { allow_direct_queries: true };
  await server.api("PUT", "/minds/stale", { name: "stale", datasources: [{ name: "shop", tables: ["main.orders"] }], parameters });
  const { page, watch, context } = await open("/minds/stale/knowledge");
  // The server checks again within seconds after the change.
  for (let tries = 0; (await entries("stale"))[0].status !== "stale"; tries++) {
    assert(tries < 600, "the entry stays valid");
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
  await visit(page, "/console/minds");
  await visit(page, "/console/minds/stale/knowledge?kind=stale");
  await page.getByText(/^Stale: .*products/).waitFor();
  await page.getByText("1 entry · 1 stale, which no model is told").waitFor();
  watch.check();
  await context.close();
});

test("document is dropped, refused with its line, imported, and exported again", async () => {
  await makeMind("imported");
  const { page, watch, context } = await open("/minds/imported/knowledge/import");
  const bad = "terms:\n  - name: x\n    meanin: y\n";
  await page.locator("input[type=file]").setInputFiles({ name: "knowledge.yaml", mimeType: "application/yaml", buffer: Buffer.from(bad) });
  await page.waitForFunction((bad) => document.querySelector("textarea").value === bad, bad);
  await page.getByRole("button", { name: "Import" }).click();
  await page.getByRole("alert").getByText(/line 3: unknown field `meanin`/).waitFor();
  assert.match(await page.locator("pre.line").textContent(), /3 +meanin: y/);
  await page.getByLabel("Document", { exact: true }).fill("terms:\n  - name: x\n    meaning: why\n");
  await page.getByRole("button", { name: "Import" }).click();
  await page.getByText("Done: 1 created, 0 updated, 0 unchanged, 0 deleted.").waitFor();
  await page.getByRole("link", { name: "All knowledge" }).click();
  const download = page.waitForEvent("download");
  await page.getByRole("button", { name: "Export" }).click();
  const file = await download;
  assert.equal(file.suggestedFilename(), "imported.yaml");
  assert.match(readFileSync(await file.path(), "utf8"), /meaning: why/);
  watch.check();
  await context.close();
});

test("policy is made, refused at its place, and seen as another caller sees it", async () => {
  await makeMind("guarded");
  await server.api("POST", "/keys", { name: "app dashboard", role: "user", attributes: { channel: "app" } });
  const { page, watch, context } = await open("/minds/guarded/policies");
  await page.getByLabel("Table without a policy").selectOption({ label: "shop · main.orders" });
  await page.getByRole("button", { name: "Make a policy" }).click();
  const filter = page.getByRole("textbox", { name: "Rows that callers see" });
  await filter.fill("chanel = {{caller.channel}}");
  await page.getByLabel("voucher is").selectOption("hidden");
  await page.getByLabel("status is").selectOption("sql");
  await page.getByLabel("Expression for status").fill("foo(");
  await page.getByRole("button", { name: "Save" }).click();
  await page.getByRole("alert").getByText("the table has no column `chanel`").waitFor();
  await filter.fill("channel = {{caller.channel}}");
  await page.getByRole("button", { name: "Save" }).click();
  await page.locator(".masks li").filter({ hasText: "status" }).getByRole("alert").waitFor();
  await page.getByLabel("status is").selectOption("text");
  await page.getByLabel("Text for status").fill("withheld");
  await page.getByRole("button", { name: "Save" }).click();
  await page.getByText("Saved. It holds from the next statement on.").waitFor();
  const { policies } = await server.api("GET", "/minds/guarded/policies");
  assert.deepEqual(policies.map(({ filter, hidden, masked }) => ({ filter, hidden, masked })), [
    { filter: "channel = {{caller.channel}}", hidden: ["voucher"], masked: { status: { text: "withheld" } } },
  ]);
  // A key without the attribute sees no rows; one with it sees those of its channel.
  const preview = page.getByRole("region", { name: "As a caller sees it" });
  const show = preview.getByRole("button", { name: "Show" });
  await show.click();
  await preview.getByText("With no attributes: 0 rows, 8 columns.").waitFor();
  await preview.getByLabel(/Take them from a key/).selectOption({ label: "app dashboard (user)" });
  await show.click();
  await preview.getByText(/With channel = "app": .* rows, the first 20 of them here, 8 columns/).waitFor();
  const cells = await preview.getByRole("cell").allTextContents();
  assert.equal(cells.filter((text) => text === "app").length, 20);
  assert.equal(cells.filter((text) => text === "withheld").length, 20);
  // What is not saved is shown too, and stays unsaved.
  await preview.getByLabel("Value of attribute 1").fill("web");
  await page.getByLabel("status is").selectOption("hidden");
  await show.click();
  await preview.getByText(/With channel = "web": .* 7 columns/).waitFor();
  await filter.fill("channel = (");
  await show.click();
  await preview.getByRole("alert").waitFor();
  assert.equal((await server.api("GET", "/minds/guarded/policies")).policies[0].masked.status.text, "withheld");
  // What somebody else saved since is not overwritten.
  await filter.fill("channel = {{caller.channel}}");
  await server.api("PUT", "/minds/guarded/policies", { policies: [{ datasource: "shop", table: "main.orders", filter: "total > 10" }] });
  await page.getByRole("button", { name: "Save" }).click();
  await page.getByRole("alert").getByText("Somebody else changed this policy").waitFor();
  assert.equal((await server.api("GET", "/minds/guarded/policies")).policies[0].filter, "total > 10");
  await visit(page, "/console/minds/guarded/policies");
  await page.getByRole("link", { name: /main.orders/ }).click();
  await page.getByRole("button", { name: "Remove …" }).click();
  await page.getByRole("button", { name: "Remove", exact: true }).click();
  await page.getByText("Callers see all of every table").waitFor();
  watch.check();
  await context.close();
});

test("policy is saved again at once, before anything is loaded again", async () => {
  await makeMind("hurried");
  const { page, watch, context } = await open("/minds/hurried/policies/shop/main.orders");
  const filter = page.getByRole("textbox", { name: "Rows that callers see" });
  await filter.waitFor();
  let release;
  const held = new Promise((resolve) => { release = resolve; });
  await page.route(/\/api\/v1\/datasources\/shop\/catalog$/, async (route) => {
    await held;
    await route.continue();
  });
  for (const text of ["total > 10", "total > 20"]) {
    await filter.fill(text);
    await page.getByRole("button", { name: "Save", exact: true }).click();
    await page.getByText("Saved. It holds from the next statement on.").waitFor();
    assert.equal((await server.api("GET", "/minds/hurried/policies")).policies[0].filter, text);
  }
  release();
  await page.unrouteAll({ behavior: "wait" });
  watch.check();
  await context.close();
});

test("rows of a preview are not shown for a policy that was changed since", async () => {
  await makeMind("previewed");
  const { page, watch, context } = await open("/minds/previewed/policies/shop/main.orders");
  const preview = page.getByRole("region", { name: "As a caller sees it" });
  await preview.getByRole("button", { name: "Show" }).click();
  await preview.getByRole("cell").first().waitFor();
  await page.getByLabel("total is", { exact: true }).selectOption("Hidden");
  await preview.getByText(/changed since the rows were shown/).waitFor();
  assert.equal(await preview.getByRole("cell").count(), 0);
  await preview.getByRole("button", { name: "Show" }).click();
  await preview.getByRole("cell").first().waitFor();
  assert.equal(await preview.getByRole("columnheader", { name: "total", exact: true }).count(), 0);
  watch.check();
  await context.close();
});

test("changing one policy leaves the others as they are", async () => {
  await makeMind("several");
  const kept = { datasource: "shop", table: "main.customers", filter: "id > 3", hidden: [], masked: {} };
  await server.api("PUT", "/minds/several/policies", { policies: [kept] });
  const { page, watch, context } = await open("/minds/several/policies/shop/main.orders");
  await page.getByLabel("voucher is").selectOption("null");
  await page.getByRole("button", { name: "Save" }).click();
  await page.getByText("Saved. It holds from the next statement on.").waitFor();
  const { policies } = await server.api("GET", "/minds/several/policies");
  const { problem, ...same } = policies.find((one) => one.table === "main.customers");
  assert.deepEqual(same, kept);
  assert.equal(problem, null);
  assert.deepEqual(policies.find((one) => one.table === "main.orders").masked, { voucher: "null" });
  watch.check();
  await context.close();
});

test("feedback becomes a verified question", async () => {
  await makeMind("heard");
  const answer = await server.api("POST", "/responses", { model: "heard", input: "How many orders are there?" });
  await server.api("POST", `/responses/${answer.id}/feedback`, { rating: "down", comment: "Without cancelled ones.", corrected_sql: "SELECT count(*) FROM orders WHERE status <> 'cancelled'" });
  const { page, watch, context } = await open("/minds/heard/feedback");
  await page.getByText("Without cancelled ones.").waitFor();
  await page.getByRole("button", { name: "Make it a verified question …" }).click();
  const dialog = page.getByRole("dialog");
  assert.equal(await dialog.getByLabel("Question").inputValue(), "How many orders are there?");
  await dialog.getByRole("textbox", { name: "Statement" }).getByText(/cancelled/).waitFor();
  await dialog.getByRole("button", { name: "Teach it" }).click();
  await page.getByRole("link", { name: "Its verified question" }).click();
  await page.getByLabel("Question").waitFor();
  const [made] = await entries("heard");
  assert.equal(made.kind, "verified_query");
  assert.match(made.sql, /<> 'cancelled'/);
  watch.check();
  await context.close();
});

test("reader of a Mind sees what it knows, and changes nothing", async () => {
  await makeMind("read");
  const made = await server.api("POST", "/minds/read/knowledge", { kind: "instruction", name: "tone", text: "Be brief." });
  const { page, watch, context } = await open("/minds/read/knowledge", await server.keyOf("user"));
  await page.getByText("Be brief.").waitFor();
  assert.deepEqual(await page.getByRole("navigation", { name: "Views" }).getByRole("link").allTextContents(), ["Settings", "Knowledge"]);
  assert.equal(await page.getByRole("link", { name: /Teach it|Import/ }).count(), 0);
  await page.getByRole("link", { name: "tone" }).click();
  await page.getByRole("heading", { name: "tone" }).waitFor();
  assert.equal(await page.locator("main form").count(), 0);
  await visit(page, `/console/minds/read/policies`);
  await page.getByRole("heading", { name: "There is no such page" }).waitFor();
  assert(made.id);
  watch.check();
  await context.close();
});

test("Mind is asked from its page, without signing in again", async () => {
  await makeMind("asked");
  const { page, watch, context } = await open("/minds/asked");
  await page.getByRole("link", { name: "Ask it" }).click();
  await page.getByLabel("Question", { exact: true }).waitFor();
  assert.equal(await page.getByRole("combobox", { name: /^Mind/ }).inputValue(), "asked");
  watch.check();
  await context.close();
});

test("key is made with attributes", async () => {
  const { page, watch, context } = await open("/operations/keys");
  await page.getByRole("button", { name: "Make a key" }).click();
  const dialog = page.getByRole("dialog", { name: "Make a key" });
  const name = `with attributes ${Date.now()}`;
  await dialog.getByLabel("Name", { exact: true }).fill(name);
  for (const [index, [attribute, kind, text]] of [["tenant", "text", "7"], ["level", "number", "7"], ["regions", "texts", "north\nwest"], ["staff", "flag", "true"]].entries()) {
    await dialog.getByRole("button", { name: "Add an attribute" }).click();
    await dialog.getByLabel(`Name of attribute ${index + 1}`).fill(attribute);
    await dialog.getByLabel(`Kind of attribute ${index + 1}`).selectOption(kind);
    const value = dialog.getByLabel(`Value of attribute ${index + 1}`);
    await (kind === "flag" ? value.selectOption(text) : value.fill(text));
  }
  await dialog.getByRole("button", { name: "Make it" }).click();
  await page.getByRole("dialog", { name: "The new key" }).waitFor();
  const made = (await server.api("GET", "/keys")).find((one) => one.name === name);
  assert.deepEqual(made.attributes, { level: 7, regions: ["north", "west"], staff: true, tenant: "7" });
  await page.keyboard.press("Escape");
  await page.getByRole("row").filter({ hasText: name }).getByText('regions = ["north","west"]').waitFor();
  watch.check();
  await context.close();
});

test("number that the console would change is refused as an attribute", async () => {
  const { page, watch, context } = await open("/operations/keys");
  await page.getByRole("button", { name: "Make a key" }).click();
  const dialog = page.getByRole("dialog", { name: "Make a key" });
  const name = `with numbers ${Date.now()}`;
  await dialog.getByLabel("Name", { exact: true }).fill(name);
  await dialog.getByRole("button", { name: "Add an attribute" }).click();
  await dialog.getByLabel("Name of attribute 1").fill("account");
  const make = async (kind, text) => {
    await dialog.getByLabel("Kind of attribute 1").selectOption(kind);
    await dialog.getByLabel("Value of attribute 1").fill(text);
    await dialog.getByRole("button", { name: "Make it" }).click();
  };
  for (const [kind, text, said] of [
    ["number", "12a", "“12a” is no number"],
    ["number", "", "“” is no number"],
    ["number", "Infinity", "“Infinity” is no number"],
    ["number", "0x10", "“0x10” is no number"],
    ["number", "9007199254740993", "all digits of 9007199254740993"],
    ["number", "1234567.123456789012", "all digits of 1234567.123456789012"],
    ["numbers", "1\na", "“a” is no number"],
    ["numbers", "1\n-9007199254740993", "all digits of -9007199254740993"],
  ]) {
    await make(kind, text);
    await dialog.getByRole("alert").getByText(said).waitFor();
  }
  assert(!(await server.api("GET", "/keys")).some((one) => one.name === name));
  await make("numbers", "9007199254740991\n-1.5");
  await page.getByRole("dialog", { name: "The new key" }).waitFor();
  const made = (await server.api("GET", "/keys")).find((one) => one.name === name);
  assert.deepEqual(made.attributes, { account: [9007199254740991, -1.5] });
  watch.check();
  await context.close();
});

test("number of a key that was rounded when it was read is not sent to a preview", async () => {
  await makeMind("rounded");
  // Numbers of this size are exact in the text of the request alone.
  const body = '{"name": "large account", "role": "user", "attributes": {"account": 9007199254740993}}';
  const headers = { Authorization: `Bearer ${server.key}`, "Content-Type": "application/json" };
  const answer = await fetch(`${server.url}/api/v1/keys`, { method: "POST", headers, body });
  assert.equal(answer.status, 201);
  const { page, watch, context } = await open("/minds/rounded/policies/shop/main.orders");
  const preview = page.getByRole("region", { name: "As a caller sees it" });
  await preview.getByLabel(/Take them from a key/).selectOption({ label: "large account (user)" });
  await preview.getByRole("button", { name: "Show" }).click();
  await preview.getByRole("alert").getByText(/The attribute account: the console cannot keep all digits/).waitFor();
  assert.equal(await preview.getByRole("cell").count(), 0);
  watch.check();
  await context.close();
});

/** Adds a policy of a table to the form of a key, and gives its part of the form. */
async function addPolicy(dialog, number, table) {
  await dialog.getByRole("button", { name: "Add a policy" }).click();
  const policy = dialog.getByRole("group", { name: `Policy ${number}` });
  await policy.getByLabel("Datasource").selectOption("shop");
  await policy.getByLabel("Table", { exact: true }).selectOption(table);
  return policy;
}

test("key is made with a policy, and sees no more through a Mind", async () => {
  await makeMind("bound");
  const { page, watch, context } = await open("/operations/keys");
  await page.getByRole("button", { name: "Make a key" }).click();
  const dialog = page.getByRole("dialog", { name: "Make a key" });
  const name = `with a policy ${Date.now()}`;
  await dialog.getByLabel("Name", { exact: true }).fill(name);
  await dialog.getByRole("button", { name: "Add an attribute" }).click();
  await dialog.getByLabel("Name of attribute 1").fill("channel");
  await dialog.getByLabel("Value of attribute 1").fill("app");
  // One that is removed is not sent.
  await addPolicy(dialog, 1, "main.customers");
  const policy = await addPolicy(dialog, 2, "main.orders");
  await dialog.getByRole("button", { name: "Remove policy 1" }).click();
  await policy.waitFor({ state: "detached" });
  const kept = dialog.getByRole("group", { name: "Policy 1" });
  await kept.getByRole("textbox", { name: "Rows that the key sees" }).fill("channel = {{caller.channel}}");
  await kept.getByLabel("voucher is").selectOption("hidden");
  await kept.getByLabel("status is").selectOption("text");
  await kept.getByLabel("Text for status").fill("withheld");
  // Another role has no policies. The form says so, and keeps them.
  await dialog.getByLabel("Role").selectOption("editor");
  await dialog.getByText(/The form keeps 1 policy, but does not send it/).waitFor();
  assert.equal(await kept.count(), 0);
  // The form can be sent while it loads its choices again.
  let answer;
  const sent = new Promise((resolve) => (answer = resolve));
  await page.route("**/api/v1/datasources**", async (route) => {
    await sent;
    await route.continue();
  });
  await dialog.getByLabel("Role").selectOption("user");
  await kept.getByRole("textbox", { name: "Rows that the key sees" }).getByText("channel = {{caller.channel}}").waitFor();
  await dialog.getByRole("button", { name: "Make it" }).click();
  const key = await page.getByRole("dialog", { name: "The new key" }).locator("code").textContent();
  answer();
  await page.keyboard.press("Escape");

  const shown = page.getByRole("row").filter({ hasText: name });
  await shown.getByText("1 policy", { exact: true }).waitFor();
  for (const text of ["shop · main.orders", "channel = {{caller.channel}}", "voucher", "status: “withheld”"]) await shown.getByText(text, { exact: true }).waitFor();
  const made = (await server.api("GET", "/keys")).find((one) => one.name === name);
  assert.deepEqual(made.policies, [
    { datasource: "shop", table: "main.orders", filter: "channel = {{caller.channel}}", hidden: ["voucher"], masked: { status: { text: "withheld" } }, problem: null },
  ]);
  const run = async (query) => (await server.api("POST", "/responses", { model: "bound", store: false, tools: [{ type: "sql_query", query }] }, key)).output[0];
  assert.deepEqual((await run("SELECT DISTINCT channel, status FROM orders")).data, [["app", "withheld"]]);
  assert(!(await run("SELECT * FROM orders LIMIT 1")).column_names.includes("voucher"));
  watch.check();
  await context.close();
});

test("policy of a key that is refused says so at its place", async () => {
  const { page, watch, context } = await open("/operations/keys");
  await page.getByRole("button", { name: "Make a key" }).click();
  const dialog = page.getByRole("dialog", { name: "Make a key" });
  const name = `refused ${Date.now()}`;
  await dialog.getByLabel("Name", { exact: true }).fill(name);
  const make = dialog.getByRole("button", { name: "Make it" });
  const customers = await addPolicy(dialog, 1, "main.customers");
  const orders = await addPolicy(dialog, 2, "main.orders");
  // One that says nothing is refused, not left out.
  await make.click();
  await customers.getByRole("alert").getByText(/leave the entry out for none/).waitFor();
  await customers.getByRole("textbox", { name: "Rows that the key sees" }).fill("id > 3");
  const filter = orders.getByRole("textbox", { name: "Rows that the key sees" });
  await filter.fill("chanel = 'app'");
  await make.click();
  const alert = orders.getByRole("alert").filter({ hasText: "the table has no column `chanel`" });
  await alert.waitFor();
  assert.equal(await dialog.getByRole("alert").count(), 1);
  // It is brought into view: the button is at the end of a long form.
  await page.waitForFunction(() => {
    const { top, bottom } = document.querySelector("dialog [role=alert]").getBoundingClientRect();
    return top >= 0 && bottom <= innerHeight;
  });
  // Without the first policy, the error would be about another one.
  await dialog.getByRole("button", { name: "Remove policy 1" }).click();
  await dialog.getByRole("alert").waitFor({ state: "detached" });
  const only = dialog.getByRole("group", { name: "Policy 1" });
  await only.getByRole("textbox", { name: "Rows that the key sees" }).fill("");
  await only.getByLabel("status is").selectOption("sql");
  await only.getByLabel("Expression for status").fill("foo(");
  await make.click();
  await only.locator(".masks li").filter({ hasText: "status" }).getByRole("alert").waitFor();
  // A table that is chosen is one that is sent: without one, the form stays.
  await only.getByLabel("Datasource").selectOption("");
  await make.click();
  assert(await only.getByLabel("Datasource").evaluate((one) => !one.validity.valid));
  assert(!(await server.api("GET", "/keys")).some((one) => one.name === name), "a key was made all the same");
  watch.check();
  await context.close();
});

test("no text of knowledge, policies or feedback runs", async () => {
  await makeMind("hostile_words");
  const texts = PAYLOADS.map((text) => text.replace(/[\u0000-\u0008\u000b-\u001f\u007f-\u009f]/g, ""));
  for (let from = 0; from < texts.length; from += 25) {
    const text = texts.slice(from, from + 25).join(" · ");
    await server.api("POST", "/minds/hostile_words/knowledge", { kind: "term", name: `${from} ${texts[from]}`.slice(0, 60), synonyms: [texts[from + 1] ?? "other"], meaning: text });
    await server.api("POST", "/minds/hostile_words/knowledge", { kind: "verified_query", question: `${from} ${text}`.slice(0, 500), sql: `SELECT ${from} AS n FROM orders`, notes: text });
  }
  const quoted = `'${texts.slice(0, 12).join("").replaceAll("'", "''")}'`;
  const masked = { status: { text: "<img src=x onerror=pwned()>" } };
  await server.api("PUT", "/minds/hostile_words/policies", { policies: [{ datasource: "shop", table: "main.orders", filter: `channel <> ${quoted}`, masked }] });
  const answer = await server.api("POST", "/responses", { model: "hostile_words", input: "How many customers are there? <img src=x onerror=pwned()>" });
  await server.api("POST", `/responses/${answer.id}/feedback`, { rating: "down", comment: texts.slice(0, 30).join(" "), corrected_sql: "SELECT '<script>pwned()</script>' FROM customers" });
  const { page, watch, context } = await open("/minds/hostile_words/knowledge");
  await page.exposeFunction("pwned", () => page.evaluate(() => window.reportViolation("a text ran")));
  const bad = "main :is(script, img, iframe, object, embed, video, audio, base, meta, link, marquee, math, svg, style, [onerror], [onload], [onclick], [onfocus])";
  const check = async (path, ready) => {
    await visit(page, `/console/minds/hostile_words/${path}`);
    await ready.first().waitFor();
    assert.equal(await page.locator(bad).count(), 0, path);
    const links = await page.locator("main a").evaluateAll((all) => all.map((one) => one.getAttribute("href")));
    assert.deepEqual(links.filter((one) => !one.startsWith("/console/")), [], path);
    watch.check();
  };
  await check("knowledge", page.getByText("<script>pwned()</script>").or(page.getByText(/<script>pwned\(\)/)));
  for (const one of (await entries("hostile_words")).slice(0, 6)) await check(`knowledge/${one.id}`, page.getByRole("button", { name: "Save" }));
  await check("policies", page.getByText(/<img src=x onerror=pwned\(\)>/));
  await check("policies/shop/main.orders", page.getByLabel("Text for status"));
  await page.getByRole("button", { name: "Show" }).click();
  await page.getByRole("cell", { name: "<img src=x onerror=pwned()>" }).first().waitFor();
  assert.equal(await page.locator(bad).count(), 0, "preview");
  await check("feedback", page.getByText(/<script>pwned\(\)/));
  await page.getByRole("button", { name: "Make it a verified question …" }).click();
  await page.getByRole("dialog").getByRole("textbox", { name: "Statement" }).waitFor();
  assert.equal(await page.locator(bad).count(), 0, "dialog");
  watch.check();
  await context.close();
});
