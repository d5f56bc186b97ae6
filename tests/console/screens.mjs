// Takes a picture of every page in light, dark and at phone width: `node screens.mjs FOLDER`, or of some:
// `node screens.mjs FOLDER ask keys`. For eyes, not for a test.
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { openPage, signIn, startBrowser, startDemo, visit } from "./support.mjs";

const [folder = "screens", ...names] = process.argv.slice(2);
const MODES = {
  light: { colorScheme: "light" },
  dark: { colorScheme: "dark" },
  phone: { colorScheme: "light", viewport: { width: 390, height: 844 }, deviceScaleFactor: 2, hasTouch: true, isMobile: true },
};

const server = await startDemo();
const browser = await startBrowser();
try {
  const asked = await server.api("POST", "/responses", { model: "analyst", input: "Average order total per channel" });
  const conversation = asked.conversation.id;
  const run = async (query) => {
    const made = await server.api("POST", "/responses", { model: "analyst", tools: [{ type: "sql_query", query, max_inline_rows: 1 }] });
    return made.conversation.id;
  };
  const charts = {
    chart_line: await run("SELECT substr(ordered_at, 1, 7) AS month, sum(total) AS revenue FROM orders GROUP BY 1 ORDER BY 1"),
    chart_bars: await run("SELECT status, channel, count(*) AS many FROM orders GROUP BY 1, 2 ORDER BY 1, 2"),
    chart_several: await run("SELECT channel, sum(total) AS revenue, count(*) AS many FROM orders GROUP BY 1 ORDER BY 2 DESC"),
  };
  // Two runs of a suite that differ: the second accepts another result of one question, and has one more.
  const evaluate = async (...more) => {
    const questions = [
      { question: "How many customers are there?", sql: "SELECT count(*) FROM customers" },
      { question: "Average order total per channel", sql: "SELECT channel, round(avg(total), 2) FROM orders GROUP BY channel" },
      { question: "What will the revenue be next year?", expect: "declined" },
      ...more,
    ];
    const suite = [{ name: "shop", prices: { input: 0.15, output: 0.6 } }, ...questions].map((one) => JSON.stringify(one)).join("\n");
    const { id } = await server.api("POST", "/minds/analyst/evaluations", { suite });
    while ((await server.api("GET", `/minds/analyst/evaluations/${id}`)).status === "running") await new Promise((resolve) => setTimeout(resolve, 100));
    return id;
  };
  const cancelled = { question: "How many orders were cancelled?" };
  const baseline = await evaluate({ ...cancelled, sql: "SELECT count(*) FROM orders WHERE status = 'cancelled'" });
  const evaluation = await evaluate({ ...cancelled, rows: [[0]] }, { question: "How many reviews are there?", sql: "SELECT count(*) FROM reviews" });
  await server.api("POST", "/datasources", { name: "drawer", engine: "files", connection_data: { path: "drawer" } });
  const pages = {
    ask: "/ask",
    conversation: `/ask/${conversation}`,
    ...Object.fromEntries(Object.entries(charts).map(([name, id]) => [name, `/ask/${id}`])),
    data: "/data",
    search: "/data/search?q=order",
    connect: "/data/new",
    tables: "/data/shop",
    table: "/data/shop/tables/main.orders",
    diagram: "/data/shop/diagram",
    connection: "/data/shop/change",
    files: "/data/drawer/files",
    minds: "/minds",
    mind: "/minds/manager",
    knowledge: "/minds/analyst/knowledge",
    teach: "/minds/analyst/knowledge/new",
    import: "/minds/analyst/knowledge/import",
    policies: "/minds/analyst/policies",
    policy: "/minds/analyst/policies/shop/main.orders",
    preview: "/minds/analyst/policies/shop/main.orders",
    feedback: "/minds/analyst/feedback",
    evaluations: "/minds/analyst/evaluations",
    evaluate: "/minds/analyst/evaluations/new",
    evaluation: `/minds/analyst/evaluations/${evaluation}?baseline=${baseline}`,
    question: `/minds/analyst/evaluations/${evaluation}?baseline=${baseline}`,
    plugins: "/plugins",
    plugin: "/plugins/connector-sqlite",
    usage: "/operations/usage",
    usage_by_plugin: "/operations/usage?by=plugin&days=90",
    running: "/operations/running",
    keys: "/operations/keys",
    attributes: "/operations/keys",
    providers: "/operations/providers",
    provider: "/operations/providers/new",
    audit: "/operations/audit",
    audit_failed: "/operations/audit?failed=1",
    workspaces: "/operations/workspaces",
    health: "/operations/health",
  };
  for (const [mode, options] of Object.entries(MODES)) {
    mkdirSync(join(folder, mode), { recursive: true });
    const { page, context } = await openPage(browser, server, options);
    await page.goto(`${server.url}/console/ask`);
    await page.screenshot({ path: join(folder, mode, "sign_in.png") });
    await signIn(page, server);
    for (const [name, path] of Object.entries(pages)) {
      if (names.length > 0 && !names.includes(name)) continue;
      await visit(page, `/console${path}`);
      await page.waitForFunction(() => !document.querySelector(".loading") && document.querySelector("main h1"));
      if (name === "connect") await page.getByText("SQLite", { exact: true }).click();
      if (name === "provider") await page.getByRole("radio", { name: /OpenAI-compatible/ }).check();
      if (name === "ask") await page.locator(".suggestions button").first().waitFor();
      if (name === "conversation") {
        await page.locator("details.result > summary").click();
        await page.getByRole("radio", { name: "Table" }).check();
        await page.locator(".grid-row").nth(2).waitFor();
        await page.locator("details.sql > summary").click();
        await page.locator(".editor .cm-content").waitFor();
      }
      if (name.startsWith("chart")) await page.locator(".chart-box svg").waitFor();
      if (name === "preview") {
        const preview = page.getByRole("region", { name: "As a caller sees it" });
        await preview.getByRole("button", { name: "Show" }).click();
        await preview.getByRole("cell").first().waitFor();
        await preview.scrollIntoViewIfNeeded();
      }
      if (name === "question") {
        await page.getByRole("button", { name: "How many orders were cancelled?" }).click();
        await page.locator(".editor .cm-content").waitFor();
      }
      if (name === "attributes") {
        await page.getByRole("button", { name: "Make a key" }).click();
        await page.getByRole("button", { name: "Add an attribute" }).click();
        await page.getByLabel("Name of attribute 1").fill("region");
        await page.getByRole("button", { name: "Add an attribute" }).click();
        await page.getByLabel("Kind of attribute 2").selectOption("texts");
      }
      await page.waitForLoadState("networkidle");
      await page.screenshot({ path: join(folder, mode, `${name}.png`) });
    }
    await context.close();
  }
} finally {
  await browser.close();
  await server.stop();
}
