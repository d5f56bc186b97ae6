// For everybody: by keyboard alone, by screen reader, in light and dark, at phone width; and for each role what it may do.
import assert from "node:assert/strict";
import { before, test } from "node:test";
import { browser, server } from "./demo.mjs";
import { inspect, openPage, signIn, tabTo, visit } from "./support.mjs";

let conversation;
before(async () => {
  await server.api("POST", "/datasources", { name: "drawer", engine: "files", connection_data: { path: "drawer" } });
  const bound = { datasource: "shop", table: "orders", filter: "channel = {{caller.channel}}", hidden: ["voucher"], masked: { status: "null" } };
  await server.api("POST", "/keys", { name: "bound", role: "user", attributes: { channel: "app" }, policies: [bound] });
  conversation = (await server.api("POST", "/responses", { model: "analyst", input: "Average order total per channel" })).conversation.id;
});

const PATHS = [
  "/ask", "/data", "/data/search?q=order", "/data/new", "/data/shop", "/data/shop/tables/main.orders", "/data/shop/diagram", "/data/shop/change",
  "/data/drawer/files", "/minds", "/minds/new", "/minds/manager", "/minds/analyst/knowledge", "/minds/analyst/knowledge/new", "/minds/analyst/knowledge/import", "/minds/analyst/policies",
  "/minds/analyst/policies/shop/main.orders", "/minds/analyst/feedback", "/minds/analyst/evaluations", "/minds/analyst/evaluations/new",
  "/plugins", "/plugins/connector-sqlite", "/operations/usage", "/operations/usage?by=plugin&days=90", "/operations/running", "/operations/keys",
  "/operations/providers", "/operations/providers/new", "/operations/providers/offline", "/operations/audit", "/operations/audit?failed=1&text=post",
  "/operations/workspaces", "/operations/health", "/nowhere",
];

for (const [mode, options] of Object.entries({
  light: { colorScheme: "light" },
  dark: { colorScheme: "dark" },
  phone: { colorScheme: "light", viewport: { width: 390, height: 844 }, isMobile: true, hasTouch: true },
})) {
  test(`axe finds nothing in ${mode}`, async () => {
    const { page, watch, context } = await openPage(browser, server, options);
    await page.goto(`${server.url}/console/ask`);
    await page.getByRole("button", { name: "Sign in" }).waitFor();
    const found = await inspect(page, "sign-in");
    await signIn(page, server);
    for (const path of [`/ask/${conversation}`, ...PATHS]) {
      await visit(page, `/console${path}`);
      await page.waitForFunction(() => document.querySelector("main h1") && !document.querySelector(".loading"));
      if (path.startsWith("/ask/")) {
        // The statement first: a chart that is loaded moves what is above it, and a click misses.
        await page.getByText("SQL", { exact: true }).click();
        await page.locator(".editor .cm-content").waitFor();
        await page.getByText("Result", { exact: true }).click();
        await page.locator(".chart-box svg").waitFor();
        found.push(...(await inspect(page, "chart")));
        await page.getByRole("radio", { name: "Table" }).check();
        await page.getByRole("rowheader").first().waitFor();
      }
      found.push(...(await inspect(page, path)));
      if (path === "/operations/keys") {
        await page.getByRole("button", { name: "Make a key" }).click();
        const add = page.getByRole("button", { name: "Add an attribute" });
        await add.click();
        await add.click();
        await page.getByLabel("Kind of attribute 2").selectOption("texts");
        await page.getByRole("button", { name: "Add a policy" }).click();
        await page.getByLabel("Datasource").selectOption("shop");
        await page.getByLabel("Table", { exact: true }).selectOption("main.orders");
        await page.getByLabel("status is").selectOption("text");
        await page.getByRole("textbox", { name: "Rows that the key sees" }).waitFor();
        found.push(...(await inspect(page, "a new key with attributes and a policy")));
        const { left, right } = await page.getByRole("dialog").evaluate((one) => one.getBoundingClientRect());
        const width = page.viewportSize().width;
        if (left < 0 || right > width) found.push(`the dialog is at ${left} to ${right} of ${width} px`);
        await page.keyboard.press("Escape");
      }
      if (path.endsWith("/policies/shop/main.orders")) {
        const preview = page.getByRole("region", { name: "As a caller sees it" });
        await preview.getByRole("button", { name: "Show" }).click();
        await preview.getByRole("cell").first().waitFor();
        found.push(...(await inspect(page, "preview")));
      }
    }
    assert.deepEqual(found, []);
    watch.check();
    await context.close();
  });
}

