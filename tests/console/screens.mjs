// Takes a picture of every page in light, dark and at phone width: `node screens.mjs FOLDER`, or of some:
// `node screens.mjs FOLDER ask keys`. For eyes, not for a test.
import { execFileSync } from "node:child_process";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { openPage, signIn, startBrowser, startDemo, visit } from "./support.mjs";
import { Vendor } from "./vendor.mjs";

const [folder = "screens", ...names] = process.argv.slice(2);
const MODES = {
  light: { colorScheme: "light" },
  dark: { colorScheme: "dark" },
  phone: { colorScheme: "light", viewport: { width: 390, height: 844 }, deviceScaleFactor: 2, hasTouch: true, isMobile: true },
};

/** The offline model with another version in the manifest that its code says. */
function newerModel(version) {
  const built = readFileSync(join(process.env.TEST_PLUGINS, "model-offline.wasm"), "latin1");
  const old = readFileSync(new URL("../../plugins/model-offline/manifest.json", import.meta.url), "latin1");
  const next = JSON.stringify({ ...JSON.parse(old), version }).padEnd(old.length);
  const [described, code, file] = [".json", ".code.wasm", ".wasm"].map((end) => join(server.dir, version + end));
  writeFileSync(described, next, "latin1");
  writeFileSync(code, built.replaceAll(old, next), "latin1");
  execFileSync(process.env.TEST_PROGRAM, ["plugin", "pack", code, "--manifest", described, "--output", file]);
  return file;
}

/** The plugin with a version that is not called. */
async function inQuarantine(route) {
  const answer = await route.fetch();
  const plugin = await answer.json();
  const health = {
    status: "quarantined", until: null, since: new Date().toISOString(), reason: "it ran out of memory 3 times in 60 s", targets: [],
    workspaces: [{ workspace: "team", status: "backing_off", until: new Date(Date.now() + 60_000).toISOString(), since: null, reason: "it did not answer in time" }],
  };
  await route.fulfill({ response: answer, json: { ...plugin, versions: plugin.versions.map((one) => ({ ...one, health })) } });
}

/** The plugin with another version, which may do more. */
async function another(route) {
  const answer = await route.fetch();
  const plugin = await answer.json();
  const wider_rights = [{ name: "network:db.example:5432", description: "Connects to db.example, port 5432." }, { name: "secret:password", description: "Sends the secret `password` to it." }];
  const newer = { ...plugin.versions[0], version: "0.2.0", digest: "f".repeat(64), status: "installed", reason: "It was not activated yet.", wider_rights };
  await route.fulfill({ response: answer, json: { ...plugin, versions: [newer, ...plugin.versions] } });
}

/** What is done on a page before its picture is made. */
const states = {
  correction: async (page) => {
    await page.getByRole("button", { name: "Give the right SQL" }).click();
    await page.locator(".correction .cm-content").waitFor();
    await page.locator(".correction").scrollIntoViewIfNeeded();
  },
  row: async (page) => {
    await page.locator("details.result > summary").click();
    await page.getByRole("radio", { name: "Table" }).check();
    await page.getByRole("button", { name: "Row 1 in full" }).click();
  },
  forget: async (page) => {
    if (await page.locator(".conversations > summary").isVisible()) await page.locator(".conversations > summary").click();
    await page.getByRole("button", { name: /^Delete the conversation/ }).first().click();
  },
  upload: (page) => page.locator("input[type=file]").setInputFiles([
    { name: "orders of the first quarter.csv", mimeType: "text/csv", buffer: Buffer.alloc(3_000_000, "1,2\n") },
    { name: "stores.csv", mimeType: "text/csv", buffer: Buffer.from("id\n") },
  ]),
  install: async (page) => {
    await page.locator("input[type=file]").setInputFiles(join(server.dir, "0.1.9.wasm"));
    await page.getByRole("button", { name: "Install", exact: true }).scrollIntoViewIfNeeded();
  },
  rollout: async (page) => {
    const ask = () => server.api("POST", "/responses", { model: "analyst", input: "How many orders are there?", store: false });
    for (let asked = 0; asked < 4; asked++) {
      await ask();
      await page.waitForResponse(/\/usage/);
    }
    await page.locator(".curve").first().waitFor();
  },
  activate: async (page) => {
    await page.getByRole("button", { name: "Activate …" }).click();
  },
  rotate: async (page) => {
    await page.getByRole("button", { name: /^Rotate / }).first().click();
  },
};

