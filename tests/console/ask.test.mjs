// Asking: from the link on the terminal to rows, SQL, and the export.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { browser, server } from "./demo.mjs";
import { openPage, runSql, signIn, visit, write } from "./support.mjs";

test("link of the demo opens the console signed in, and one click asks", async () => {
  const { page, watch, context } = await openPage(browser, server);
  await page.goto(server.link);
  await page.locator(".suggestions button").first().click();
  const answer = page.locator("article.assistant").last();
  await answer.getByRole("row", { name: "1" }).first().waitFor();
  assert.equal(new URL(page.url()).hash, "", "the code stays in the address");
  assert.equal(await page.evaluate(() => sessionStorage.length + localStorage.length), 0, "the key is stored unasked");
  watch.check();
  await context.close();

  const again = await openPage(browser, server);
  await again.page.goto(server.link);
  await again.page.getByText("this link was used already").waitFor();
  await again.page.getByRole("alert").getByText(/^Request [0-9a-f-]{36}/).waitFor();
  await again.context.close();
});

test("root leads people to the console, and programs to what the API says", async () => {
  const people = await fetch(server.url, { headers: { Accept: "text/html" }, redirect: "manual" });
  assert.equal(people.status, 303);
  assert.equal(people.headers.get("location"), "/console");
  const program = await fetch(server.url);
  assert.equal(program.status, 404);
  assert.equal((await program.json()).error.code, "route_not_found");
});

test("files are cached, compressed and guarded by a strict policy", async () => {
  const index = await fetch(`${server.url}/console/data/shop`, { headers: { "Accept-Encoding": "br" } });
  assert.equal(index.headers.get("cache-control"), "no-cache");
  const policy = index.headers.get("content-security-policy");
  for (const part of ["default-src 'self'", "frame-ancestors 'none'", "require-trusted-types-for 'script'", "base-uri 'none'"]) assert(policy.includes(part), policy);
  assert.doesNotMatch(policy, /unsafe/);
  const html = await index.text();
  assert.doesNotMatch(html, /<script(?![^>]*src=)|<style|\son\w+=|style=/);
  const script = /src="([^"]+\.js)"/.exec(html)[1];
  const asset = await fetch(server.url + script, { headers: { "Accept-Encoding": "gzip, br" } });
  assert.equal(asset.headers.get("content-encoding"), "br");
  assert.match(asset.headers.get("cache-control"), /immutable/);
  const known = await fetch(server.url + script, { headers: { "Accept-Encoding": "gzip, br", "If-None-Match": asset.headers.get("etag") } });
  assert.equal(known.status, 304);
  const head = await fetch(server.url + script, { method: "HEAD" });
  assert.equal(head.status, 200);
  assert.equal((await fetch(`${server.url}/console/assets/none.js`)).status, 404);
  assert.equal((await fetch(`${server.url}/api/v1/minds`)).status, 401);
});

test("question is answered with its steps, its SQL and its rows", async () => {
  const { page, watch, context } = await openPage(browser, server);
  await signIn(page, server);
  await page.getByLabel("Question").fill("Average order total per channel");
  await page.keyboard.press("Enter");
  const answer = page.locator("article.assistant").last();
  await answer.locator(".prose table").waitFor();
  await answer.getByText(/\d steps/).click();
  await answer.getByText("Ran SQL").waitFor();
  await answer.locator(".sql > summary").click();
  await answer.locator(".cm-content").getByText("AVG").first().waitFor();
  await answer.getByRole("radio", { name: "Table" }).check();
  const grid = answer.getByRole("table", { name: "Rows of the result" });
  await grid.getByRole("rowheader").nth(2).waitFor();
  assert.equal(await grid.getAttribute("aria-rowcount"), "4");
  await page.getByRole("navigation", { name: "Conversations" }).getByRole("link", { name: /Average order total per channel/ }).waitFor();
  watch.check();
  await context.close();
});

