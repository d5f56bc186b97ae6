// Values of results: shown as they are in the database, in rows, in a preview, beside the pointer and in an export.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { before, test } from "node:test";
import { browser, server } from "./demo.mjs";
import { inspect, openPage, signIn, visit } from "./support.mjs";

const DOCUMENTS = [
  '{"large": 12345678901234567890, "odd": 9007199254740993, "price": 1.10, "twice": 1, "twice": 2}', "[1.0, -0, 1e300, \"a \\\"]\\\" b\"]", '"5"', "5", "true", '{"deep": {"list": [{}, []]}}',
];

before(async () => {
  const database = new DatabaseSync(join(server.dir, "files/default/valued.db"));
  database.exec("CREATE TABLE documents (id INTEGER PRIMARY KEY, document JSON, after TEXT)");
  const insert = database.prepare("INSERT INTO documents (document, after) VALUES (?, ?)");
  for (const document of [...DOCUMENTS, null]) insert.run(document, '{"not": 1.10}');
  database.exec("CREATE TABLE hours (at TIMESTAMP, many INTEGER)");
  database.exec("INSERT INTO hours VALUES ('2024-01-01 00:00:00', 3), ('2024-01-01 05:30:00', 4), ('2024-01-02 10:00:00', 2)");
  database.exec("CREATE TABLE shares (region TEXT, share REAL, large REAL)");
  database.exec("INSERT INTO shares VALUES ('north', 1234567890124.45, 1234567890123456), ('east', 1234567890123, 2), ('south', 0.1 + 0.2, 9007199254740991), ('west', 6.300000000000001, 2)");
  database.close();
  await server.api("POST", "/datasources", { name: "valued", engine: "sqlite", connection_data: { path: "valued.db" } });
  await server.api("POST", "/datasources/valued/catalog/refresh?wait=60", {});
  await server.api("POST", "/minds", { name: "valued", datasources: ["valued"], parameters: { allow_direct_queries: true } });
});

/** Runs SQL in a new conversation by the API, and opens its result in the console. */
async function open(page, sql) {
  const made = await server.api("POST", "/responses", { model: "valued", tools: [{ type: "sql_query", query: sql, max_inline_rows: 1 }] });
  await visit(page, `/console/ask/${made.conversation.id}`);
  const answer = page.locator(`#message-${made.output[0].id}`);
  await answer.locator("details.result[open]").waitFor();
  return answer;
}

test("documents are shown as they are written, in rows, in full and in a preview", async () => {
  const { page, watch, context } = await openPage(browser, server);
  await signIn(page, server);
  const answer = await open(page, "SELECT document, after FROM documents ORDER BY id");
  const cells = answer.getByRole("table", { name: "Rows of the result" }).getByRole("cell");
  await cells.getByText("12345678901234567890").waitFor();
  const expected = [...DOCUMENTS, "NULL"].flatMap((document) => [document, '{"not": 1.10}']);
  assert.deepEqual(await cells.allTextContents(), expected);
  await answer.getByRole("button", { name: "Row 1 in full" }).click();
  await page.getByRole("dialog").getByText(DOCUMENTS[0], { exact: true }).waitFor();
  await page.keyboard.press("Escape");
  await visit(page, "/console/minds/valued/policies/valued/main.documents");
  const preview = page.getByRole("region", { name: "As a caller sees it" });
  await preview.getByRole("button", { name: "Show" }).click();
  await preview.getByRole("cell", { name: DOCUMENTS[0], exact: true }).waitFor();
  watch.check();
  await context.close();
});

test("white space of a cell is seen", async () => {
  const { page, watch, context } = await openPage(browser, server);
  await signIn(page, server);
  const answer = await open(page, "SELECT 'two  blanks' AS blanks, 'ab' || char(10) || 'cd' AS lines");
  const cell = answer.getByRole("cell").filter({ hasText: "two" });
  const width = (text) => cell.evaluate((cell, text) => {
    cell.textContent = text;
    const range = document.createRange();
    range.selectNodeContents(cell);
    return range.getBoundingClientRect().width;
  }, text);
  await answer.getByRole("cell").getByText("ab↵cd", { exact: true }).waitFor();
  assert(await width("two  blanks") > await width("two blanks"));
  watch.check();
  await context.close();
});

test("export is for a spreadsheet unless it is for a program", async () => {
  const { page, watch, context } = await openPage(browser, server);
  await signIn(page, server);
  const answer = await open(page, "SELECT '=1+1' AS formula, -2 AS number");
  const exported = async () => {
    const [download] = await Promise.all([page.waitForEvent("download"), answer.getByRole("button", { name: "Export CSV" }).click()]);
    return readFileSync(await download.path(), "utf8");
  };
  await answer.getByRole("button", { name: "Export CSV" }).waitFor();
  assert.deepEqual(await inspect(page, "export"), []);
  assert.match(await exported(), /^formula,number\r?\n'=1\+1,-2/);
  await answer.getByLabel("For a spreadsheet").uncheck();
  assert.match(await exported(), /^formula,number\r?\n=1\+1,-2/);
  watch.check();
  await context.close();
});

/** What stands beside the pointer, mark by mark. */
async function tips(page, sql) {
  const answer = await open(page, sql);
  const marks = answer.locator("svg :is(.mark-rect, .mark-symbol).role-mark path");
  await marks.first().waitFor();
  const said = [];
  for (let index = 0; index < await marks.count(); index++) {
    await marks.nth(index).hover({ force: true });
    said.push((await answer.locator(".chart-tip b").allTextContents()).join(" | "));
  }
  return said;
}

test("value beside the pointer has all its digits, and a time its hours", async () => {
  const { page, watch, context } = await openPage(browser, server, { timezoneId: "America/Los_Angeles" });
  await signIn(page, server);
  assert.deepEqual((await tips(page, "SELECT region, share FROM shares WHERE share > 10 ORDER BY region")).sort(), ["east | 1,234,567,890,123", "north | 1,234,567,890,124.45"]);
  assert.deepEqual((await tips(page, "SELECT region, share FROM shares WHERE share < 10 ORDER BY region")).sort(), ["south | 0.3", "west | 6.3"]);
  assert.deepEqual((await tips(page, "SELECT region, large FROM shares WHERE large > 2 ORDER BY region")).sort(), ["north | 1,234,567,890,123,456", "south | 9,007,199,254,740,991"]);
  assert.deepEqual(await tips(page, "SELECT at, many FROM hours ORDER BY at"), ["1 Jan 2024 00:00 | 3", "1 Jan 2024 05:30 | 4", "2 Jan 2024 10:00 | 2"]);
  watch.check();
  await context.close();
});
