// Charts: shown where a result has one, with the switch to the table; loaded when first needed, and nothing in them runs.
import assert from "node:assert/strict";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { test } from "node:test";
import { browser, server } from "./demo.mjs";
import { PAYLOADS } from "./payloads.mjs";
import { openPage, signIn, visit } from "./support.mjs";

/** What stands for rows: bars, lines, points. */
const MARKS = "svg .role-mark path:not(.background, .foreground)";
const BY_CHANNEL = "Average order total per channel";

/** Asks in words and gives the answer, which has ended. */
async function ask(page, question) {
  await page.getByLabel("Question", { exact: true }).fill(question);
  await page.keyboard.press("Enter");
  await page.locator(".said").getByText(question, { exact: true }).last().waitFor();
  const answer = page.locator("article.assistant").last();
  await answer.locator("details.result").waitFor();
  return answer;
}

/** Runs SQL in a new conversation by the API, and opens its result in the console. */
async function open(page, sql, model = "analyst") {
  const made = await server.api("POST", "/responses", { model, tools: [{ type: "sql_query", query: sql, max_inline_rows: 1 }] });
  await visit(page, `/console/ask/${made.conversation.id}`);
  const answer = page.locator(`#message-${made.output[0].id}`);
  // The newest answer without a text is open already.
  await answer.locator("details.result[open]").waitFor();
  return answer;
}

/** Waits until a chart is as wide as there is room, or at most so wide. Its place may get another width while the page
 * is laid out; then the chart is drawn again a moment later. */