test("link to a message opens for those who may read it", async () => {
  const owner = await server.keyOf("user");
  const made = await server.api("POST", "/responses", { model: "analyst", input: "Average order total per channel" }, owner);
  const { page, watch, context } = await openPage(browser, server);
  await context.grantPermissions(["clipboard-read", "clipboard-write"]);
  await signIn(page, server, owner, `/console/ask/${made.conversation.id}`);
  const answer = page.locator("article.assistant").last();
  await answer.getByRole("button", { name: "Copy the link" }).click();
  await answer.getByRole("button", { name: "Copied" }).waitFor();
  const link = new URL(await page.evaluate(() => navigator.clipboard.readText()));
  assert.equal(link.origin, server.url);
  watch.check();
  await context.close();

  // An admin reads it, with its rows, and cannot add to it or rate it in the owner's place.
  const admin = await openPage(browser, server);
  await signIn(admin.page, server, await server.keyOf("admin"), link.pathname);
  const marked = admin.page.locator("article.marked");
  await marked.locator(".prose table").waitFor();
  await marked.getByText(/\d steps/).waitFor();
  await admin.page.getByText("Another key owns this conversation").waitFor();
  assert.equal(await admin.page.getByLabel("Question", { exact: true }).count(), 0);
  assert.equal(await marked.getByRole("button", { name: "This is right" }).count(), 0);
  admin.watch.check();
  await admin.context.close();

  // Another user is told what the server says.
  const stranger = await openPage(browser, server);
  await signIn(stranger.page, server, await server.keyOf("user"), link.pathname);
  const refused = stranger.page.getByRole("alert");
  await refused.getByText(/Request/).waitFor();
  assert.equal(await stranger.page.locator("article").count(), 0);
  await stranger.context.close();
});

test("statement is changed and run, and its rows are told apart", async () => {
  const { page, watch, context } = await openPage(browser, server);
  await signIn(page, server);
  const answer = await runSql(page, "SELECT 'x' AS a, NULL AS b, '' AS c FROM orders LIMIT 2");
  const row = answer.getByRole("row").nth(1);
  await row.getByText("NULL", { exact: true }).waitFor();
  await row.getByText("empty", { exact: true }).waitFor();
  await answer.locator(".sql > summary").click();
  // The editor that shows the statement is loaded late, and moves the buttons below it.
  await answer.locator(".cm-content").waitFor();
  await answer.getByRole("button", { name: "Edit" }).click();
  await write(page, answer.locator(".cm-content[aria-label='SQL to run']"), "SELECT count(*) AS many FROM orders");
  await page.keyboard.press("ControlOrMeta+Enter");
  await page.locator("article.assistant").last().getByRole("cell", { name: "45000" }).waitFor();
  watch.check();
  await context.close();
});

test("editor keeps what is written while the page is slow", async () => {
  const { page, watch, context } = await openPage(browser, server);
  await signIn(page, server);
  await page.getByLabel("In SQL").check();
  const editor = page.locator(".composer .cm-content");
  await editor.click();
  // Each letter is a change of its own, and the page has no time to draw between them.
  const text = "SELECT count(*) FROM orders";
  await editor.evaluate(async (editor, text) => {
    for (const letter of text) {
      editor.ownerDocument.execCommand("insertText", false, letter);
      await new Promise((resolve) => queueMicrotask(() => queueMicrotask(resolve)));
    }
  }, text);
  await page.locator(".composer .cm-line").getByText(text, { exact: true }).waitFor();
  await page.getByRole("button", { name: "Run", exact: true }).click();
  await page.locator("article.assistant").last().getByRole("cell", { name: "45000" }).waitFor();
  watch.check();
  await context.close();
});

test("question goes out in words to a Mind that takes no SQL, whatever was ticked before", async () => {
  await server.api("POST", "/minds", { name: "wordy", datasources: ["shop"] });
  const { page, watch, context } = await openPage(browser, server);
  await signIn(page, server);
  const mind = page.locator(".mind-choice select");
  await mind.selectOption("analyst");
  await page.getByLabel("In SQL").check();
  await write(page, page.locator(".composer .cm-content"), "SELECT 'old' AS statement FROM orders");
  await mind.selectOption("wordy");
  await page.getByLabel("Question", { exact: true }).fill("How many orders are there?");
  await page.getByRole("button", { name: "Ask", exact: true }).click();
  await page.locator(".said").getByText("How many orders are there?", { exact: true }).waitFor();
  await page.locator("article.assistant .prose").getByText("45000").waitFor();
  assert.equal(await page.getByText("'old'").count(), 0);
  await server.api("DELETE", "/minds/wordy");
  watch.check();
  await context.close();
});

