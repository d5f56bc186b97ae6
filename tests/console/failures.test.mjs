// What the console shows when something fails, is not there yet, or may not be done: the message, the id of the request,
// and a way on.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { browser, server } from "./demo.mjs";
import { inspect, openPage, signIn, tabTo, visit } from "./support.mjs";
import { Vendor } from "./vendor.mjs";

let vendor;
before(async () => {
  vendor = await Vendor.start();
  await vendor.mind(server, "told");
});
after(() => vendor.stop());

const answers = (page) => page.locator("article.assistant");

/** Asks as the first question of a conversation, which chooses its Mind, or as a further one. */
async function ask(page, question, isFirst = true) {
  if (isFirst) await page.locator(".mind-choice select").selectOption("told");
  await page.getByLabel("Question", { exact: true }).fill(question);
  await page.keyboard.press("Enter");
  await page.locator(".said").getByText(question, { exact: true }).waitFor();
}

/** The address of the conversation that was begun, once another page is shown. */
async function leave(page) {
  await page.waitForFunction(() => /\/ask\/./.test(location.pathname));
  const path = new URL(page.url()).pathname;
  await visit(page, "/console/data");
  await page.getByRole("heading", { name: "Data", exact: true }).waitFor();
  return path;
}

const requestOf = async (alert) => /Request (\S+)/.exec(await alert.getByText(/^Request \S+/).innerText())[1];

test("answer that failed has its message and the id of its request, also later and for an admin", async () => {
  const { page, watch, context } = await openPage(browser, server);
  await signIn(page, server, await server.keyOf("user"));
  const failures = [
    { turn: { refuses: "The model <b>sleeps</b>." }, said: /sleeps/ },
    { turn: { words: ["First words. "], hold: 1, breaks: true }, said: /./ },
  ];
  for (const { turn, said } of failures) {
    vendor.turns = [turn];
    await visit(page, "/console/ask");
    await ask(page, `What fails with ${Object.keys(turn).at(-1)}?`);
    if (turn.words) {
      await answers(page).getByText("First words.").waitFor();
      await vendor.held();
      vendor.release();
    }
    const alert = page.getByRole("alert").filter({ hasText: said });
    const request = await requestOf(alert);
    const message = await alert.locator("p").first().innerText();
    const path = await leave(page);
    const isThere = async (page) => {
      await page.getByText(message, { exact: true }).waitFor();
      assert.equal(await requestOf(page.getByRole("alert")), request);
      assert.equal(await page.getByText("No answer is stored for this question.").count(), 0);
    };
    await visit(page, path);
    await isThere(page);
    assert.deepEqual(await inspect(page, "failed answer"), []);
    // Further questions do not hide it.
    vendor.turns = [{ words: ["Nothing fails now."] }];
    await ask(page, "And now?", false);
    await answers(page).last().getByText("Nothing fails now.").waitFor();
    await leave(page);
    await visit(page, path);
    await answers(page).last().getByText("Nothing fails now.").waitFor();
    await isThere(page);
    const admin = await openPage(browser, server);
    await signIn(admin.page, server, server.key, path);
    await isThere(admin.page);
    await admin.context.close();
  }
  watch.check();
  await context.close();
});

test("question is asked again after its answer failed or was stopped, also later, by the key that asked", async () => {
  const own = await server.keyOf("user");
  const { page, watch, context } = await openPage(browser, server);
  await signIn(page, server, own);
  const again = page.getByRole("button", { name: "Ask again" });
  const question = "What sleeps at first?";
  const asked = page.locator(".said").getByText(question, { exact: true });
  vendor.turns = [{ refuses: "The model sleeps." }, { words: ["It is awake."] }];
  await ask(page, question);
  await page.getByRole("alert").getByText(/sleeps/).waitFor();
  await tabTo(page, again);
  await page.keyboard.press("Enter");
  await answers(page).last().getByText("It is awake.").waitFor();
  // The server keeps a question that is repeated once, with the answer that it got.
  let path = await leave(page);
  await visit(page, path);
  await answers(page).getByText("It is awake.").waitFor();
  assert.equal(await asked.count(), 1);
  assert.equal(await again.count(), 0);
  // What failed can be asked again later, too, and so can what was stopped.
  vendor.turns = [{ refuses: "The model sleeps." }, { words: ["Half of ", "it."], hold: 1 }, { words: ["All of it."] }];
  await ask(page, "What sleeps now?", false);
  await page.getByRole("alert").getByText(/sleeps/).waitFor();
  path = await leave(page);
  await visit(page, path);
  await page.getByRole("alert").getByText(/sleeps/).waitFor();
  assert.deepEqual(await inspect(page, "question to be asked again"), []);
  // Who only reads cannot.
  const admin = await openPage(browser, server);
  await signIn(admin.page, server, server.key, path);
  await admin.page.getByRole("alert").getByText(/sleeps/).waitFor();
  assert.equal(await admin.page.getByRole("button", { name: "Ask again" }).count(), 0);
  admin.watch.check();
  await admin.context.close();
  await again.click();
  await answers(page).last().getByText("Half of").waitFor();
  assert.equal(await again.count(), 0, "something can be asked while an answer is made");
  await page.getByRole("button", { name: "Stop", exact: true }).click();
  await answers(page).last().getByText("Stopped.").waitFor();
  vendor.release();
  await answers(page).last().getByRole("button", { name: "Ask again" }).click();
  await answers(page).last().getByText("All of it.").waitFor();
  watch.check();
  await context.close();
});