async function fits(drawing, least = -3) {
  for (const end = Date.now() + 60_000; ;) {
    const measure = (box) => box.querySelector("svg").getBoundingClientRect().width - box.clientWidth;
    const over = await drawing.evaluate(measure);
    if (over >= least && over <= 3) return;
    assert(Date.now() < end, `${await drawing.getAttribute("aria-label")}: ${over} px too wide`);
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

/** The names of the files of scripts that the page has loaded. */
const scripts = (page) => page.evaluate(() => performance.getEntriesByType("resource").map((one) => one.name).filter((name) => /\.(js|tsx?)(\?|$)/.test(name)));

test("chart is below the answer, and its library is loaded for it", async () => {
  const { page, watch, context } = await openPage(browser, server);
  await signIn(page, server);
  const single = await ask(page, "How many orders are there?");
  assert.equal(await single.locator(".switch, .chart").count(), 0, "a single number has a chart");
  const before = await scripts(page);
  const sent = page.waitForRequest((request) => request.url().endsWith("/api/v1/responses"));
  const answer = await ask(page, BY_CHANNEL);
  assert.deepEqual(JSON.parse((await sent).postData()).include, ["steps", "chart"]);
  const drawing = answer.getByRole("img", { name: /Bar chart of \d+ rows/ });
  await drawing.locator(MARKS).first().waitFor();
  const late = (await scripts(page)).filter((name) => !before.includes(name));
  assert(late.some((name) => /draw/.test(name)), `loaded before the first chart: ${before.filter((name) => /draw|vega/.test(name))}`);
  assert(!before.some((name) => /draw|vega/.test(name)), "the library is in the first load");
  // What is on which axis is said in words.
  assert.match(await drawing.getAttribute("aria-label"), /From left to right: .*channel.*\. From bottom to top: |From top to bottom: /i);
  // As wide as there is room, not wider.
  await fits(drawing);
  watch.check();
  await context.close();
});

test("keyboard switches to the table and back", async () => {
  const { page, watch, context } = await openPage(browser, server);
  await signIn(page, server);
  const answer = await ask(page, BY_CHANNEL);
  await answer.getByRole("img", { name: /Bar chart/ }).locator("svg").waitFor();
  const group = answer.getByRole("group", { name: "Show the result as" });
  const chart = group.getByRole("radio", { name: "Chart" });
  await answer.locator("details.result > summary").focus();
  await page.keyboard.press("Tab");
  assert(await chart.evaluate((one) => one === document.activeElement), "Tab does not reach the switch");
  await page.keyboard.press("ArrowRight");
  const grid = answer.getByRole("table", { name: "Rows of the result" });
  await grid.getByRole("rowheader").nth(2).waitFor();
  assert.equal(await answer.locator(".chart").count(), 0);
  await page.keyboard.press("ArrowLeft");
  await answer.getByRole("img", { name: /Bar chart/ }).locator("svg").waitFor();
  await grid.waitFor({ state: "detached" });
  watch.check();
  await context.close();
});

test("stored answer, every form, and none where there is nothing to compare", async () => {
  const { page, watch, context } = await openPage(browser, server);
  await signIn(page, server);
  const forms = {
    "Line chart of": "SELECT substr(ordered_at, 1, 7) AS month, sum(total) AS revenue FROM orders GROUP BY 1 ORDER BY 1",
    "Line charts of": "SELECT substr(ordered_at, 1, 7) AS month, sum(total) AS revenue, count(*) AS many FROM orders GROUP BY 1 ORDER BY 1",
    "Bar charts of": "SELECT status, sum(total) AS revenue, count(*) AS many FROM orders GROUP BY 1 ORDER BY 1",
    "Bar chart of": "SELECT status, channel, count(*) AS many FROM orders GROUP BY 1, 2 ORDER BY 1, 2",
    "Scatter plot of": "SELECT total, id * 1.5 AS weight FROM orders ORDER BY id LIMIT 200",
    "Histogram of": "SELECT total FROM orders ORDER BY id LIMIT 200",
  };
  for (const [name, sql] of Object.entries(forms)) {
    const answer = await open(page, sql);
    const drawing = answer.getByRole("img", { name: new RegExp(`^${name}`) });
    await drawing.locator(MARKS).first().waitFor();
    await fits(drawing, -Infinity);
    const texts = await drawing.locator("text").allTextContents();
    // Charts of several measures are in the order of the columns.
    if (name.includes("charts")) assert(texts.indexOf("revenue") >= 0 && texts.indexOf("revenue") < texts.indexOf("many"), `${texts}`);
  }
  const text = await open(page, "SELECT status, channel FROM orders ORDER BY id LIMIT 5");
  await text.getByRole("table", { name: "Rows of the result" }).getByRole("rowheader").first().waitFor();
  assert.equal(await text.locator(".switch, .chart").count(), 0);
  watch.check();
  await context.close();
});

test("chart follows the reader's colours and the width of the window", async () => {
  const { page, watch, context } = await openPage(browser, server, { colorScheme: "light" });
  await signIn(page, server);
  const answer = await open(page, "SELECT status, count(*) AS many FROM orders GROUP BY 1 ORDER BY 1");
  const drawing = answer.getByRole("img", { name: /Bar chart/ });
  const bar = drawing.locator("g.mark-rect.role-mark path").first();
  const light = await bar.getAttribute("fill");
  await page.emulateMedia({ colorScheme: "dark" });
  await page.waitForFunction((light) => document.querySelector("g.mark-rect.role-mark path").getAttribute("fill") !== light, light);
  await page.setViewportSize({ width: 390, height: 800 });
  await page.waitForFunction(() => {
    const box = document.querySelector(".chart-box");
    return box.clientWidth < 390 && Math.abs(box.querySelector("svg").getBoundingClientRect().width - box.clientWidth) <= 3;
  });
  // What a bar stands for is beside the pointer, also if the chart is drawn once more below it.
  const tip = drawing.locator(".chart-tip b").first();
  const end = Date.now() + 60_000;
  let seen;
  do {
    await bar.hover();
    seen = await tip.isVisible();
  } while (!seen && Date.now() < end);
  assert.ok(seen);
  watch.check();
  await context.close();
});

test("hostile names and values are text in a chart, and load nothing", async () => {
  const database = new DatabaseSync(join(server.dir, "files/default/charted.db"));
  database.exec("CREATE TABLE texts (id INTEGER PRIMARY KEY, text TEXT, many INTEGER)");
  const insert = database.prepare("INSERT INTO texts (text, many) VALUES (?, ?)");
  PAYLOADS.forEach((payload, index) => insert.run(payload, index + 1));
  database.close();
  await server.api("POST", "/datasources", { name: "charted", engine: "sqlite", connection_data: { path: "charted.db" } });
  await server.api("POST", "/datasources/charted/catalog/refresh?wait=60", {});
  await server.api("POST", "/minds", { name: "charted", datasources: ["charted"], parameters: { allow_direct_queries: true } });
  const { page, watch, context } = await openPage(browser, server);
  await page.exposeFunction("pwned", () => page.evaluate(() => window.reportViolation("a text ran")));
  await signIn(page, server);
  const quoted = (name) => `"${name.replaceAll('"', '""')}"`;
  const names = ["<img src=x onerror=pwned()>", "'];pwned()//", "datum.x + pwned()", "signal", "toString"];
  const slices = Array.from({ length: Math.ceil(PAYLOADS.length / 30) }, (_, slice) => slice * 30);
  for (const [index, from] of slices.entries()) {
    const [label, measure] = [names[index % names.length], names[(index + 1) % names.length]];
    const sql = `SELECT text AS ${quoted(label)}, many AS ${quoted(measure)} FROM texts WHERE id > ${from} AND id <= ${from + 30} ORDER BY id`;
    const answer = await open(page, sql, "charted");
    const drawing = answer.getByRole("img", { name: /Bar chart/ });
    await drawing.locator(MARKS).first().waitFor();
    const found = await drawing.evaluate((box) => ({
      bad: [...box.querySelectorAll("script, image, img, a, foreignObject, use, style, iframe, [onerror], [onload], [onclick], [href], [style*='url']")].map((one) => one.outerHTML.slice(0, 200)),
      texts: [...box.querySelectorAll("text")].map((one) => one.textContent),
    }));
    assert.deepEqual(found.bad, []);
    const rows = Math.min(PAYLOADS.length - from, 30);
    assert(found.texts.length > rows, `${found.texts.length} texts for ${rows} names`);
    for (const text of found.texts) assert.doesNotMatch(text, /[\u202A-\u202E\u2066-\u2069\u0000-\u0008\u200B]/, "an invisible character reaches the chart");
    // The tooltip has the same texts.
    const [mark, tip] = [drawing.locator("g.mark-rect.role-mark path").first(), drawing.locator(".chart-tip")];
    // A chart that is drawn again, because its place has another width now, takes the tooltip away.
    const end = Date.now() + 60_000;
    let seen;
    do {
      await mark.hover();
      seen = await tip.isVisible();
    } while (!seen && Date.now() < end);
    assert(seen);
  }
  watch.check();
  await context.close();
});

test("specification that names addresses fetches nothing", async () => {
  const { page, watch, context } = await openPage(browser, server);
  await signIn(page, server);
  const made = await server.api("POST", "/responses", {
    model: "analyst", tools: [{ type: "sql_query", query: "SELECT status, count(*) AS many FROM orders GROUP BY 1 ORDER BY 1", max_inline_rows: 1 }],
  });
  const asked = [];
  page.on("request", (request) => asked.push(request.url()));
  await page.route("**/result?**", async (route) => {
    const answer = await route.fetch();
    const body = await answer.json();
    if (body.chart) {
      const secret = "https://evil.example/secret";
      body.chart.encoding.href = { value: "javascript:pwned()" };
      body.chart.layer = [
        { mark: body.chart.mark, encoding: body.chart.encoding },
        { data: { url: `${secret}.json` }, mark: "point", encoding: { x: { field: "a", type: "quantitative" } } },
        { mark: { type: "image", url: `${secret}.png` }, encoding: { x: body.chart.encoding.x } },
      ];
      delete body.chart.mark;
      delete body.chart.encoding.y.aggregate;
    }
    await route.fulfill({ response: answer, json: body });
  });
  await visit(page, `/console/ask/${made.conversation.id}`);
  const answer = page.locator(`#message-${made.output[0].id}`);
  // Drawn without them, or refused in words.
  await answer.locator(".chart-box svg, .chart .failure").first().waitFor();
  assert.deepEqual(asked.filter((address) => !address.startsWith(server.url)), []);
  assert.equal(await answer.locator("a[href^='javascript'], image[href*='evil']").count(), 0);
  watch.check();
  await context.close();
});