test("editor that cannot be loaded says what to do", async () => {
  const { page, context } = await openPage(browser, server);
  await page.route(/\/console\/assets\/editor-.*\.js$/, (route) => route.fulfill({ status: 404, body: "" }));
  await signIn(page, server);
  await page.getByLabel("In SQL").check();
  const failure = page.getByRole("alert");
  await failure.getByText(/load the page again/).waitFor();
  await failure.getByRole("button", { name: "Load the page again" }).click();
  await page.getByLabel("API key").waitFor();
  await context.close();
});

test("refused statement shows what the server says and the id of the request", async () => {
  const { page, watch, context } = await openPage(browser, server);
  await signIn(page, server);
  const answer = await runSql(page, "DELETE FROM orders");
  await answer.getByRole("alert").getByText(/Request/).waitFor();
  await answer.getByText("sql_not_read_only").waitFor();
  watch.check();
  await context.close();
});

test("long result is scrolled to its end, and exported whole", async () => {
  const { page, watch, context } = await openPage(browser, server);
  await signIn(page, server);
  const answer = await runSql(page, "SELECT id, status, voucher, total, ordered_at FROM orders ORDER BY id");
  const grid = answer.getByRole("table", { name: "Rows of the result" });
  await answer.getByText("45,000 rows").waitFor();
  const heads = await grid.getByRole("columnheader").allTextContents();
  assert.deepEqual(heads, ["#", "id integer", "status text", "voucher text", "total decimal(10,2)", "ordered_at timestamp"]);
  await grid.evaluate((grid) => grid.scrollTo(0, grid.scrollHeight));
  await grid.getByRole("cell", { name: "45000", exact: true }).waitFor();
  assert((await grid.getByRole("row").count()) < 60, "rows out of view are in the page");
  const isWhole = await grid.getByRole("button", { name: "Row 45000 in full" }).evaluate((button) => button.parentElement.scrollWidth <= button.parentElement.clientWidth);
  assert(isWhole, "the number of the row is cut");
  const download = page.waitForEvent("download");
  await answer.getByRole("button", { name: "Export CSV" }).click();
  const text = readFileSync(await (await download).path(), "utf8");
  assert.equal(text.trimEnd().split("\n").length, 45_001);
  watch.check();
  await context.close();
});

test("export shows how far it is, and is stopped", async () => {
  const { page, watch, context } = await openPage(browser, server);
  await signIn(page, server);
  const answer = await runSql(page, "SELECT id FROM orders ORDER BY id LIMIT 9");
  await answer.getByText("9 rows").waitFor();
  // The file is given out by hand, so that there is time to look.
  await page.evaluate(() => {
    const real = window.fetch;
    window.fetch = async (request, init) => {
      const { pathname } = new URL(request.url ?? request, location.href);
      if (!pathname.endsWith("/export")) return real(request, init);
      request.signal.addEventListener("abort", () => { window.isAborted = true; });
      const body = new ReadableStream({
        start(controller) {
          window.give = (text) => controller.enqueue(new TextEncoder().encode(text));
          request.signal.addEventListener("abort", () => controller.error(request.signal.reason));
        },
      });
      return new Response(body, { headers: { "Content-Type": "text/csv" } });
    };
  });
  // Whether the browser asks before the page is left.
  const asks = () => page.evaluate(() => !dispatchEvent(new Event("beforeunload", { cancelable: true })));
  assert.equal(await asks(), false);
  await answer.getByRole("button", { name: "Export CSV" }).click();
  const progress = answer.getByRole("progressbar", { name: "Export" });
  await progress.waitFor();
  assert.equal(await progress.getAttribute("value"), null, "nothing is known before the first byte");
  await page.waitForFunction(() => window.give);
  await page.evaluate(() => window.give("id\n1\n2\n3\n4\n"));
  await answer.getByText("11 bytes").waitFor();
  assert.equal(await asks(), true);
  assert.equal(await progress.evaluate((bar) => bar.value), 0.5);
  await answer.getByRole("button", { name: "Stop" }).click();
  await answer.getByRole("button", { name: "Export CSV" }).waitFor();
  assert.equal(await progress.count(), 0);
  assert.equal(await page.evaluate(() => window.isAborted), true, "the server goes on sending");
  assert.equal(await asks(), false);
  watch.check();
  await context.close();
});