test("statement is run again after the server was busy, and not after it was refused", async () => {
  const { page, watch, context } = await openPage(browser, server);
  await signIn(page, server);
  await page.getByLabel("In SQL").check();
  const editor = page.locator(".composer .cm-content");
  const runSql = async (sql) => {
    await editor.click();
    for (const key of ["ControlOrMeta+A", "Backspace"]) await page.keyboard.press(key);
    await page.keyboard.insertText(sql);
    await page.getByRole("button", { name: "Run", exact: true }).click();
  };
  const again = page.getByRole("button", { name: "Run again" });
  let busy = true;
  const error = { code: "overloaded", message: "Too busy to run it.", param: null, type: "server_error" };
  await page.route(/\/api\/v1\/responses$/, (route) => (busy ? route.fulfill({ status: 503, headers: { "x-request-id": "of-the-run" }, json: { error } }) : route.continue()));
  await runSql("SELECT count(*) AS many FROM orders");
  await page.getByRole("alert").getByText("Too busy to run it.").waitFor();
  busy = false;
  await again.click();
  await answers(page).last().getByRole("cell", { name: "45000" }).waitFor();
  assert.equal(await page.locator(".said").getByText("SELECT count(*) AS many FROM orders").count(), 2);
  await runSql("DELETE FROM orders");
  await page.getByRole("alert").getByText(/sql_not_read_only/).waitFor();
  // That of the first remains.
  assert.equal(await again.count(), 1);
  assert.equal(await answers(page).last().getByRole("button", { name: "Run again" }).count(), 0);
  watch.check();
  await context.close();
});

test("answer and export that break off say so, with the id of their request", async () => {
  const made = await server.api("POST", "/responses", { model: "analyst", tools: [{ type: "sql_query", query: "SELECT id FROM orders ORDER BY id", max_inline_rows: 1 }] });
  const { page, watch, context } = await openPage(browser, server);
  await signIn(page, server, server.key, `/console/ask/${made.conversation.id}`);
  await page.getByRole("rowheader").first().waitFor();
  // The streams are made in the page: no server of a test can be made to break off at a chosen byte.
  await page.evaluate(() => {
    const real = window.fetch;
    window.fetch = async (request, init) => {
      const { pathname } = new URL(request.url ?? request, location.href);
      const isExport = pathname.endsWith("/export");
      if (!isExport && !pathname.endsWith("/api/v1/responses")) return real(request, init);
      const first = isExport ? "id\n1\n" : `data: ${JSON.stringify({ type: "response.output_text.delta", delta: "First words." })}\n\n`;
      const body = new ReadableStream({
        start: (controller) => controller.enqueue(new TextEncoder().encode(first)),
        pull: (controller) => controller.error(new TypeError("network error")),
      }, { highWaterMark: 0 });
      return new Response(body, { headers: { "x-request-id": isExport ? "of-the-export" : "of-the-answer" } });
    };
  });
  await page.getByRole("button", { name: "Export CSV" }).click();
  const ofExport = page.getByRole("alert").filter({ hasText: "The connection to the server ended" });
  assert.equal(await requestOf(ofExport), "of-the-export");
  await page.getByRole("button", { name: "Export CSV" }).waitFor();
  await page.getByLabel("Question", { exact: true }).fill("What breaks off?");
  await page.keyboard.press("Enter");
  const answer = answers(page).last();
  await answer.getByText("First words.").waitFor();
  assert.equal(await requestOf(answer.getByRole("alert").filter({ hasText: "The connection to the server ended" })), "of-the-answer");
  await page.getByRole("button", { name: "Ask", exact: true }).waitFor();
  watch.check();
  await context.close();
});

