// What is written and not sent, and which Mind it is for: nothing of it is lost, and nothing goes to another Mind.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { browser, server } from "./demo.mjs";
import { inspect, openPage, runSql, signIn, visit, write } from "./support.mjs";
import { Vendor } from "./vendor.mjs";

let vendor;
before(async () => {
  vendor = await Vendor.start();
  await vendor.mind(server, "second");
});
after(() => vendor.stop());

const field = (page) => page.getByLabel("Question", { exact: true });
const mind = (page) => page.locator(".mind-choice select");

/** Types the key of a session that has ended. */
async function signInAgain(page, key) {
  await page.getByLabel("API key").fill(key);
  await page.getByRole("button", { name: "Sign in" }).click();
  await field(page).waitFor();
}

test("question that is sent with the old secret of a key is there after signing in with the new one", async () => {
  const { id, key } = await server.api("POST", "/keys", { name: "renewed", role: "user" });
  const { page, watch, context } = await openPage(browser, server);
  await signIn(page, server, key);
  await field(page).fill("A question that took long to write");
  await page.waitForLoadState("networkidle");
  const renewed = await server.api("POST", `/keys/${id}/rotate`, {});
  await field(page).press("Enter");
  await page.getByRole("alert").getByText(/This key is unknown, revoked or expired/).waitFor();
  // A slip is no reason to lose it.
  await page.getByLabel("API key").fill("mh_wrong");
  await page.getByRole("button", { name: "Sign in" }).click();
  await page.getByRole("alert").waitFor();
  await signInAgain(page, renewed.key);
  assert.equal(await field(page).inputValue(), "A question that took long to write");
  watch.check();
  await context.close();
});

test("question that is sent with a revoked key is nothing for who signs in with another", async () => {
  // Also one of the same name: many keys may have it.
  const make = () => server.api("POST", "/keys", { name: "shared", role: "user" });
  const { id, key } = await make();
  const { page, watch, context } = await openPage(browser, server);
  await signIn(page, server, key);
  await field(page).fill("Mine alone");
  await page.waitForLoadState("networkidle");
  await server.api("DELETE", `/keys/${id}`);
  await field(page).press("Enter");
  await page.getByRole("alert").getByText(/This key is unknown, revoked or expired/).waitFor();
  await signInAgain(page, (await make()).key);
  assert.equal(await field(page).inputValue(), "");
  watch.check();
  await context.close();
});

test("question of a link that was sent is no draft after going back and forward", async () => {
  const { page, watch, context } = await openPage(browser, server);
  await signIn(page, server);
  await visit(page, "/console/ask?mind=second&question=Hello");
  await page.waitForFunction(() => document.querySelector("textarea")?.value === "Hello");
  await field(page).press("Enter");
  await page.waitForURL(/ask\/[0-9a-f-]+$/);
  await page.locator("article.assistant .prose").waitFor();
  await page.goBack();
  await page.getByRole("heading", { name: "What do you want to know?" }).waitFor();
  assert.equal(await field(page).inputValue(), "");
  await page.goForward();
  await page.locator("article.assistant .prose").waitFor();
  assert.equal(await field(page).inputValue(), "");
  watch.check();
  await context.close();
});

test("question of a link takes the place of none that is written, unless that is wanted", async () => {
  const { page, watch, context } = await openPage(browser, server);
  await signIn(page, server);
  await field(page).fill("Mine");
  await mind(page).selectOption("second");
  await visit(page, "/console/data");
  await page.getByRole("heading", { name: "Data", exact: true }).waitFor();
  await visit(page, "/console/ask?mind=analyst&question=Another");
  const note = page.getByRole("note").getByText(/The link has another question: Another/);
  await note.waitFor();
  assert.equal(await field(page).inputValue(), "Mine");
  assert.equal(await mind(page).inputValue(), "second");
  await page.getByRole("button", { name: "Keep mine" }).click();
  await note.waitFor({ state: "detached" });
  assert.equal(await mind(page).inputValue(), "second");
  // While the page is open, too.
  await visit(page, "/console/ask?mind=analyst&question=Another%20one");
  await page.getByRole("note").getByText(/The link has another question: Another one/).waitFor();
  assert.equal(await mind(page).inputValue(), "second");
  await page.getByRole("button", { name: "Keep mine" }).click();
  await visit(page, "/console/ask?mind=analyst&question=Another");
  await note.waitFor();
  assert.deepEqual(await inspect(page, "question of a link"), []);
  await page.getByRole("button", { name: "Use it" }).click();
  await note.waitFor({ state: "detached" });
  assert.equal(await field(page).inputValue(), "Another");
  await page.waitForFunction(() => document.querySelector(".mind-choice select")?.value === "analyst");
  watch.check();
  await context.close();
});

