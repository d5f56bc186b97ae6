// Statements and questions that are sent and then left, stopped or kept back: nothing of them is lost on the way.
import assert from "node:assert/strict";
import { test } from "node:test";
import { browser, server } from "./demo.mjs";
import { holdConversations, inspect, openPage, runSql, signIn, visit } from "./support.mjs";

const counting = (until) => `WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n${until}) SELECT count(*) FROM n`;
const ENDLESS = counting("");

/** Goes to another page and comes back to the conversation. */
async function leaveAndReturn(page) {
  await page.waitForFunction(() => /\/ask\/./.test(location.pathname));
  await page.getByRole("link", { name: "Data", exact: true }).click();
  await page.getByRole("heading", { name: "Data", exact: true }).waitFor();
  await page.goBack();
  await page.locator(".said").getByText("WITH RECURSIVE").waitFor();
}

test("statement that runs is waited for after another page, can be stopped there, and run again", async () => {
  const { page, watch, context } = await openPage(browser, server);
  await signIn(page, server, server.key, "/console/ask?mind=manager");
  const named = page.waitForResponse((one) => one.url().endsWith("/api/v1/responses"));
  await runSql(page, ENDLESS);
  await page.getByText("Running …").waitFor();
  await named;
  await leaveAndReturn(page);
  await page.getByText("Still running …").waitFor();
  assert.equal(await page.locator(".mind-choice select").inputValue(), "manager");
  assert.deepEqual(await inspect(page, "statement that runs elsewhere"), []);
  await page.getByRole("button", { name: "Stop", exact: true }).click();
  await page.getByText("Stopped.").waitFor();
  // What was stopped is not stored, and is there once more all the same.
  await leaveAndReturn(page);
  await page.getByText("Stopped.").waitFor();
  await page.getByRole("button", { name: "Run again" }).click();
  await page.getByText("Running …").waitFor();
  await page.getByRole("button", { name: "Stop", exact: true }).click();
  await page.getByText("Stopped.").nth(1).waitFor();
  watch.check();
  await context.close();
});

test("statement that ends or is refused while another page is shown is found there", async () => {
  const { page, watch, context } = await openPage(browser, server);
  await signIn(page, server);
  await runSql(page, counting(" WHERE i < 300000"));
  await leaveAndReturn(page);
  const answer = page.locator("article.assistant").last();
  await answer.getByRole("cell", { name: "300000", exact: true }).waitFor();
  assert.equal(await page.locator(".said").count(), 1);
  await runSql(page, "DELETE FROM orders");
  await page.getByRole("alert").getByText(/Request/).waitFor();
  await leaveAndReturn(page);
  await answer.getByRole("cell", { name: "300000", exact: true }).waitFor();
  assert.equal(await page.getByText("Still running …").count(), 0);
  watch.check();
  await context.close();
});

test("question is stopped before its conversation is made, and a double click on Ask stops nothing", async () => {
  const { page, watch, context } = await openPage(browser, server);
  await signIn(page, server);
  const release = await holdConversations(page);
  await page.getByLabel("Question", { exact: true }).fill("How many orders are there?");
  await page.getByRole("button", { name: "Ask", exact: true }).click();
  await page.getByRole("button", { name: "Stop", exact: true }).click();
  release();
  await page.getByText("Stopped.").waitFor();
  await page.getByLabel("Question", { exact: true }).fill("How many customers are there?");
  await page.getByRole("button", { name: "Ask", exact: true }).dblclick();
  const answer = page.locator("article.assistant").last();
  await answer.getByRole("button", { name: "Copy the answer" }).waitFor();
  assert.equal(await page.locator(".said").count(), 2);
  assert.equal(await page.getByText("Stopped.").count(), 1);
  watch.check();
  await context.close();
});

test("what is written and not sent is there after another page, and gone after the session", async () => {
  const { page, watch, context } = await openPage(browser, server);
  await signIn(page, server);
  const field = page.getByLabel("Question", { exact: true });
  await field.fill("How many orders of");
  await visit(page, "/console/data");
  await page.getByRole("heading", { name: "Data", exact: true }).waitFor();
  await visit(page, "/console/ask");
  await page.waitForFunction(() => document.querySelector(".composer textarea")?.value === "How many orders of");
  await page.getByText(/Signed in as/).locator("..").click();
  await page.getByRole("button", { name: "Sign out" }).click();
  await page.getByLabel("API key").fill(server.key);
  await page.getByRole("button", { name: "Sign in" }).click();
  await field.waitFor();
  assert.equal(await field.inputValue(), "");
  watch.check();
  await context.close();
});

test("completion is closed when the statement is sent with the keyboard", async () => {
  const { page, watch, context } = await openPage(browser, server);
  await signIn(page, server);
  await page.getByLabel("In SQL").check();
  await page.locator(".composer .cm-content").click();
  await page.keyboard.type("SELECT count(*) FROM orders o");
  await page.locator(".cm-tooltip-autocomplete").waitFor();
  await page.keyboard.press("ControlOrMeta+Enter");
  await page.locator("article.assistant").getByRole("cell", { name: "45000", exact: true }).waitFor();
  assert.equal(await page.locator(".cm-tooltip-autocomplete").count(), 0);
  watch.check();
  await context.close();
});

test("long value of a row scrolls by itself, below a button that closes it", async () => {
  const { page, watch, context } = await openPage(browser, server);
  await signIn(page, server);
  const answer = await runSql(page, "SELECT replace(printf('%10000d', 1), ' ', 'x ') AS long, 'near' AS after FROM orders LIMIT 1");
  await answer.getByRole("button", { name: "Row 1 in full" }).click();
  const dialog = page.getByRole("dialog", { name: "Row 1" });
  await dialog.getByText("near", { exact: true }).waitFor();
  const sizes = await dialog.evaluate((dialog) => [dialog.querySelector("dd.long").scrollHeight, dialog.querySelector("dd.long").clientHeight, dialog.scrollHeight - dialog.clientHeight]);
  assert(sizes[0] > sizes[1] && sizes[2] <= 0, `${sizes}`);
  assert.deepEqual(await inspect(page, "row with a long value"), []);
  watch.check();
  await context.close();
});