test("answer is stopped, down to the database", async () => {
  const { page, watch, context } = await openPage(browser, server);
  await signIn(page, server);
  const answer = await runSql(page, "SELECT count(*) FROM order_items a, order_items b, order_items c WHERE a.quantity + b.quantity + c.quantity < 0");
  await page.getByRole("button", { name: "Stop" }).click();
  await answer.getByText(/Stopped|cancelled/).waitFor();
  await page.getByRole("button", { name: "Run", exact: true }).waitFor();
  watch.check();
  await context.close();
});

test("another conversation can be opened while an answer runs", async () => {
  const { page, watch, context } = await openPage(browser, server);
  await server.api("POST", "/responses", { model: "analyst", input: "How many suppliers are there?" });
  await signIn(page, server);
  await runSql(page, "SELECT count(*) FROM order_items a, order_items b, order_items c WHERE a.quantity + b.quantity + c.quantity < 0");
  await page.getByRole("button", { name: "Stop" }).waitFor();
  const list = page.getByRole("navigation", { name: "Conversations" });
  await list.getByRole("link", { name: /many suppliers/ }).click();
  const answer = page.locator("article.assistant");
  await answer.locator(".prose").waitFor();
  assert.equal(await answer.count(), 1);
  assert.equal(await answer.getByText("Stopped").count(), 0, "the answer of another conversation was marked");
  // The way back is to an empty page, where the next question is asked.
  await page.getByRole("link", { name: "New question" }).click();
  await page.getByLabel("In SQL").uncheck();
  await page.getByLabel("Question", { exact: true }).fill("How many customers are there?");
  await page.keyboard.press("Enter");
  await answer.locator(".prose").waitFor();
  watch.check();
  await context.close();
});

test("text is copied with and without the browser's clipboard", async () => {
  const { page, watch, context } = await openPage(browser, server);
  await context.grantPermissions(["clipboard-read", "clipboard-write"]);
  await signIn(page, server);
  const sql = "SELECT count(*) AS copied FROM orders";
  const answer = await runSql(page, sql);
  await answer.locator(".sql > summary").click();
  const copy = answer.getByRole("button", { name: "Copy", exact: true });
  const clipboard = () => page.evaluate(() => window.clipboard.readText());
  await page.evaluate(() => { window.clipboard = navigator.clipboard; });
  for (const isThere of [true, false]) {
    await page.evaluate(() => window.clipboard.writeText("before"));
    // Away from localhost and without TLS a browser has none.
    if (!isThere) await page.evaluate(() => Object.defineProperty(navigator, "clipboard", { value: undefined }));
    await copy.click();
    await answer.getByRole("button", { name: "Copied" }).waitFor();
    assert.match(await clipboard(), /AS copied/i);
    await page.getByLabel("In SQL").focus();
  }
  watch.check();
  await context.close();
});