test("table that is wider than a phone can be scrolled", async () => {
  const { page, watch, context } = await openPage(browser, server, { viewport: { width: 390, height: 844 } });
  await signIn(page, server, server.key, "/console/operations/audit");
  const region = page.getByRole("main").getByRole("region").filter({ has: page.getByRole("table") });
  await region.getByRole("row").nth(3).waitFor();
  await region.focus();
  await page.keyboard.press("ArrowRight");
  await page.waitForFunction((one) => one.scrollLeft > 0, await region.elementHandle());
  watch.check();
  await context.close();
});

test("keyboard alone signs in, asks, and opens a row", async () => {
  const { page, watch, context } = await openPage(browser, server);
  await page.goto(`${server.url}/console/ask`);
  await tabTo(page, page.getByLabel("API key"));
  await page.keyboard.type(server.key);
  await page.keyboard.press("Enter");
  const question = page.getByLabel("Question");
  await question.waitFor();
  await tabTo(page, question);
  await page.keyboard.type("Average order total per channel");
  await page.keyboard.press("Enter");
  const chart = page.getByRole("radio", { name: "Chart" });
  await chart.waitFor();
  await tabTo(page, chart, 120);
  await page.keyboard.press("ArrowRight");
  const row = page.getByRole("button", { name: "Row 1 in full" });
  await row.waitFor();
  await tabTo(page, row);
  await page.keyboard.press("Enter");
  await page.getByRole("dialog", { name: "Row 1" }).waitFor();
  await page.keyboard.press("Escape");
  await page.getByRole("dialog").waitFor({ state: "hidden" });
  watch.check();
  await context.close();
});

test("what a role may not do is not shown", async () => {
  const shown = async (role) => {
    const { page, watch, context } = await openPage(browser, server);
    await signIn(page, server, await server.keyOf(role));
    const sections = await page.getByRole("navigation", { name: "Sections" }).getByRole("link").allTextContents();
    await page.getByRole("link", { name: "Minds" }).click();
    await page.getByRole("link", { name: /analyst/ }).waitFor();
    const make = await page.getByRole("link", { name: "Make a Mind" }).count();
    await page.getByRole("link", { name: "Operations" }).click();
    await page.getByRole("navigation", { name: "Views" }).waitFor();
    const views = await page.getByRole("navigation", { name: "Views" }).getByRole("link").allTextContents();
    await visit(page, "/console/plugins");
    await page.waitForFunction(() => document.querySelector("main h1"));
    const install = await page.getByLabel("Install a plugin").count();
    watch.check();
    await context.close();
    return { sections, make, views, install };
  };
  assert.deepEqual(await shown("user"), { sections: ["Ask", "Data", "Minds", "Operations"], make: 0, views: ["Usage", "Running", "Health"], install: 0 });
  assert.deepEqual(await shown("editor"), { sections: ["Ask", "Data", "Minds", "Operations"], make: 1, views: ["Usage", "Running", "Health"], install: 0 });
  assert.deepEqual(await shown("admin"), {
    sections: ["Ask", "Data", "Minds", "Plugins", "Operations"], make: 1, views: ["Usage", "Running", "Keys", "Providers", "Audit", "Health"], install: 0,
  });
  assert.equal((await shown("operator")).install, 1);
});

