// How well a Mind answers: a suite is started, watched, read question by question, compared, stopped and deleted.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { browser, server } from "./demo.mjs";
import { PAYLOADS } from "./payloads.mjs";
import { inspect, openPage, signIn, tabTo, visit } from "./support.mjs";

/** A Mind of its own, so that no test sees what another ran. */
async function makeMind(name) {
  const all = await server.api("GET", "/minds");
  if (all.some((one) => one.name === name)) await server.api("DELETE", `/minds/${name}`);
  await server.api("POST", "/minds", { name, datasources: ["shop"], parameters: { allow_direct_queries: true } });
}

async function open(path, { key = server.key, ...options } = {}) {
  const opened = await openPage(browser, server, options);
  await signIn(opened.page, server, key, `/console${path}`);
  return opened;
}

const evaluations = async (mind) => (await server.api("GET", `/minds/${mind}/evaluations`)).data;

/** Milliseconds until a run has ended. One of more than a hundred questions takes long on two cores that other tests
 * need too. */
const LONGEST = 240_000;

/** Runs a suite through the API until it ends. */
async function run(mind, suite) {
  const { id } = await server.api("POST", `/minds/${mind}/evaluations`, { suite });
  for (const end = Date.now() + LONGEST; ;) {
    const report = await server.api("GET", `/minds/${mind}/evaluations/${id}`);
    if (report.status !== "running") return report;
    assert(Date.now() < end, "the run does not end");
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
}

const BEFORE = `name: shop
prices: {input: 0.15, output: 0.6, currency: USD}
questions:
  - id: customers
    question: How many customers are there?
    sql: SELECT count(*) FROM customers
  - id: cancelled
    question: How many orders were cancelled?
    rows: [[-1]]
  - id: products
    question: How many products are there?
    rows: [[-1]]
  - id: forecast
    question: What will the revenue be next year?
    expect: declined
  - id: broken
    question: How many orders are there?
    sql: SELECT nope FROM orders
`;
const AFTER = `name: shop
questions:
  - id: customers
    question: How many customers are there?
    rows: [[-1]]
  - id: cancelled
    question: How many orders were cancelled?
    sql: SELECT count(*) FROM orders WHERE status = 'cancelled'
  - id: products
    question: How many products are there?
    sql: SELECT count(*) FROM products
  - id: forecast
    question: What will the revenue be next year?
    expect: declined
  - id: reviews
    question: How many reviews are there?
    sql: SELECT count(*) FROM reviews
`;
/** As many questions as a run may have; each is the same to the model. */
const LONG = JSON.stringify({ name: "long" }) + Array.from({ length: 1000 }, () => `\n${JSON.stringify({ question: "How many orders are there?", rows: [[-1]] })}`).join("");

const paste = async (page, suite) => {
  await page.getByLabel("Suite", { exact: true }).fill(suite);
  await page.getByRole("button", { name: "Start" }).click();
};
const done = (page) => {
  const status = page.getByRole("region", { name: "This evaluation" }).getByText("done", { exact: true });
  return status.waitFor({ timeout: LONGEST });
};
const question = (page, text) => page.getByRole("region", { name: "Questions" }).getByRole("listitem").filter({ hasText: text });
const figure = (page, title) => page.locator(".figure").filter({ hasText: title }).locator("b").textContent();

test("suite is pasted and judged, and its questions are filtered and opened", async () => {
  await makeMind("judged");
  const { page, watch, context } = await open("/minds/judged/evaluations");
  await page.getByText("It was not evaluated yet").waitFor();
  await page.getByText(/SELECT count/).waitFor();
  await page.getByRole("link", { name: "Evaluate it" }).click();
  await paste(page, BEFORE);
  await done(page);
  assert.equal(await figure(page, "Accuracy"), "33.3%");
  assert.equal(await figure(page, "Rightly declined"), "100%");
  await page.getByText(/USD$/).waitFor();
  const filters = await page.getByRole("group", { name: "Mark" }).locator("label").allTextContents();
  assert.deepEqual(filters.map((one) => one.trim()), ["all 5", "right 2", "wrong 2", "declined 0", "failed 0", "not judged 1"]);
  await page.getByRole("radio", { name: /^wrong/ }).check();
  await page.getByText("2 of 5 questions", { exact: true }).waitFor();
  assert.match(page.url(), /\?mark=wrong$/);
  await page.getByLabel("Search questions").fill("CANCELLED");
  await page.getByText("1 of 5 questions", { exact: true }).waitFor();
  const cancelled = question(page, "How many orders were cancelled?");
  await cancelled.locator("summary").click();
  await cancelled.getByText(/no column holds the values of column 1/).waitFor();
  await cancelled.getByRole("textbox", { name: "Its statement" }).getByText(/COUNT/).waitFor();
  await page.getByLabel("Search questions").fill("");
  await page.getByRole("radio", { name: /^not judged/ }).check();
  const broken = question(page, "How many orders are there?");
  await broken.locator("summary").click();
  await broken.getByText(/the accepted statement fails: no such column: nope/).waitFor();
  await broken.getByRole("textbox", { name: "Accepted statement" }).getByText(/nope/).waitFor();
  // The question is put into the field, and not asked.
  await broken.getByRole("link", { name: "Ask it" }).click();
  const field = page.getByLabel("Question", { exact: true });
  await field.waitFor();
  assert.equal(await field.inputValue(), "How many orders are there?");
  assert.equal(await page.getByRole("combobox", { name: /^Mind/ }).inputValue(), "judged");
  assert.equal(await page.locator(".turn").count(), 0);
  watch.check();
  await context.close();
});

test("two runs are compared under an address, and a changed question is opened", async () => {
  await makeMind("compared");
  const before = await run("compared", BEFORE);
  const after = await run("compared", AFTER);
  const { page, watch, context } = await open("/minds/compared/evaluations");
  await page.getByRole("link", { name: "shop" }).nth(1).waitFor();
  await page.getByRole("link", { name: "shop" }).first().click();
  await page.getByLabel("Compare with").selectOption(before.id);
  const changes = page.getByRole("region", { name: "Comparison" });
  await changes.getByText("+33.3 percentage points").waitFor();
  assert.equal(new URL(page.url()).search, `?baseline=${before.id}`);
  const texts = (name) => changes.getByRole("region", { name, exact: true }).getByRole("listitem").allTextContents();
  assert.deepEqual(await texts("Newly wrong"), ["How many customers are there?right → wrong"]);
  assert.deepEqual(await texts("Newly right"), ["How many orders were cancelled?wrong → right", "How many products are there?wrong → right"]);
  assert.deepEqual(await texts("Added"), ["How many reviews are there?"]);
  assert.deepEqual(await texts("Removed"), ["broken"]);
  assert.equal(await changes.getByRole("region", { name: "Other changes" }).count(), 0);
  const total = (title) => changes.locator("dt", { hasText: title }).locator("xpath=following-sibling::dd[1]").textContent();
  assert.match(await total("Wrong"), /^\d.* → \d/);
  assert.equal(await total("Repairs"), "0 → 0");
  // A change leads to its question, even where a filter hides it.
  await page.getByRole("radio", { name: /^right/ }).check();
  await changes.getByRole("button", { name: "How many customers are there?" }).click();
  const customers = question(page, "How many customers are there?");
  await customers.getByText("was right").waitFor();
  await customers.getByText(/no column holds the values/).waitFor();
  assert(await customers.locator("summary").evaluate((one) => one === document.activeElement));
  assert.equal(await page.evaluate(() => document.documentElement.scrollHeight - document.documentElement.clientHeight), 0, "the frame of the page scrolls");
  await page.getByRole("radio", { name: /^changed/ }).check();
  await page.getByText("3 of 5 questions", { exact: true }).waitFor();
  // The first has nothing before it to be compared with; an address of a run that is gone says so.
  await visit(page, `/console/minds/compared/evaluations/${before.id}`);
  await page.getByRole("heading", { name: "Questions" }).waitFor();
  assert.equal(await page.getByLabel("Compare with").count(), 0);
  await visit(page, `/console/minds/compared/evaluations/${after.id}?baseline=01a20886-d594-7784-9f11-932f7d3573d5`);
  await changes.getByRole("alert").getByText(/has no evaluation/).waitFor();
  await page.getByRole("heading", { name: "Questions" }).waitFor();
  const download = page.waitForEvent("download");
  await page.getByRole("button", { name: "Download" }).click();
  const file = await download;
  const report = JSON.parse(readFileSync(await file.path(), "utf8"));
  assert.match(file.suggestedFilename(), /^compared_shop_[\w-]+\.json$/);
  assert.deepEqual([report.suite, report.mind, report.is_complete, report.questions.length], ["shop", "compared", true, 5]);
  assert.equal(report.figures.right, 3);
  watch.check();
  await context.close();
});

test("long run shows how far it is, refuses another beside it, and is stopped and deleted", async () => {
  await makeMind("long");
  const { page, watch, context } = await open("/minds/long/evaluations/new");
  await page.locator("input[type=file]").setInputFiles({ name: "long.jsonl", mimeType: "application/json", buffer: Buffer.from(LONG) });
  await page.waitForFunction((long) => document.querySelector("textarea").value === long, LONG);
  await page.getByLabel("Questions at the same time").fill("1");
  await page.getByRole("button", { name: "Start" }).click();
  // It grows by itself, in the same page.
  const bar = page.getByRole("progressbar", { name: "Progress of long" });
  await bar.waitFor();
  await page.evaluate(() => { window.same = true; });
  const grown = async (least) => page.waitForFunction((least) => (document.querySelector("progress")?.value ?? 0) > least, least);
  await grown(0);
  const first = await bar.evaluate((one) => one.value);
  await grown(first);
  assert(await page.evaluate(() => window.same));
  await page.getByText(/^\d+ of 1,000 questions judged$/).waitFor();
  await visit(page, "/console/minds/long/evaluations/new");
  await paste(page, BEFORE);
  await page.getByRole("alert").getByText(/an evaluation of this Mind is running/).waitFor();
  await page.getByRole("alert").getByText(/^Request /).waitFor();
  await visit(page, "/console/minds/long/evaluations");
  await page.getByText("running", { exact: true }).waitFor();
  await bar.waitFor();
  await page.getByRole("button", { name: "Stop …" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Stop", exact: true }).click();
  await page.getByText("stopped", { exact: true }).waitFor();
  const [stopped] = await evaluations("long");
  assert.equal(stopped.status, "cancelled");
  assert(stopped.judged_count > 0 && stopped.judged_count < 1000, `${stopped.judged_count}`);
  await page.getByRole("link", { name: "long" }).last().click();
  await page.getByRole("heading", { name: "Questions" }).waitFor();
  await page.getByRole("button", { name: "Delete …" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Delete", exact: true }).click();
  await page.getByText("It was not evaluated yet").waitFor();
  assert.deepEqual(await evaluations("long"), []);
  watch.check();
  await context.close();
});

test("what is wrong with a suite stands at its field, with the line", async () => {
  await makeMind("refused");
  const { page, watch, context } = await open("/minds/refused/evaluations/new");
  const beside = (label) => page.getByLabel(label).locator("xpath=../..").getByRole("alert");
  await paste(page, "questions:\n  - question: How many?\n    sqll: SELECT 1\n");
  await beside(/^Suite$/).getByText(/line 3, column 5: unknown field `sqll`/).waitFor();
  assert.match(await page.locator("pre.line").textContent(), /3 +sqll: SELECT 1/);
  assert.equal(await page.getByLabel("Suite", { exact: true }).getAttribute("aria-invalid"), "true");
  await page.getByLabel("Questions at the same time").fill("17");
  await paste(page, BEFORE);
  await beside("Questions at the same time").getByText("`jobs` must be an integer from 1 to 16").waitFor();
  await page.getByLabel("Questions at the same time").fill("2");
  await page.getByLabel(/^Only the first/).fill("0");
  await page.getByRole("button", { name: "Start" }).click();
  await beside(/^Only the first/).getByText("`limit` must be an integer from 1").waitFor();
  const large = Buffer.from(`# ${"x".repeat(2 << 20)}\n${BEFORE}`);
  await page.locator("input[type=file]").setInputFiles({ name: "large.yaml", mimeType: "application/yaml", buffer: large });
  await beside(/^Suite$/).getByText(/larger than 2 MiB/).waitFor();
  assert.deepEqual(await evaluations("refused"), []);
  await page.getByLabel(/^Only the first/).fill("2");
  await paste(page, BEFORE);
  await done(page);
  assert.equal((await evaluations("refused"))[0].questions_count, 2);
  watch.check();
  await context.close();
});

test("no text of a suite runs", async () => {
  await makeMind("hostile_suite");
  const head = { name: `<img src=x onerror=pwned()> ${PAYLOADS[0]}`, prices: { input: 1, output: 1, currency: "<b>USD</b>" } };
  const lines = PAYLOADS.map((text, index) => ({ id: `${index} ${text}`, question: text, ...(index % 3 === 0 ? { sql: `SELECT '${text.replaceAll("'", "''")}'` } : { rows: [[text]] }) }));
  const suite = [head, ...lines].map((one) => JSON.stringify(one)).join("\n");
  const before = await run("hostile_suite", [head, ...lines, { id: "<svg onload=pwned()>", question: "gone", rows: [[1]] }].map((one) => JSON.stringify(one)).join("\n"));
  const { page, watch, context } = await open("/minds/hostile_suite/evaluations/new");
  await page.exposeFunction("pwned", () => page.evaluate(() => window.reportViolation("a text ran")));
  const bad = "main :is(script, img, iframe, object, embed, video, audio, base, meta, link, marquee, math, svg, style, b b, [onerror], [onload], [onclick], [onfocus])";
  const check = async (where) => {
    assert.equal(await page.locator(bad).count(), 0, where);
    const links = await page.locator("main a").evaluateAll((all) => all.map((one) => one.getAttribute("href")));
    assert.deepEqual(links.filter((one) => !one.startsWith("/console/")), [], where);
    watch.check();
  };
  await paste(page, suite);
  await done(page);
  const questions = page.getByRole("region", { name: "Questions" });
  const more = questions.getByRole("button", { name: "Show more" });
  while (await more.count()) await more.click();
  assert.equal(await questions.locator("summary").count(), PAYLOADS.length);
  await question(page, "<script>pwned()</script>").first().waitFor();
  for (let at = 0; at < PAYLOADS.length; at += 9) await questions.locator("summary").nth(at).click();
  await questions.getByText("<b>USD</b>").first().waitFor();
  await check("the questions");
  await page.getByLabel("Compare with").selectOption(before.id);
  await page.getByRole("region", { name: "Removed" }).getByText("<svg onload=pwned()>").waitFor();
  await check("the comparison");
  await visit(page, "/console/minds/hostile_suite/evaluations");
  await page.getByRole("link", { name: /<img src=x onerror=pwned\(\)>/ }).first().waitFor();
  await check("the list");
  await visit(page, "/console/minds/hostile_suite/evaluations/new");
  await paste(page, "questions:\n  - <img src=x onerror=pwned()>: <script>pwned()</script>\n");
  await page.getByRole("alert").waitFor();
  await check("the error");
  await context.close();
});

for (const [mode, options] of Object.entries({
  light: { colorScheme: "light" },
  dark: { colorScheme: "dark" },
  phone: { colorScheme: "light", viewport: { width: 390, height: 844 }, isMobile: true, hasTouch: true },
})) {
  test(`axe finds nothing on evaluations in ${mode}`, async () => {
    const mind = `seen_${mode}`;
    await makeMind(mind);
    const before = await run(mind, BEFORE);
    const after = await run(mind, AFTER);
    const { page, watch, context } = await open(`/minds/${mind}/evaluations`, options);
    await page.getByRole("link", { name: "shop" }).nth(1).waitFor();
    const found = await inspect(page, "the list");
    await page.getByRole("button", { name: "Delete …" }).first().click();
    found.push(...(await inspect(page, "a dialog")));
    await page.keyboard.press("Escape");
    await visit(page, `/console/minds/${mind}/evaluations/${after.id}?baseline=${before.id}`);
    const first = page.getByRole("region", { name: "Questions" }).getByRole("listitem").first();
    await first.locator("summary").click();
    await first.locator(".editor .cm-content").first().waitFor();
    found.push(...(await inspect(page, "one")));
    await visit(page, `/console/minds/${mind}/evaluations/new`);
    await paste(page, "questions: 7");
    await page.getByRole("alert").waitFor();
    found.push(...(await inspect(page, "an error")));
    await server.api("POST", `/minds/${mind}/evaluations`, { suite: LONG, jobs: 1 });
    await visit(page, `/console/minds/${mind}/evaluations`);
    await page.getByRole("progressbar").waitFor();
    found.push(...(await inspect(page, "one that runs")));
    assert.deepEqual(found, []);
    watch.check();
    await context.close();
    await server.api("DELETE", `/minds/${mind}`);
  });
}

test("keyboard alone starts an evaluation and opens a question", async () => {
  await makeMind("typed");
  const { page, watch, context } = await open("/minds/typed/evaluations");
  const start = page.getByRole("link", { name: "Evaluate it" });
  await start.waitFor();
  await tabTo(page, start);
  await page.keyboard.press("Enter");
  const field = page.getByLabel("Suite", { exact: true });
  await field.waitFor();
  await tabTo(page, field);
  await page.keyboard.insertText(BEFORE);
  await tabTo(page, page.getByRole("button", { name: "Start" }));
  await page.keyboard.press("Enter");
  await done(page);
  await tabTo(page, page.getByRole("radio", { name: /^all/ }));
  await page.keyboard.press("ArrowRight");
  await page.getByText("2 of 5 questions", { exact: true }).waitFor();
  const summary = question(page, "How many customers are there?").locator("summary");
  await tabTo(page, summary);
  await page.keyboard.press("Enter");
  await question(page, "How many customers are there?").getByRole("heading", { name: "Answer" }).waitFor();
  watch.check();
  await context.close();
});

test("only who may write a Mind sees its evaluations", async () => {
  await makeMind("shown");
  const tab = async (role) => {
    const { page, watch, context } = await open("/minds/shown", { key: await server.keyOf(role) });
    await page.getByText("Instructions").first().waitFor();
    const count = await page.getByRole("navigation", { name: "Views" }).getByRole("link", { name: "Evaluations" }).count();
    watch.check();
    await context.close();
    return count;
  };
  assert.deepEqual([await tab("user"), await tab("editor")], [0, 1]);
});
