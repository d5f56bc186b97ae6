// Conversations while an answer is made: left and come back to, stopped, signed out of; and those that cannot go on.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { browser, server } from "./demo.mjs";
import { PAYLOADS } from "./payloads.mjs";
import { holdConversations, inspect, openPage, signIn, visit } from "./support.mjs";
import { Vendor } from "./vendor.mjs";

let vendor;
before(async () => {
  vendor = await Vendor.start();
  await vendor.mind(server, "told");
});
after(() => vendor.stop());

const answers = (page) => page.locator("article.assistant");

/** Asks the Mind of the scripted vendor. */
async function ask(page, question, mind = "told") {
  await page.locator(".mind-choice select").selectOption(mind);
  await page.getByLabel("Question", { exact: true }).fill(question);
  await page.keyboard.press("Enter");
  await page.locator(".said").getByText(question, { exact: true }).waitFor();
}

test("answer shows its assumptions while it is made and later, and hostile text stays text", async () => {
  const assumptions = ["Cancelled orders count.", ...PAYLOADS.filter((one) => /onerror|\u202E/.test(one)).slice(0, 5)];
  vendor.turns = [
    { call: "run_sql", arguments: { sql: "SELECT count(*) AS orders FROM orders", assumptions } },
    { words: ["There are ", "**45000**", " orders. ", ...PAYLOADS.map((one) => `${one}\n\n`)], hold: 3 },
  ];
  const { page, watch, context } = await openPage(browser, server);
  await page.exposeFunction("pwned", () => page.evaluate(() => window.reportViolation("a text ran")));
  await signIn(page, server);
  await ask(page, "How many orders are there, as far as you know?");
  await answers(page).locator(".prose strong").getByText("45000").waitFor();
  await vendor.held();
  vendor.release();
  const assumed = page.getByRole("region", { name: "Assumed" });
  await assumed.getByText("Cancelled orders count.").waitFor();
  const texts = await assumed.getByRole("listitem").allTextContents();
  assert(texts.length > 1, `${texts}`);
  assert(!texts.some((text) => text.includes("\u202E")));
  const path = new URL(page.url()).pathname;
  await visit(page, "/console/data");
  await answers(page).waitFor({ state: "detached" });
  await visit(page, path);
  await assumed.getByText("Cancelled orders count.").waitFor();
  assert.deepEqual(await assumed.getByRole("listitem").allTextContents(), texts);
  assert.equal(await page.locator("main").locator("img, script, iframe").count(), 0);
  watch.check();
  await context.close();
});

test("answer is drawn block by block, also where a model writes its tables in another way", async () => {
  const blocks = [
    "# Orders\n", "First **words**,\nand more.\n", "| a | b |\n--- | ---:\n| 1 | 2 |\n", "\n| alone |\n---\n", "\n1. one\n2. two\n   goes on\n",
    "\n```\n# no heading\n\n| no | table |\n```\n", "\n| not a table |\nbut text\n", "- last",
  ];
  // Letter by letter, so that each block is drawn while it is half there.
  const words = [...blocks.join("")];
  vendor.turns = [{ words, hold: words.length - 1 }];
  const { page, watch, context } = await openPage(browser, server);
  await signIn(page, server);
  await ask(page, "What can you draw?");
  await answers(page).locator(".prose ul li").getByText("las").waitFor();
  const shape = () => answers(page).locator(".prose").evaluate((prose) => [...prose.children].map((one) => `${one.tagName} ${one.textContent}`));
  await vendor.held();
  vendor.release();
  await answers(page).locator(".prose ul li").getByText("last", { exact: true }).waitFor();
  const drawn = [
    "P Orders", "P First words,and more.", "DIV ab12", "DIV alone", "OL onetwogoes on", "PRE # no heading\n\n| no | table |", "P | not a table |but text", "UL last",
  ];
  assert.deepEqual((await shape()).map((one) => one.replace(/ {2,}/g, "")), drawn);
  assert.equal(await answers(page).locator("td.right").textContent(), "2");
  const path = new URL(page.url()).pathname;
  await visit(page, "/console/data");
  await answers(page).waitFor({ state: "detached" });
  await visit(page, path);
  await answers(page).locator(".prose ul li").waitFor();
  assert.deepEqual((await shape()).map((one) => one.replace(/ {2,}/g, "")), drawn);
  watch.check();
  await context.close();
});