test("form that a role may not send is a page that does not exist", async () => {
  const { page, watch, context } = await openPage(browser, server);
  await signIn(page, server, await server.keyOf("user"));
  for (const path of ["/data/new", "/data/shop/change", "/minds/new"]) {
    await visit(page, "/console/data");
    await page.getByRole("heading", { name: "Data", exact: true }).waitFor();
    await visit(page, `/console${path}`);
    await page.getByRole("heading", { name: "There is no such page" }).waitFor();
    assert.equal(await page.locator("main form").count(), 0, path);
  }
  watch.check();
  await context.close();
});

test("key that is limited to some Minds is shown nothing that it is always refused", async () => {
  const keyOf = async (role) => (await server.api("POST", "/keys", { name: `limited ${role}`, role, minds: ["analyst"] })).key;
  const { page, watch, context } = await openPage(browser, server);
  await signIn(page, server, await keyOf("editor"), "/console/minds");
  await page.getByRole("link", { name: /analyst/ }).click();
  // What it may change is there.
  await page.getByRole("button", { name: "Save" }).waitFor();
  await page.getByRole("link", { name: "Minds", exact: true }).first().click();
  await page.getByRole("link", { name: /analyst/ }).waitFor();
  assert.equal(await page.getByRole("link", { name: "Make a Mind" }).count(), 0);
  await page.getByRole("link", { name: "Data", exact: true }).click();
  await page.getByRole("link", { name: /shop/ }).click();
  await page.getByRole("link", { name: "orders", exact: true }).waitFor();
  assert.equal(await page.getByRole("link", { name: "Connection" }).count(), 0);
  for (const path of ["/data/new", "/data/shop/change", "/minds/new"]) {
    await visit(page, `/console${path}`);
    await page.getByRole("heading", { name: "There is no such page" }).waitFor();
    await visit(page, "/console/minds");
    await page.getByRole("link", { name: /analyst/ }).waitFor();
  }
  watch.check();
  await context.close();

  const operator = await openPage(browser, server);
  await signIn(operator.page, server, await keyOf("operator"), "/console/plugins/connector-sqlite");
  await operator.page.getByRole("heading", { name: "Versions" }).waitFor();
  assert.equal(await operator.page.getByRole("heading", { name: "Usage" }).count(), 0);
  await operator.page.getByRole("link", { name: "Plugins" }).first().click();
  await operator.page.getByRole("link", { name: /SQLite/ }).waitFor();
  assert.equal(await operator.page.getByRole("region", { name: "Install a plugin" }).count(), 0);
  await operator.page.getByRole("link", { name: "Operations" }).click();
  const views = operator.page.getByRole("navigation", { name: "Views" });
  await views.waitFor();
  assert.deepEqual(await views.getByRole("link").allTextContents(), ["Usage", "Running", "Keys", "Health"]);
  operator.watch.check();
  await operator.context.close();
});

test("address that does not exist, or that a role may not open, is a page that does not exist", async () => {
  const check = async (key, paths) => {
    const { page, watch, context } = await openPage(browser, server);
    await signIn(page, server, key, "/console/data");
    for (const path of paths) {
      await visit(page, "/console/data");
      await page.getByRole("heading", { name: "Data", exact: true }).waitFor();
      await visit(page, `/console${path}`);
      await page.getByRole("heading", { name: "There is no such page" }).waitFor();
    }
    watch.check();
    await context.close();
  };
  await check(await server.keyOf("user"), [
    "/plugins", "/minds/analyst/policies", "/minds/analyst/feedback", "/minds/analyst/evaluations/new", "/minds/analyst/knowledge/new",
    "/minds/analyst/knowledge/import", "/operations/keys", "/operations/providers/offline", "/data/shop/files",
  ]);
  await check(server.key, ["/minds/analyst/nothing", "/minds/analyst/feedback/more", "/operations/keys/more", "/plugins/connector-sqlite/more", "/data/shop/tables/main.orders/more", "/data/shop/nothing"]);
});

