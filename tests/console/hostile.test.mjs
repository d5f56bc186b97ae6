// Text of others is text wherever it appears: names, descriptions, values, cells, questions, answers, titles.
import assert from "node:assert/strict";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { before, test } from "node:test";
import { browser, server } from "./demo.mjs";
import { checkDom } from "./dom.mjs";
import { PAYLOADS } from "./payloads.mjs";
import { openPage, signIn, visit } from "./support.mjs";
import { Vendor } from "./vendor.mjs";

const MEGABYTE = 1_000_000;
let first;

before(async () => {
  writeDatabase(join(server.dir, "files/default/hostile.db"));
  await server.api("POST", "/datasources", { name: "hostile", engine: "sqlite", connection_data: { path: "hostile.db" }, description: PAYLOADS[0] });
  await server.api("POST", "/datasources/hostile/catalog/refresh?wait=60", {});
  await server.api("PATCH", "/datasources/hostile/catalog/tables/main.texts", { description: "safe\u202Etxt.exe <img src=x onerror=pwned()>" });
  const parameters = { allow_direct_queries: true, system_prompt: PAYLOADS.join("\n") };
  await server.api("POST", "/minds", { name: "hostile", datasources: ["hostile"], parameters });
  await server.api("POST", "/keys", { name: "<img src=x onerror=pwned()>", role: "user" });
});

/** A table with all of them as values, and one for some of them as names. */
function writeDatabase(path) {
  const database = new DatabaseSync(path);
  database.exec("CREATE TABLE texts (id INTEGER PRIMARY KEY, text TEXT, category TEXT)");
  const insert = database.prepare("INSERT INTO texts (text, category) VALUES (?, ?)");
  PAYLOADS.forEach((payload, index) => insert.run(payload, PAYLOADS[index % 8]));
  insert.run(`<img src=x onerror=pwned()>${"x".repeat(MEGABYTE)}`, "long");
  const quoted = (name) => `"${name.replaceAll('"', '""')}"`;
  PAYLOADS.filter((name) => /^[\x20-\x7e]{1,60}$/.test(name)).slice(0, 40).forEach((name, index) => {
    database.exec(`CREATE TABLE ${quoted(`${index} ${name}`)} (id INTEGER, ${quoted(name)} TEXT)`);
  });
  database.close();
}

async function look(path, ready, check = async () => {}) {
  first ??= await (async () => {
    const opened = await openPage(browser, server);
    await opened.page.exposeFunction("pwned", () => opened.page.evaluate(() => window.reportViolation("a text ran")));
    await signIn(opened.page, server);
    return opened;
  })();
  const { page, watch } = first;
  await visit(page, path);
  await ready(page);
  await check(page);
  await checkDom(page, path);
  watch.check();
}

test("there are more than a hundred payloads", () => assert(new Set(PAYLOADS).size > 100, `${PAYLOADS.length}`));

test("names of tables and descriptions", async () => {
  await look("/console/data", (page) => page.getByText(PAYLOADS[0]).waitFor());
  await look("/console/data/hostile", (page) => page.getByRole("link", { name: `0 ${PAYLOADS[0]}` }).waitFor());
  await look("/console/data/hostile/diagram", (page) => page.locator(".table-box").nth(39).waitFor());
});

test("names, descriptions and values that a search finds", async () => {
  for (const wanted of ["pwned", "<", "\u202E"]) {
    await look(`/console/data/search?q=${encodeURIComponent(wanted)}`, async (page) => {
      await page.getByText(/catalogs searched/).waitFor();
      await page.locator(".hits mark").first().waitFor();
    }, async (page) => assert(!(await page.locator(".hits").allTextContents()).some((text) => text.includes("\u202E"))));
  }
});

test("every payload as a description of a table, and of a column", async () => {
  // In slices: a description has a bound.
  const table = "/datasources/hostile/catalog/tables/main.texts";
  for (let from = 0; from < PAYLOADS.length; from += 20) {
    const text = PAYLOADS.slice(from, from + 20).join(" · ");
    await server.api("PATCH", table, { description: text });
    await server.api("PATCH", `${table}/columns/category`, { description: text });
    await look("/console/data", (page) => page.getByRole("heading", { name: "Data" }).waitFor());
    const shown = PAYLOADS[from].slice(0, 12).replace(/[^\x20-\x7e]/g, "");
    await look("/console/data/hostile/tables/main.texts", (page) => page.locator(".columns .values").first().waitFor(), async (page) => {
      assert((await page.locator(".editable").first().textContent()).includes(shown), shown);
    });
  }
});

test("every payload as a cell, and in full", async () => {
  const sql = "SELECT id, text, text AS again FROM texts ORDER BY id";
  const made = await server.api("POST", "/responses", { model: "hostile", tools: [{ type: "sql_query", query: sql, max_inline_rows: 1 }] });
  await look(`/console/ask/${made.conversation.id}`, (page) => page.getByRole("rowheader").first().waitFor(), async (page) => {
    const grid = page.getByRole("table", { name: "Rows of the result" });
    for (let row = 0; row < PAYLOADS.length; row += 8) {
      await grid.evaluate((grid, top) => grid.scrollTo(0, top), row * 30);
      await grid.locator(`[aria-rowindex="${row + 2}"] [role=cell]`).first().filter({ hasText: `${row + 1}` }).waitFor();
      const shown = await grid.locator(`[aria-rowindex="${row + 2}"] [role=cell]`).nth(1).textContent();
      const plain = PAYLOADS[row].replace(/[\u0000-\u001f\u007f-\uffff]/g, "").trim();
      if (plain === PAYLOADS[row]) assert.equal(shown, plain);
      assert.doesNotMatch(shown, /[\u202A-\u202E\u2066-\u2069\u0000-\u0008\u200B]/, "an invisible character reaches the page");
      await checkDom(page, `row ${row}`);
    }
    await grid.evaluate((grid) => grid.scrollTo(0, grid.scrollHeight));
    await page.getByRole("button", { name: `Row ${PAYLOADS.length + 1} in full` }).click();
    await page.getByRole("dialog").getByText(/The export has all/).first().waitFor();
    await page.keyboard.press("Escape");
  });
});