test("SQL that is edited in an answer is there after another page", async () => {
  const { page, watch, context } = await openPage(browser, server);
  await signIn(page, server);
  const answer = await runSql(page, "SELECT count(*) FROM orders");
  await answer.getByRole("cell", { name: "45000", exact: true }).waitFor();
  await answer.locator(".sql > summary").click();
  await answer.getByRole("button", { name: "Edit" }).click();
  await answer.locator(".cm-content[aria-label='SQL to run']").waitFor();
  await write(page, answer.locator(".cm-content[aria-label='SQL to run']"), "SELECT count(*) FROM customers");
  const path = new URL(page.url()).pathname;
  await visit(page, "/console/data");
  await answer.waitFor({ state: "detached" });
  await visit(page, path);
  await answer.locator(".cm-content[aria-label='SQL to run']").getByText("SELECT count(*) FROM customers").waitFor();
  watch.check();
  await context.close();
});

test("form of a connection keeps what is written while another kind is looked at", async () => {
  const { page, watch, context } = await openPage(browser, server);
  await signIn(page, server, server.key, "/console/data/new");
  await page.getByRole("radio", { name: /SQLite/ }).check();
  await page.getByLabel("Path").fill("warehouse.db");
  await page.getByLabel("Name").fill("not-a-name");
  assert.equal(await page.getByLabel("Name").evaluate((input) => input.validity.patternMismatch), true);
  await page.getByRole("radio", { name: /Files/ }).check();
  assert.equal(await page.getByLabel("Path").inputValue(), "");
  await page.getByRole("radio", { name: /SQLite/ }).check();
  assert.equal(await page.getByLabel("Path").inputValue(), "warehouse.db");
  watch.check();
  await context.close();
});

test("new question goes to the Mind of the conversation before, and to the one that a link names", async () => {
  const other = await server.keyOf("user");
  const made = await server.api("POST", "/responses", { model: "second", input: "Hello" }, other);
  const { page, watch, context } = await openPage(browser, server);
  await signIn(page, server, server.key, "/console/ask?mind=analyst");
  await visit(page, `/console/ask/${made.conversation.id}`);
  await page.getByRole("link", { name: "Begin your own" }).click();
  await field(page).waitFor();
  assert.equal(await mind(page).inputValue(), "second");
  await visit(page, "/console/ask?mind=analyst");
  await page.waitForFunction(() => document.querySelector(".mind-choice select")?.value === "analyst");
  const own = await server.api("POST", "/responses", { model: "second", input: "Hello again" });
  await visit(page, `/console/ask/${own.conversation.id}`);
  await page.locator("article.assistant").waitFor();
  await page.getByRole("link", { name: "New question" }).click();
  await page.getByRole("heading", { name: "What do you want to know?" }).waitFor();
  assert.equal(await mind(page).inputValue(), "second");
  await visit(page, "/console/ask?mind=nowhere");
  await page.getByRole("note").getByText(/There is no Mind “nowhere”/).waitFor();
  watch.check();
  await context.close();
});

test("Mind that is made while the page is open is none that was deleted", async () => {
  const { page, watch, context } = await openPage(browser, server);
  await signIn(page, server);
  await field(page).waitFor();
  await server.api("POST", "/minds", { name: "late", datasources: ["shop"] });
  const made = await server.api("POST", "/responses", { model: "late", input: "How many orders are there?" });
  await visit(page, `/console/ask/${made.conversation.id}`);
  await page.locator("article.assistant .prose").waitFor();
  await field(page).waitFor();
  assert.equal(await mind(page).inputValue(), "late");
  assert.equal(await page.getByText(/was deleted/).count(), 0);
  watch.check();
  await context.close();
});

test("file is chosen again after it was corrected", async () => {
  const { page, watch, context } = await openPage(browser, server);
  await signIn(page, server, server.key, "/console/minds/analyst/knowledge/import");
  const input = page.locator("input[type=file]");
  const file = { name: "knowledge.yaml", mimeType: "text/yaml", buffer: Buffer.from("nothing: [") };
  await input.setInputFiles(file);
  await page.waitForFunction(() => document.querySelector("textarea")?.value.startsWith("nothing"));
  const [chooser] = await Promise.all([page.waitForEvent("filechooser"), input.click()]);
  // A browser says nothing of a file that is chosen already.
  assert.equal(await input.evaluate((one) => one.files.length), 0);
  await chooser.setFiles(file);
  watch.check();
  await context.close();
});