test("numbers are as the reader's language writes them", async () => {
  const made = await server.api("POST", "/responses", { model: "analyst", tools: [{ type: "sql_query", query: "SELECT id FROM orders ORDER BY id", max_inline_rows: 1 }] });
  const { page, watch, context } = await openPage(browser, server, { locale: "de-DE" });
  await signIn(page, server, server.key, `/console/ask/${made.conversation.id}`);
  await page.getByText("45.000 rows").waitFor();
  // Values stay as the server sent them.
  const grid = page.getByRole("table", { name: "Rows of the result" });
  await grid.evaluate((grid) => grid.scrollTo(0, grid.scrollHeight));
  await grid.getByRole("cell", { name: "45000", exact: true }).waitFor();
  await grid.getByRole("button", { name: "Row 45000 in full" }).getByText("45.000").waitFor();
  await visit(page, "/console/data/shop/tables/main.orders");
  await page.getByText(/45\.000 rows/).waitFor();
  assert.match(await page.locator(".values").allTextContents().then((all) => all.join(" ")), /\d,\d\s%/);
  watch.check();
  await context.close();
});

test("page has a title of its own, and the focus once it is opened", async () => {
  const { page, watch, context } = await openPage(browser, server);
  await signIn(page, server, server.key, "/console/data");
  await page.waitForFunction(() => document.title === "Data · Mindhost");
  await page.getByRole("link", { name: /shop/ }).click();
  await page.waitForFunction(() => document.title === "shop · Data · Mindhost");
  assert.equal(await page.evaluate(() => document.activeElement.id), "main");
  await page.getByRole("link", { name: "orders", exact: true }).click();
  await page.waitForFunction(() => document.title === "main.orders · tables · shop · Data · Mindhost");
  assert.equal(await page.evaluate(() => document.activeElement.id), "main");
  await visit(page, `/console/ask/${conversation}`);
  await page.waitForFunction(() => document.title === "Average order total per channel · Ask · Mindhost");
  await visit(page, "/console/nowhere");
  await page.waitForFunction(() => document.title === "No such page · Mindhost");
  watch.check();
  await context.close();
});

test("address that is badly escaped is a page that does not exist", async () => {
  const { page, watch, context } = await openPage(browser, server);
  await signIn(page, server);
  // The server refuses such an address itself; a link inside the page leads there all the same.
  await page.evaluate(() => { history.pushState(null, "", "/console/50%"); dispatchEvent(new PopStateEvent("popstate")); });
  await page.getByRole("heading", { name: "There is no such page" }).waitFor();
  watch.check();
  await context.close();
});

test("times are in the reader's zone, with UTC on hover", async () => {
  const { page, context } = await openPage(browser, server);
  await signIn(page, server, server.key, "/console/operations/audit");
  const time = page.getByRole("cell").locator("time").first();
  await time.waitFor();
  const { at, text, title } = await time.evaluate((one) => ({ at: one.dateTime, text: one.textContent, title: one.title }));
  const berlin = new Intl.DateTimeFormat("en-GB", { timeStyle: "short", timeZone: "Europe/Berlin" }).format(new Date(at));
  assert(text.includes(berlin), `${text} is not ${berlin}`);
  assert.match(title, /UTC$/);
  await context.close();
});

test("typed key stays signed in over a reload only where that was asked for", async () => {
  const { page, context } = await openPage(browser, server);
  await signIn(page, server);
  await page.reload();
  await page.getByLabel("API key").waitFor();
  await page.getByLabel(/Stay signed in/).check();
  await page.getByLabel("API key").fill(server.key);
  await page.getByRole("button", { name: "Sign in" }).click();
  await page.getByRole("navigation", { name: "Sections" }).waitFor();
  await page.reload();
  await page.getByRole("navigation", { name: "Sections" }).waitFor();
  await page.getByText(/Signed in as/).locator("..").click();
  await page.getByRole("button", { name: "Sign out" }).click();
  await page.reload();
  await page.getByLabel("API key").waitFor();
  await context.close();
});