const server = await startDemo();
const browser = await startBrowser();
const vendor = await Vendor.start();
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
  await server.keyOf("user");
  await server.api("POST", "/datasources", { name: "drawer", engine: "files", connection_data: { path: "drawer" } });
  await server.api("POST", "/responses/" + asked.id + "/feedback", { rating: "down", comment: "Without cancelled ones." });
  await server.api("POST", "/minds", { name: "gone", datasources: ["shop"] });
  const gone = (await server.api("POST", "/responses", { model: "gone", input: "How many orders are there?" })).conversation.id;
  await server.api("DELETE", "/minds/gone");
  await vendor.mind(server, "told");
  vendor.turns = [
    { call: "run_sql", arguments: { sql: "SELECT count(*) AS orders FROM orders", assumptions: ["Cancelled orders count."] } },
    { words: ["There are **45,123** orders, and 7,654 more are on their way."] },
    { words: ["OK."] },
  ];
  const doubted = (await server.api("POST", "/responses", { model: "told", input: "How many orders are there?" })).conversation.id;
  const failed = (await server.api("POST", "/conversations", {})).id;
  vendor.turns = [{ refuses: "This model is not available in your region." }];
  await server.api("POST", "/responses", { model: "told", input: "How many orders are there?", conversation: failed }).catch(() => undefined);
  const plugin = newerModel("0.1.9");
  // A version that serves half of the calls, until the pictures are made.
  await fetch(`${server.url}/api/v1/plugins`, { method: "POST", headers: { Authorization: `Bearer ${server.key}`, "Content-Type": "application/wasm" }, body: readFileSync(plugin) });
  const { versions } = await server.api("GET", "/plugins/model-offline");
  await server.api("POST", "/plugins/model-offline/activate", { version: versions.find((one) => one.version === "0.1.9").digest, canary: { percent: 50, seconds: 3600 } });
  const pages = {
    ask: "/ask",
    conversation: `/ask/${conversation}`,
    ...Object.fromEntries(Object.entries(charts).map(([name, id]) => [name, `/ask/${id}`])),
    correction: `/ask/${conversation}`,
    row: `/ask/${conversation}`,
    forget: "/ask",
    gone: `/ask/${gone}`,
    doubted: `/ask/${doubted}`,
    failed: `/ask/${failed}`,
    broken: "/data",
    missing: "/ask/01a21084-c515-75cd-9849-4589a899d7d5",
    data: "/data",
    search: "/data/search?q=order",
    connect: "/data/new",
    tables: "/data/shop",
    table: "/data/shop/tables/main.orders",
    diagram: "/data/shop/diagram",
    connection: "/data/shop/change",
    files: "/data/drawer/files",
    upload: "/data/drawer/files",
    typo: "/data/typo",
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
    install: "/plugins",
    plugin: "/plugins/connector-sqlite",
    rollout: "/plugins/model-offline",
    activate: "/plugins/connector-sqlite",
    quarantine: "/plugins/connector-sqlite",
    usage: "/operations/usage",
    usage_by_plugin: "/operations/usage?by=plugin&days=90",
    running: "/operations/running",
    keys: "/operations/keys",
    attributes: "/operations/keys",
    rotate: "/operations/keys",
    providers: "/operations/providers",
    provider: "/operations/providers/new",
    audit: "/operations/audit",
    audit_failed: "/operations/audit?failed=1",
    workspaces: "/operations/workspaces",
    health: "/operations/health",
    nowhere: "/nowhere",
  };
  for (const [mode, options] of Object.entries(MODES)) {
    mkdirSync(join(folder, mode), { recursive: true });
    const { page, context } = await openPage(browser, server, options);
    await page.goto(`${server.url}/console/ask`);
    await page.screenshot({ path: join(folder, mode, "sign_in.png") });
    await signIn(page, server);
    for (const [name, path] of Object.entries(pages)) {
      if (names.length > 0 && !names.includes(name)) continue;
      if (name === "quarantine" || name === "activate") await page.route(/\/plugins\/connector-sqlite$/, name === "activate" ? another : inQuarantine);
      if (name === "broken") await page.route(/\/datasources$/, (route) => route.fulfill({ json: [null] }));
      if (name === "upload") await page.route(/\/files\?name=/, () => undefined);
      // So that nothing is left of the page before, which may have had the same address.
      await visit(page, "/console/nowhere");
      await page.getByRole("heading", { name: "There is no such page" }).waitFor();
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
        await page.getByRole("button", { name: "Add a policy" }).click();
        await page.getByLabel("Datasource").selectOption("shop");
        await page.getByLabel("Table", { exact: true }).selectOption("main.orders");
        await page.getByLabel("status is").selectOption("text");
        await page.getByRole("textbox", { name: "Rows that the key sees" }).scrollIntoViewIfNeeded();
      }
      await states[name]?.(page);
      if (["row", "forget", "activate", "rotate", "attributes"].includes(name)) await page.getByRole("dialog").waitFor();
      // What follows something, such as a rollout, is never idle.
      await page.waitForLoadState("networkidle", { timeout: 3000 }).catch(() => undefined);
      await page.screenshot({ path: join(folder, mode, `${name}.png`) });
      await page.keyboard.press("Escape");
      await page.unrouteAll({ behavior: "ignoreErrors" });
    }
    await context.close();
  }
} finally {
  await vendor.stop();
  await browser.close();
  await server.stop();
}