test("items of lists have the numbers that are written", async () => {
  const text = [
    "1. Alpha", "", "2. Beta", "   goes on", "   - inner", "     1. deep", "", "   Second words.", "3. Gamma", "", "Then:", "3. Sweden", "4. Norway", "", "2024. was a good year.", "",
    "Ranks:", "1. a", "2. b", "2. c", "", "Usual:", "1. x", "1. y", "", "Both:", "1. with dots", "- and a dot", "2. and a number", "", `${"- ".repeat(3000)}deep`,
  ].join("\n");
  vendor.turns = [{ words: [text] }];
  const { page, watch, context } = await openPage(browser, server);
  await signIn(page, server);
  await ask(page, "What is in which place?");
  await answers(page).getByRole("button", { name: "Copy the answer" }).waitFor();
  // As a reader sees them: the value of an item is its own or counted by the browser.
  const numbered = await answers(page).locator(".prose").evaluate((prose) => [...prose.querySelectorAll("ol")].map((list) => [...list.children].map((item) => `${item.value} ${item.firstChild.textContent}`)));
  assert.deepEqual(numbered, [
    ["1 Alpha", "2 Beta", "3 Gamma"], ["1 deep"], ["3 Sweden", "4 Norway", "2024 was a good year."], ["1 a", "2 b", "2 c"], ["1 x", "2 y"], ["1 with dots"], ["2 and a number"],
  ]);
  watch.check();
  await context.close();
});

test("answers of questions that are asked at once stand below their questions", async () => {
  const first = await server.api("POST", "/responses", { model: "told", input: "Before" });
  const conversation = first.conversation.id;
  vendor.turns = [{ words: ["First answer."], hold: 0 }, { words: ["Second answer."] }];
  const slow = server.api("POST", "/responses", { model: "told", conversation, input: "First question" });
  await vendor.held();
  await server.api("POST", "/responses", { model: "told", conversation, input: "Second question" });
  vendor.release();
  await slow;
  const { page, watch, context } = await openPage(browser, server);
  await signIn(page, server, server.key, `/console/ask/${conversation}`);
  await answers(page).nth(2).locator(".prose").waitFor();
  const shown = await page.locator("article").evaluateAll((all) => all.map((one) => one.querySelector(".said, .prose").textContent));
  assert.deepEqual(shown, ["Before", "Nothing more.", "First question", "First answer.", "Second question", "Second answer."]);
  watch.check();
  await context.close();
});

test("editors of a long conversation are made for statements that are opened", async () => {
  const statement = { model: "told", tools: [{ type: "sql_query", query: "SELECT 1 AS one", max_inline_rows: 1 }] };
  const { conversation } = await server.api("POST", "/responses", statement);
  for (let count = 1; count < 4; count++) await server.api("POST", "/responses", { ...statement, conversation: conversation.id });
  const { page, watch, context } = await openPage(browser, server);
  await signIn(page, server, server.key, `/console/ask/${conversation.id}`);
  await answers(page).nth(3).getByRole("cell").first().waitFor();
  const editors = page.locator(".sql .cm-editor");
  assert.equal(await editors.count(), 0);
  await answers(page).first().locator(".sql > summary").click();
  await editors.waitFor();
  watch.check();
  await context.close();
});

test("answer in words is stopped, and says what it said until then", async () => {
  vendor.turns = [{ words: ["First words. ", "Last words."], hold: 1 }];
  const { page, watch, context } = await openPage(browser, server);
  await signIn(page, server);
  await ask(page, "Say something that takes long");
  await answers(page).getByText("First words.").waitFor();
  await page.getByRole("button", { name: "Stop", exact: true }).click();
  await answers(page).getByText("Stopped.").waitFor();
  await page.getByRole("button", { name: "Ask", exact: true }).waitFor();
  vendor.release();
  assert.equal(await answers(page).getByText("Last words.").count(), 0);
  watch.check();
  await context.close();
});