/** Signs in so that the tab keeps the key, and gives the kept one. */
async function signInAndStay(page, key) {
  await page.goto(`${server.url}/console/ask`);
  await page.getByLabel(/Stay signed in/).check();
  await page.getByLabel("API key").fill(key);
  await page.getByRole("button", { name: "Sign in" }).click();
  await page.getByRole("navigation", { name: "Sections" }).waitFor();
}

const kept = (page) => page.evaluate(() => sessionStorage.getItem("mindhost.key"));

test("kept key outlives a server that does not answer for a moment, and no refusal", async () => {
  const { id, key } = await server.api("POST", "/keys", { name: "kept", role: "user" });
  const { page, watch, context } = await openPage(browser, server);
  await signInAndStay(page, key);
  const error = { code: "overloaded", message: "The server starts.", param: null, type: "server_error" };
  await page.route(/\/api\/v1\/keys\/current$/, (route) => route.fulfill({ status: 503, json: { error } }));
  await page.reload();
  await page.getByRole("alert").getByText("The server starts.").waitFor();
  assert.equal(await kept(page), key);
  assert.deepEqual(await inspect(page, "a server that starts"), []);
  // Another key that is tried in between takes nothing away, either.
  await page.getByLabel("API key").fill(`${key}x`);
  await Promise.all([page.waitForResponse(/\/keys\/current$/), page.getByRole("button", { name: "Sign in" }).click()]);
  await page.getByRole("button", { name: "Sign in", disabled: false }).waitFor();
  assert.equal(await kept(page), key);
  await page.reload();
  await page.getByRole("alert").getByText("The server starts.").waitFor();
  await page.unrouteAll();
  await page.getByRole("button", { name: "Try again" }).click();
  await page.getByRole("navigation", { name: "Sections" }).waitFor();
  assert.equal(await kept(page), key);
  // From an empty page: a request of the console that is refused would end the session before it is opened again.
  const address = page.url();
  await page.goto("about:blank");
  await server.api("DELETE", `/keys/${id}`);
  await page.goto(address);
  await page.getByRole("alert").waitFor();
  assert.equal(await kept(page), null);
  watch.check();
  await context.close();
});

test("link takes the place of a kept key only when that is said", async () => {
  const own = await server.keyOf("user");
  const { key: other } = await server.api("POST", "/keys", { name: "whoever made the link", role: "user" });
  const { page, watch, context } = await openPage(browser, server);
  await signInAndStay(page, own);
  const follow = async () => {
    const { path } = await server.api("POST", "/console/links", { key: other }, other);
    await page.goto(server.url + path);
    await page.getByText("This tab is signed in already.").waitFor();
    assert(!page.url().includes("code="), page.url());
    assert.equal(await kept(page), own);
  };
  await follow();
  assert.deepEqual(await inspect(page, "question about a link"), []);
  await tabTo(page, page.getByRole("button", { name: "Keep my session" }));
  await page.keyboard.press("Enter");
  await page.getByText("test user", { exact: true }).waitFor();
  assert.equal(await kept(page), own);
  await follow();
  await page.getByRole("button", { name: "Use the link" }).click();
  await page.getByText("whoever made the link", { exact: true }).waitFor();
  assert.equal(await kept(page), null);
  watch.check();
  await context.close();
});

test("session that ends says why, with the id of the request", async () => {
  const { id, key } = await server.api("POST", "/keys", { name: "short", role: "user" });
  const { page, watch, context } = await openPage(browser, server);
  await signIn(page, server, key);
  await server.api("DELETE", `/keys/${id}`);
  // What the first page still loads may be refused before the click is.
  const ended = page.getByLabel("API key").waitFor();
  await Promise.any([page.getByRole("link", { name: "Data" }).click(), ended]);
  await ended;
  await page.getByRole("alert").getByText(/^Request [0-9a-f-]{36}/).waitFor();
  watch.check();
  await context.close();
});