test("conversations are found by what was said in them, and deleted", async () => {
  const { page, watch, context } = await openPage(browser, server);
  const own = await server.keyOf("user");
  const begun = await server.api("POST", "/conversations", { metadata: { title: "Weekly figures" } }, own);
  const made = await server.api("POST", "/responses", { model: "analyst", input: "How many reviews are there?", conversation: begun.id }, own);
  await server.api("POST", "/responses", { model: "analyst", input: "How many customers are there?" }, own);
  const from = made.output[0].sql.split("\n").at(-1);
  assert.match(from, /reviews/);
  await signIn(page, server, own);
  const list = page.getByRole("navigation", { name: "Conversations" });
  const search = page.getByLabel("Search the conversations");
  const found = list.getByRole("listitem");
  await search.fill("no such words in any of them");
  await list.getByText("Nothing found.").waitFor();
  // By a later question, in other letters, by the statement of the answer, and by the title.
  for (const text of ["many REVIEWS", from, "weekly FIG"]) {
    await search.fill(text);
    await list.getByRole("link", { name: /Weekly figures/ }).waitFor();
    assert.equal(await found.count(), 1, text);
    await search.fill("no such words in any of them");
    await list.getByText("Nothing found.").waitFor();
  }
  await search.fill("many REVIEWS");
  await found.getByRole("link", { name: /Weekly figures/ }).waitFor();
  await found.hover();
  await found.getByRole("button", { name: /Delete the conversation/ }).click();
  await page.getByRole("button", { name: "Delete", exact: true }).click();
  await list.getByText("Nothing found.").waitFor();
  await visit(page, "/console/ask");
  watch.check();
  await context.close();
});

test("field for the question does not take the focus from somebody who writes elsewhere", async () => {
  const { page, watch, context } = await openPage(browser, server);
  let release;
  const held = new Promise((resolve) => { release = resolve; });
  await page.route(/\/api\/v1\/minds$/, async (route) => {
    await held;
    await route.continue();
  });
  await signIn(page, server);
  const search = page.getByLabel("Search the conversations");
  await search.pressSequentially("half a");
  release();
  const question = page.getByLabel("Question", { exact: true });
  await question.waitFor();
  await page.keyboard.type(" word");
  assert.equal(await search.inputValue(), "half a word");
  assert.equal(await question.inputValue(), "");
  // Nobody writes: it is there at once.
  await page.unrouteAll({ behavior: "wait" });
  await page.getByRole("link", { name: "Data", exact: true }).click();
  await page.getByRole("link", { name: "Ask", exact: true }).click();
  await page.waitForFunction(() => document.activeElement?.ariaLabel === "Question");
  watch.check();
  await context.close();
});

test("conversation that cannot be deleted says so in the dialog", async () => {
  const { page, watch, context } = await openPage(browser, server);
  const own = await server.keyOf("user");
  await server.api("POST", "/responses", { model: "analyst", input: "How many reviews are there?" }, own);
  await page.route(/\/api\/v1\/conversations\/[^/?]+$/, (route) => (route.request().method() === "DELETE" ? route.fulfill({ status: 503, json: { error: { message: "Too busy to delete.", code: "overloaded" } } }) : route.continue()));
  await signIn(page, server, own);
  const found = page.getByRole("navigation", { name: "Conversations" }).getByRole("listitem");
  await found.first().hover();
  await found.first().getByRole("button", { name: /Delete the conversation/ }).click();
  const dialog = page.getByRole("dialog");
  await dialog.getByRole("button", { name: "Delete", exact: true }).click();
  await dialog.getByText("Too busy to delete.").waitFor();
  await dialog.getByRole("button", { name: "Cancel" }).click();
  assert.equal(await found.count(), 1);
  watch.check();
  await context.close();
});

test("wrong key is refused in the server's words, and a revoked one ends the session", async () => {
  const { page, watch, context } = await openPage(browser, server);
  await page.goto(`${server.url}/console/ask`);
  await page.getByLabel("API key").fill("mh_wrong");
  await page.getByRole("button", { name: "Sign in" }).click();
  await page.getByRole("alert").waitFor();
  const made = await server.api("POST", "/keys", { name: "short-lived", role: "user" });
  await signIn(page, server, made.key);
  await server.api("DELETE", `/keys/${made.id}`);
  // What the first page still loads may be refused before the click is.
  const ended = page.getByRole("button", { name: "Sign in" }).waitFor();
  await Promise.any([page.getByRole("link", { name: "Minds" }).click(), ended]);
  await ended;
  await page.getByRole("alert").getByText(/Request/).waitFor();
  watch.check();
  await context.close();
});

test("types of the console are those of the server", () => {
  const folder = new URL("../../host/console/", import.meta.url);
  execFileSync(process.execPath, ["scripts/generate.mjs", server.url, "--check"], { cwd: folder, stdio: "pipe" });
});