test("numbers that are not in the rows are named, while the answer is made and later", async () => {
  vendor.turns = [
    { call: "run_sql", arguments: { sql: "SELECT count(*) AS orders FROM orders" } },
    { words: ["There are 7654321 orders, ", "and 8765432 more."] },
    { words: ["OK."] },
  ];
  const { page, watch, context } = await openPage(browser, server);
  await signIn(page, server);
  await ask(page, "How many orders are there, and how many more?");
  const note = answers(page).getByRole("note").filter({ hasText: "not in the rows" });
  const isThere = async () => {
    // Each is there as soon as its words are.
    await note.locator("strong").nth(1).waitFor();
    assert.deepEqual(await note.locator("strong").allTextContents(), ["7654321", "8765432"]);
  };
  await isThere();
  assert.deepEqual(await inspect(page, "numbers that are not in the rows"), []);
  const path = await leave(page);
  await visit(page, path);
  await isThere();
  watch.check();
  await context.close();
});

test("page that throws says so in its place, and is shown again when that is asked for", async () => {
  const { page, watch, context } = await openPage(browser, server);
  await signIn(page, server);
  // What no server sends, so that the page itself fails while it is drawn.
  await page.route(/\/api\/v1\/datasources$/, (route) => route.fulfill({ json: [null] }));
  await page.getByRole("link", { name: "Data", exact: true }).click();
  await page.getByRole("heading", { name: "This page failed" }).waitFor();
  await page.getByRole("alert").locator("p").first().waitFor();
  assert.deepEqual(await inspect(page, "page that failed"), []);
  // A page may fail after something was sent, so it promises nothing about the server.
  await page.getByText("What you saved or sent before may have reached the server.").waitFor();
  // The rest goes on.
  await page.getByRole("link", { name: "Minds", exact: true }).click();
  await page.getByRole("link", { name: /analyst/ }).waitFor();
  assert.equal(await page.getByRole("heading", { name: "This page failed" }).count(), 0);
  await page.getByRole("link", { name: "Data", exact: true }).click();
  const again = page.getByRole("button", { name: "Show the page again" });
  await again.waitFor();
  await page.unrouteAll();
  await tabTo(page, again);
  await page.keyboard.press("Enter");
  await page.getByRole("link", { name: /shop/ }).waitFor();
  watch.check();
  await context.close();
});

test("row that is not loaded yet is waited for in its dialog, and one that cannot be loaded says why", async () => {
  const made = await server.api("POST", "/responses", { model: "analyst", tools: [{ type: "sql_query", query: "SELECT id, status FROM orders ORDER BY id", max_inline_rows: 1 }] });
  const { page, watch, context } = await openPage(browser, server);
  await signIn(page, server, server.key, `/console/ask/${made.conversation.id}`);
  const grid = page.getByRole("table", { name: "Rows of the result" });
  await grid.getByRole("cell").first().waitFor();
  let release;
  const held = new Promise((resolve) => { release = resolve; });
  let refused = true;
  await page.route(/\/result\?.*offset=44[0-9]{3}/, async (route) => {
    await held;
    const error = { code: "internal_error", message: "The rows are not there.", param: null, type: "server_error" };
    if (refused) await route.fulfill({ status: 500, headers: { "x-request-id": "of-the-rows" }, json: { error } });
    else await route.continue();
  });
  await grid.evaluate((grid) => grid.scrollTo(0, grid.scrollHeight));
  await grid.getByRole("button", { name: "Row 45000 in full" }).click();
  const dialog = page.getByRole("dialog", { name: "Row 45,000" });
  await dialog.getByRole("status").getByText("Loading the row …").waitFor();
  assert.deepEqual(await inspect(page, "row that is loading"), []);
  release();
  await dialog.getByRole("alert").getByText("The rows are not there.").waitFor();
  assert.equal(await requestOf(dialog.getByRole("alert")), "of-the-rows");
  refused = false;
  await dialog.getByRole("button", { name: "Try again" }).click();
  await dialog.getByRole("definition").getByText("45000", { exact: true }).waitFor();
  watch.check();
  await context.close();
});