test("every payload as a question, an answer, and a title", async () => {
  for (let from = 0; from < PAYLOADS.length; from += 20) {
    const items = PAYLOADS.slice(from, from + 20).map((text, index) => ({
      type: "message",
      role: index % 2 === 0 ? "user" : "assistant",
      content: text.replaceAll("\u0000", ""),
    }));
    const made = await server.api("POST", "/conversations", { items, metadata: { title: PAYLOADS[from].slice(0, 200) } });
    await look(`/console/ask/${made.id}`, (page) => page.locator("article").nth(items.length - 1).waitFor());
  }
});

test("statement with invisible characters shows them, in an editor and in the answer", async () => {
  const sql = "SELECT 1 AS a -- \u202Ebackwards \u{E0041} \u3164";
  await look("/console/ask", (page) => page.getByLabel("In SQL").waitFor(), async (page) => {
    await page.locator(".mind-choice select").selectOption("hostile");
    await page.getByLabel("In SQL").check();
    const editor = page.locator(".composer .cm-content");
    await editor.click();
    await page.keyboard.insertText(sql);
    await editor.getByText("␛U+202E").waitFor();
    await editor.getByText("␛U+E0041").waitFor();
    await checkDom(page, "editor");
    await page.getByRole("button", { name: "Run", exact: true }).click();
    await page.locator("article.assistant").last().getByText(/Result|Request/).first().waitFor();
  });
});

test("names in dialogs and titles", async () => {
  const title = "safe\u202Etxt\u2066.exe";
  const { id } = await server.api("POST", "/conversations", { metadata: { title }, items: [{ type: "message", role: "user", content: title }] });
  // The list of conversations is loaded with the page.
  await look("/console/data", (page) => page.getByRole("heading", { name: "Data" }).waitFor());
  await look(`/console/ask/${id}`, (page) => page.locator(".said").getByText("safe␛U+202E").waitFor(), async (page) => {
    await page.waitForFunction(() => document.title.startsWith("safe␛U+202E"));
    await page.getByRole("button", { name: /^Delete the conversation “safe␛U\+202E/ }).first().click();
    await page.getByRole("dialog").getByText(/safe␛U\+202E/).waitFor();
    await checkDom(page, "dialog");
    await page.keyboard.press("Escape");
  });
});

test("a Mind's instructions, keys, usage and audit", async () => {
  await look("/console/minds/hostile", (page) => page.getByLabel("Instructions").waitFor());
  await look("/console/operations/keys", (page) => page.getByText("<img src=x onerror=pwned()>").waitFor());
  await look("/console/operations/usage", (page) => page.getByRole("rowheader").first().waitFor());
  await look("/console/operations/audit", (page) => page.getByRole("cell").first().waitFor());
});

test("every payload in an address, and in what the server says of it", async () => {
  const wellFormed = PAYLOADS.filter((one) => one.isWellFormed());
  for (const [index, payload] of wellFormed.entries()) {
    const part = encodeURIComponent(payload);
    // An error, or the page that does not exist where the text has a slash of its own.
    const answered = (page) => page.locator("[role=alert], h1:text('There is no such page')").first().waitFor();
    const leave = () => look("/console/minds", (page) => page.getByRole("heading", { name: "Minds", exact: true }).waitFor());
    await leave();
    await look(`/console/data/${part}`, answered);
    if (index % 10 > 0) continue;
    await leave();
    await look(`/console/minds/${part}`, answered);
    await leave();
    await look(`/console/operations/providers/${part}`, answered);
    await leave();
    await look(`/console/ask?mind=${part}&question=${part}`, (page) => page.getByLabel("Question", { exact: true }).waitFor());
    await look(`/console/data/search?q=${part}`, (page) => page.getByText(/catalogs searched/).waitFor());
  }
});

test("what a provider and a failed answer say", async () => {
  const description = PAYLOADS.slice(0, 20).join(" · ");
  await server.api("POST", "/providers", { name: "hostile", plugin: "model-offline", connection_data: {}, description });
  await look("/console/operations/providers", (page) => page.getByText("hostile", { exact: true }).waitFor());
  await look("/console/operations/providers/hostile", (page) => page.getByLabel(/^Description/).waitFor());
  const vendor = await Vendor.start();
  await vendor.mind(server, "refuses");
  for (let from = 0; from < PAYLOADS.length; from += 10) {
    vendor.turns = [{ refuses: PAYLOADS.slice(from, from + 10).join(" ") }];
    const { id } = await server.api("POST", "/conversations", {});
    const body = JSON.stringify({ model: "refuses", input: "What do you refuse?", conversation: id });
    const answer = await fetch(`${server.url}/api/v1/responses`, { method: "POST", headers: { Authorization: `Bearer ${server.key}`, "Content-Type": "application/json" }, body });
    assert.equal(answer.ok, false);
    await look(`/console/ask/${id}`, (page) => page.getByText("What do you refuse?").and(page.locator(".said")).waitFor(), (page) => page.getByRole("alert").waitFor());
  }
  await vendor.stop();
});