test("answer that is made while another page is shown is waited for, and can be stopped there", async () => {
  const { page, watch, context } = await openPage(browser, server);
  await signIn(page, server);
  for (const end of ["waits", "stops"]) {
    vendor.turns = [{ words: ["Late ", "words."], hold: 0 }];
    await visit(page, "/console/ask");
    await ask(page, `What takes long and then ${end === "stops" ? "ends" : end}?`);
    await vendor.held();
    await page.waitForFunction(() => /\/ask\/./.test(location.pathname));
    const path = new URL(page.url()).pathname;
    await visit(page, "/console/data");
    await page.getByRole("heading", { name: "Data", exact: true }).waitFor();
    await visit(page, path);
    await page.getByText("Still answering …").waitFor();
    assert.equal(await page.getByText("No answer is stored for this question.").count(), 0);
    if (end === "stops") await page.getByRole("button", { name: "Stop", exact: true }).click();
    else vendor.release();
    await answers(page).getByText(end === "stops" ? "Stopped." : "Late words.").waitFor();
    await page.getByRole("button", { name: "Ask", exact: true }).waitFor();
    vendor.release();
  }
  watch.check();
  await context.close();
});

test("question that is on its way does not lead back from another page", async () => {
  const { page, watch, context } = await openPage(browser, server);
  await signIn(page, server);
  const release = await holdConversations(page);
  const begun = page.waitForRequest((one) => one.method() === "POST" && one.url().endsWith("/conversations"));
  await ask(page, "How many suppliers are there?", "analyst");
  await begun;
  await page.getByRole("link", { name: "Data", exact: true }).click();
  await page.getByRole("heading", { name: "Data", exact: true }).waitFor();
  const asked = page.waitForRequest((one) => one.url().endsWith("/api/v1/responses"));
  release();
  // It is asked all the same, and found in the list of conversations.
  await asked;
  assert.equal(new URL(page.url()).pathname, "/console/data");
  await page.getByRole("link", { name: "Ask", exact: true }).click();
  await page.getByRole("navigation", { name: "Conversations" }).getByRole("link", { name: /How many suppliers/ }).first().click();
  await answers(page).locator(".prose").waitFor();
  watch.check();
  await context.close();
});

test("answer ends with the session", async () => {
  vendor.turns = [{ words: ["Some ", "words."], hold: 1 }];
  const { page, watch, context } = await openPage(browser, server);
  await signIn(page, server);
  await ask(page, "Say something before I leave");
  await answers(page).getByText("Some").waitFor();
  const ended = page.waitForEvent("requestfailed", (one) => one.url().endsWith("/api/v1/responses"));
  await page.getByText(/Signed in as/).locator("..").click();
  await page.getByRole("button", { name: "Sign out" }).click();
  await ended;
  await page.getByLabel("API key").waitFor();
  vendor.release();
  watch.check();
  await context.close();
});

test("conversation of a Mind that is gone is read and not continued", async () => {
  await server.api("POST", "/minds", { name: "brief", datasources: ["shop"], parameters: { allow_direct_queries: true } });
  const made = await server.api("POST", "/responses", { model: "brief", input: "How many orders are there?" });
  await server.api("DELETE", "/minds/brief");
  const { page, watch, context } = await openPage(browser, server);
  await signIn(page, server, server.key, `/console/ask/${made.conversation.id}`);
  await answers(page).locator(".prose").waitFor();
  await page.getByText(/The Mind “brief” was deleted/).waitFor();
  assert.deepEqual(await inspect(page, "conversation of a Mind that is gone"), []);
  assert.equal(await page.getByLabel("Question", { exact: true }).isVisible(), false);
  await page.getByRole("link", { name: "Begin a new one" }).click();
  await page.getByLabel("Question", { exact: true }).waitFor();
  watch.check();
  await context.close();
});

test("conversation that does not exist has no field for a question", async () => {
  const { page, watch, context } = await openPage(browser, server);
  await signIn(page, server, server.key, "/console/ask/01a21084-c515-75cd-9849-4589a899d7d5");
  await page.getByRole("alert").getByText(/Request/).waitFor();
  assert.deepEqual(await inspect(page, "conversation that does not exist"), []);
  assert.equal(await page.getByLabel("Question", { exact: true }).isVisible(), false);
  watch.check();
  await context.close();
});
