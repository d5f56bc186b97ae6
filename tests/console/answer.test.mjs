// What stands below an answer: what can be asked next, and whether it was right.
import assert from "node:assert/strict";
import { test } from "node:test";
import { browser, server } from "./demo.mjs";
import { inspect, openPage, signIn, visit } from "./support.mjs";

const QUESTION = "How many orders are there?";

/** Asks in words and gives the answer, which has ended. */
async function ask(page, question) {
  await page.getByLabel("Question", { exact: true }).fill(question);
  await page.keyboard.press("Enter");
  await page.locator(".said").getByText(question, { exact: true }).last().waitFor();
  const answer = page.locator("article.assistant").last();
  await answer.getByRole("button", { name: "This is right" }).waitFor();
  return answer;
}

/** What editors see of the answers of the demo's Mind. */
async function feedback() {
  return (await server.api("GET", "/minds/analyst/feedback")).data;
}

test("answer is rated, the rating is changed, and a comment is added", async () => {
  const { page, watch, context } = await openPage(browser, server);
  await signIn(page, server, await server.keyOf("user"));
  const answer = await ask(page, QUESTION);
  const [right, wrong] = ["This is right", "This is wrong"].map((name) => answer.getByRole("button", { name }));
  await right.click();
  await answer.locator("[aria-pressed=true][aria-label='This is right']").waitFor();
  await wrong.click();
  await answer.locator("[aria-pressed=true][aria-label='This is wrong']").waitFor();
  assert.equal(await right.getAttribute("aria-pressed"), "false");
  await answer.getByRole("button", { name: "Add a comment" }).click();
  await page.keyboard.type("Without <b>cancelled</b> ones.");
  await page.keyboard.press("Enter");
  await answer.getByRole("button", { name: "Change the comment" }).waitFor();
  assert(await answer.getByRole("button", { name: "Change the comment" }).evaluate((one) => one === document.activeElement), "the focus is lost");
  const given = await feedback();
  assert.deepEqual(
    given.map(({ rating, comment, question }) => ({ rating, comment, question })),
    [{ rating: "down", comment: "Without <b>cancelled</b> ones.", question: QUESTION }],
  );
  // Later, too: the answer comes from the store then.
  const path = new URL(page.url()).pathname;
  await visit(page, "/console/data");
  await page.getByRole("button", { name: "This is right" }).waitFor({ state: "detached" });
  await visit(page, path);
  await page.locator("[aria-pressed=true][aria-label='This is wrong']").waitFor();
  await page.getByRole("button", { name: "Change the comment" }).waitFor();
  await page.getByRole("button", { name: "This is right" }).click();
  await page.locator("[aria-pressed=true][aria-label='This is right']").waitFor();
  assert.equal((await feedback())[0].rating, "up");
  watch.check();
  await context.close();
});

test("right SQL is given for a wrong answer, and kept when the rating changes", async () => {
  const { page, watch, context } = await openPage(browser, server);
  await signIn(page, server, await server.keyOf("user"));
  const question = "How many customers are there?";
  const answer = await ask(page, question);
  const mine = async () => (await feedback()).find((one) => one.question === question);
  assert.equal(await answer.getByRole("button", { name: "Give the right SQL" }).count(), 0);
  await answer.getByRole("button", { name: "This is wrong" }).click();
  await answer.getByRole("button", { name: "Give the right SQL" }).click();
  const editor = answer.locator(".cm-content[aria-label='The right SQL']");
  await editor.click();
  assert.deepEqual(await inspect(page, "right SQL"), []);
  await page.keyboard.press("ControlOrMeta+A");
  await page.keyboard.press("Backspace");
  const right = "SELECT count(*) FROM customers WHERE id > 0";
  await page.keyboard.insertText(right);
  await answer.getByRole("button", { name: "Send" }).click();
  await answer.getByRole("button", { name: "Change the right SQL" }).waitFor();
  assert.equal((await mine()).corrected_sql, right);
  // Rated again from the stored conversation, it is still there.
  const path = new URL(page.url()).pathname;
  await visit(page, "/console/data");
  await answer.waitFor({ state: "detached" });
  await visit(page, path);
  await answer.getByRole("button", { name: "This is right" }).click();
  await answer.locator("[aria-pressed=true][aria-label='This is right']").waitFor();
  assert.deepEqual((({ rating, corrected_sql }) => ({ rating, corrected_sql }))(await mine()), { rating: "up", corrected_sql: right });
  watch.check();
  await context.close();
});

test("answer that is opened later has its steps, its statement and its proposals", async () => {
  const { page, watch, context } = await openPage(browser, server);
  await signIn(page, server);
  const answer = await ask(page, "Average order total per channel");
  const shown = async () => {
    await answer.locator(".steps > summary").click();
    await answer.getByText("Ran SQL").waitFor();
    return {
      steps: await answer.locator(".steps li strong").allTextContents(),
      sql: await answer.locator(".steps li pre").allTextContents(),
      proposals: await answer.getByRole("list", { name: "Ask next" }).getByRole("button").allTextContents(),
      assumed: await answer.locator(".assumptions li").allTextContents(),
    };
  };
  const before = await shown();
  assert(before.steps.length > 0 && before.sql.length > 0 && before.proposals.length > 0, JSON.stringify(before));
  const path = new URL(page.url()).pathname;
  await visit(page, "/console/data");
  await answer.waitFor({ state: "detached" });
  await visit(page, path);
  await answer.waitFor();
  assert.deepEqual(await shown(), before);
  watch.check();
  await context.close();
});

test("question whose answer is gone says so", async () => {
  const made = await server.api("POST", "/responses", { model: "analyst", input: "How many reviews are there?" });
  const { conversation, output } = made;
  await server.api("DELETE", `/conversations/${conversation.id}/items/${output[0].id}`);
  const { page, watch, context } = await openPage(browser, server);
  await signIn(page, server, server.key, `/console/ask/${conversation.id}`);
  await page.getByText("No answer is stored for this question.").waitFor();
  await page.getByRole("button", { name: "Ask again" }).click();
  await page.locator("article.assistant").getByRole("button", { name: "This is right" }).waitFor();
  watch.check();
  await context.close();
});

test("question that the answer proposes is asked with one click", async () => {
  const { page, watch, context } = await openPage(browser, server);
  await signIn(page, server);
  const answer = await ask(page, QUESTION);
  const next = answer.getByRole("list", { name: "Ask next" }).getByRole("button").first();
  const text = await next.innerText();
  await next.click();
  await page.locator(".said").getByText(text, { exact: true }).waitFor();
  await page.locator("article.assistant").nth(1).getByRole("button", { name: "This is right" }).waitFor();
  assert.equal(await page.getByRole("list", { name: "Ask next" }).count() <= 1, true, "only the newest answer proposes");
  watch.check();
  await context.close();
});