test("edit is not offered to those who may not", async () => {
  const asked = await server.api("POST", "/responses", { model: "analyst", input: "How many orders are there?" });
  await server.api("POST", "/minds", { name: "words_only", datasources: ["shop"], parameters: { allow_direct_queries: false } });
  const worded = await server.api("POST", "/responses", { model: "words_only", input: "How many orders are there?" });
  // The SQL of an answer: where the Mind takes SQL, by the key that asked.
  const offered = async (key, conversation) => {
    const { page, watch, context } = await openPage(browser, server);
    await signIn(page, server, key, `/console/ask/${conversation}`);
    await page.locator("details.sql > summary").click();
    await page.locator("details.sql").getByRole("button", { name: "Copy" }).waitFor();
    const count = await page.locator("details.sql").getByRole("button", { name: "Edit" }).count();
    watch.check();
    await context.close();
    return count;
  };
  assert.equal(await offered(server.key, asked.conversation.id), 1);
  assert.equal(await offered(server.key, worded.conversation.id), 0);
  const other = (await server.api("POST", "/keys", { name: "another admin", role: "admin" })).key;
  assert.equal(await offered(other, asked.conversation.id), 0);
  // Descriptions: from editors on.
  for (const [role, may] of [["user", false], ["editor", true]]) {
    const { page, watch, context } = await openPage(browser, server);
    await signIn(page, server, await server.keyOf(role), "/console/data/shop/tables/main.orders");
    await page.getByRole("heading", { name: "Columns" }).waitFor();
    assert.equal((await page.locator("main .editable").count()) > 0, may, role);
    assert.equal(await page.getByRole("button", { name: "Read again" }).count(), may ? 1 : 0, role);
    watch.check();
    await context.close();
  }
});

test("description that is saved with the keyboard leaves the focus where it was", async () => {
  const { page, watch, context } = await openPage(browser, server);
  await signIn(page, server, server.key, "/console/data/shop/tables/main.orders");
  const opener = page.getByRole("button", { name: /^Description of orders/ });
  await tabTo(page, opener);
  await page.keyboard.press("Enter");
  await page.keyboard.press("Escape");
  assert(await opener.evaluate((one) => one === document.activeElement));
  await page.keyboard.press("Enter");
  await page.getByRole("textbox", { name: "Description of orders" }).fill("What was ordered.");
  await page.keyboard.press("Tab");
  await page.keyboard.press("Enter");
  await page.getByRole("button", { name: /What was ordered\./ }).waitFor();
  assert(await opener.evaluate((one) => one === document.activeElement));
  watch.check();
  await context.close();
});

test("page that is watched is not asked for while its tab is hidden, and once it is seen again", async () => {
  const { page, watch, context } = await openPage(browser, server);
  await page.clock.install();
  await signIn(page, server);
  let asked = 0;
  page.on("request", (request) => { asked += Number(new URL(request.url()).pathname.endsWith("/api/v1/running")); });
  const answered = () => page.waitForResponse((response) => response.url().endsWith("/api/v1/running")).then((response) => response.finished());
  // No window of a browser without a screen is ever hidden.
  const hide = (hidden) => page.evaluate((hidden) => {
    Object.defineProperty(document, "hidden", { configurable: true, get: () => hidden });
    document.dispatchEvent(new Event("visibilitychange"));
  }, hidden);
  const first = answered();
  await visit(page, "/console/operations/running");
  await first;
  await page.getByText("Nothing runs").waitFor();
  const second = answered();
  await page.clock.runFor(3_000);
  await second;
  await hide(true);
  // One may have been asked for just before.
  await page.clock.runFor(3_000);
  const before = asked;
  await page.clock.runFor(60_000);
  assert.equal(asked, before, "it was asked for while the tab was hidden");
  const third = answered();
  await hide(false);
  await third;
  assert.equal(asked, before + 1);
  watch.check();
  await context.close();
});

test("text that is no key is refused before it is sent", async () => {
  const { page, watch, context } = await openPage(browser, server);
  await page.goto(`${server.url}/console/ask`);
  for (const text of ["mh_ключ", "mh_a b", "🔑"]) {
    await page.getByLabel("API key").fill(text);
    await page.getByRole("button", { name: "Sign in" }).click();
    await page.getByRole("alert").getByText(/This is no API key/).waitFor();
  }
  watch.check();
  await context.close();
});
