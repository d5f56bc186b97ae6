// Text of others is text also where only few of the payloads can be stored: names of files and of workspaces, steps of an
// answer, and what a plugin or an engine said when something failed. What no server lets in is put into its answers.
import assert from "node:assert/strict";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { browser, server } from "./demo.mjs";
import { checkDom } from "./dom.mjs";
import { PAYLOADS } from "./payloads.mjs";
import { openPage, signIn, visit } from "./support.mjs";
import { Vendor } from "./vendor.mjs";

let opened;
let vendor;
before(async () => {
  vendor = await Vendor.start();
  await vendor.mind(server, "told");
  opened = await openPage(browser, server);
  await opened.page.exposeFunction("pwned", () => opened.page.evaluate(() => window.reportViolation("a text ran")));
  await signIn(opened.page, server);
});
after(() => vendor.stop());

/** What the page shows of a text: the part before the first character that is shown as another, or cut. */
const plainOf = (text) => /^[\x20-\x7e]{0,40}/.exec(text)[0].trim();

/** Shows a page, with the answer of an address changed, and looks at it. `ready` waits for what is to be seen. */
async function look(path, pattern, change, ready) {
  const { page, watch } = opened;
  await visit(page, "/console/nowhere");
  await page.getByRole("heading", { name: "There is no such page" }).waitFor();
  const handler = async (route) => {
    const answer = await route.fetch();
    await route.fulfill({ response: answer, json: change(await answer.json()) });
  };
  if (pattern) await page.route(pattern, handler);
  await visit(page, path);
  await ready(page);
  await page.evaluate(async () => {
    for (const one of document.querySelectorAll("main details")) one.open = true;
    // What is opened is drawn then.
    for (let frames = 0; frames < 3; frames++) await new Promise((resolve) => requestAnimationFrame(resolve));
  });
  await checkDom(page, path);
  watch.check();
  return async () => { if (pattern) await page.unroute(pattern, handler); };
}

/** As many things as there are payloads, each made with one. */
const each = (make) => PAYLOADS.map(make);

/** Fails unless each payload is somewhere in the page, as text. */
async function shows(page, texts = PAYLOADS) {
  const text = (await page.locator("main").textContent()) ?? "";
  assert.deepEqual(texts.map(plainOf).filter((one) => !text.includes(one)), []);
}

test("names of files: dropped, refused, stored and deleted", async () => {
  await server.api("POST", "/datasources", { name: "odd_files", engine: "files", connection_data: { path: "odd" } });
  const { page, watch } = opened;
  await visit(page, "/console/data/odd_files/files");
  await page.getByText("There is no file yet").waitFor();
  const names = PAYLOADS.filter((one) => one.isWellFormed());
  const transfer = await page.evaluateHandle((names) => {
    const transfer = new DataTransfer();
    for (const name of names) transfer.items.add(new File(["a\n1\n"], name));
    return transfer;
  }, names);
  await page.locator(".drop").dispatchEvent("drop", { dataTransfer: transfer });
  // Each is stored or refused in the end. The last one is neither while the server stores it.
  await page.waitForFunction(() => {
    const list = document.querySelector("[aria-label=Uploads]");
    return !/waits|bytes of|the server stores it/.test(list?.textContent ?? "waits");
  });
  await checkDom(page, "uploads");
  const refused = await page.getByRole("list", { name: "Uploads" }).getByRole("listitem").count();
  const stored = (await server.api("GET", "/datasources/odd_files/files")).map((one) => one.name);
  assert.equal(stored.length + refused, names.length);
  watch.check();
  await page.reload();
  await signIn(page, server, server.key, "/console/data/odd_files/files");

  // On the disk there may be names that no upload has.
  const folder = join(server.dir, "files/default/odd");
  mkdirSync(folder, { recursive: true });
  const written = names.filter((one) => !/[/\0]/.test(one) && Buffer.byteLength(one) < 200);
  for (const [index, name] of written.entries()) writeFileSync(join(folder, `${index} ${name}.csv`), "a\n1\n");
  const restore = await look("/console/data/odd_files/files", /\/odd_files\/files$/, () => each((name) => ({ name, bytes: 4, modified_at: "2026-01-15T00:00:00Z" })), (page) => page.getByRole("row").nth(PAYLOADS.length).waitFor());
  await shows(page);
  for (let row = 0; row < PAYLOADS.length; row += 25) {
    await page.getByRole("region", { name: "Files" }).getByRole("button").nth(row).click();
    await page.getByRole("dialog").waitFor();
    await checkDom(page, `dialog of file ${row}`);
    await page.keyboard.press("Escape");
    await page.getByRole("dialog").waitFor({ state: "detached" });
  }
  await restore();
  await server.api("POST", "/datasources/odd_files/catalog/refresh?wait=60", {});
  await look("/console/data/odd_files", null, null, (page) => page.getByRole("status").first().waitFor());
  watch.check();
});

test("name of a plugin file that is dropped", async () => {
  const { page, watch } = opened;
  await visit(page, "/console/plugins");
  for (const name of PAYLOADS.filter((one, index) => index % 10 === 0 && one.isWellFormed())) {
    const transfer = await page.evaluateHandle((name) => {
      const transfer = new DataTransfer();
      transfer.items.add(new File(["nothing"], name));
      return transfer;
    }, name);
    const answered = page.waitForResponse(/dry_run=true/);
    await page.locator(".drop").dispatchEvent("drop", { dataTransfer: transfer });
    await answered;
    await page.getByRole("alert").waitFor();
    await checkDom(page, name);
  }
  watch.check();
});

test("names of workspaces, and of one that is refused", async () => {
  const { page, watch } = opened;
  const restore = await look("/console/operations/workspaces", /\/api\/v1\/workspaces$/, ([first]) => each((name) => ({ ...first, id: name, name, files_directory: `/files/${name}` })), (page) => page.getByRole("row").nth(PAYLOADS.length).waitFor());
  await shows(page);
  for (let row = 0; row < PAYLOADS.length; row += 25) {
    await page.getByRole("button", { name: "Delete", exact: true }).nth(row).click();
    await page.getByRole("dialog").waitFor();
    await checkDom(page, `dialog of workspace ${row}`);
    await page.keyboard.press("Escape");
    await page.getByRole("dialog").waitFor({ state: "detached" });
  }
  await restore();
  for (const name of PAYLOADS.filter((_, index) => index % 10 === 0)) {
    await page.getByLabel("Name of the new workspace").fill(name);
    const answered = page.waitForResponse((one) => one.request().method() === "POST");
    await page.getByRole("button", { name: "Make a workspace" }).click();
    assert.equal((await answered).ok(), false, name);
    await page.getByRole("alert").waitFor();
    await checkDom(page, `refused workspace ${name}`);
  }
  watch.check();
});

test("policies of keys, and names of what a policy is made for", async () => {
  const { page, watch } = opened;
  const policies = each((text) => ({ datasource: text, table: text, filter: text, hidden: [text], masked: { [text]: { text } }, problem: text }));
  const restore = await look("/console/operations/keys", /\/api\/v1\/keys$/, ([first]) => [{ ...first, policies }], (page) => page.getByText(`${PAYLOADS.length} policies`).waitFor());
  await shows(page);
  await restore();

  const datasources = /\/api\/v1\/datasources$/;
  const catalog = /\/datasources\/[^/]+\/catalog/;
  const names = PAYLOADS.filter((one) => one.isWellFormed());
  await page.route(datasources, async (route) => {
    const answer = await route.fetch();
    const all = await answer.json();
    await route.fulfill({ response: answer, json: [...all, ...names.map((name) => ({ ...all[0], id: name, name }))] });
  });
  await page.route(catalog, async (route) => {
    const answer = await route.fetch({ url: `${server.url}/api/v1/datasources/shop/catalog` });
    const found = await answer.json();
    const [table] = found.tables;
    const columns = names.map((name) => ({ ...table.columns[0], name }));
    await route.fulfill({ response: answer, json: { ...found, tables: names.map((name) => ({ ...table, name, columns })) } });
  });
  await page.getByRole("button", { name: "Make a key" }).click();
  await page.getByRole("button", { name: "Add a policy" }).click();
  const policy = page.getByRole("group", { name: "Policy 1" });
  // The first is the placeholder.
  await policy.getByRole("option").nth(names.length).waitFor({ state: "attached" });
  await policy.getByLabel("Datasource").selectOption(names[0]);
  await policy.getByLabel("Table", { exact: true }).selectOption({ index: 1 });
  await policy.getByRole("textbox", { name: "Rows that the key sees" }).waitFor();
  await policy.locator(".masks li").nth(names.length - 1).getByRole("combobox").selectOption("sql");
  await checkDom(page, "form of a key with a policy");
  await page.keyboard.press("Escape");
  await page.unroute(datasources);
  await page.unroute(catalog);
  watch.check();
});

test("names of the key and the workspace of the reader", async () => {
  for (let from = 0; from < PAYLOADS.length; from += 12) {
    const other = await openPage(browser, server);
    await other.page.exposeFunction("pwned", () => other.page.evaluate(() => window.reportViolation("a text ran")));
    await other.page.route(/\/keys\/current$/, async (route) => {
      const answer = await route.fetch();
      const texts = PAYLOADS.slice(from, from + 12).join(" ");
      await route.fulfill({ response: answer, json: { ...(await answer.json()), name: texts, workspace: texts } });
    });
    await signIn(other.page, server, server.key, "/console/operations/keys");
    await other.page.getByText(/Signed in as/).locator("..").click();
    await checkDom(other.page, `key ${from}`);
    other.watch.check();
    await other.context.close();
  }
});

test("steps of an answer: what the model called, and what it was told", async () => {
  const { page, watch } = opened;
  // Real ones: statements of tables that do not exist. More of them would end the answer.
  const wild = PAYLOADS.filter((one) => /onerror|script/.test(one)).slice(0, 2);
  vendor.turns = [
    ...wild.map((text) => ({ call: "run_sql", arguments: { sql: `SELECT '${text.replaceAll("'", "''")}' FROM "${text.replaceAll('"', '""')}"` } })),
    { words: ["Nothing was found."] },
  ];
  await visit(page, "/console/ask?mind=told");
  await page.locator(".mind-choice select").selectOption("told");
  await page.getByLabel("Question", { exact: true }).fill("What do you call?");
  await page.keyboard.press("Enter");
  const answer = page.locator("article.assistant").last();
  await answer.getByText("Nothing was found.").waitFor();
  await answer.locator(".steps > summary").click();
  // The first step is what the prompt had of the catalog.
  assert.equal(await answer.locator(".steps li").count(), wild.length + 1);
  await checkDom(page, "steps while the answer is made");
  await page.waitForFunction(() => /\/ask\/./.test(location.pathname));
  const path = new URL(page.url()).pathname;
  // And all of them, in every part of a step.
  const steps = each((text) => ({ name: text, status: text, message: text, sql: text, duration_ms: 3 }));
  const restore = await look(path, /\/items\?.*include=answer/, (items) => ({
    ...items,
    data: items.data.map((one) => (one.answer ? { ...one, answer: { ...one.answer, steps } } : one)),
  }), (page) => page.locator(".steps > summary").waitFor());
  assert.equal(await page.locator(".steps li").count(), PAYLOADS.length);
  await shows(page);
  await restore();
  watch.check();
});

test("what failed in the background: runs, tables, rollouts, versions, health", async () => {
  const { page } = opened;
  const long = PAYLOADS.join(" · ");
  const catalog = (known) => ({
    ...known,
    status: { ...known.status, overall_status: "FAILED", message: long, active_flow_runs: 0, request_id: PAYLOADS[0] },
    tables: each((text, index) => ({ ...known.tables[0], name: `t${index} ${text}`, status: "FAILED", error: text, type: text, error_request_id: text, foreign_key_constraints: [] })),
  });
  await (await look("/console/data/shop", /\/shop\/catalog$/, catalog, (page) => page.getByRole("row").nth(PAYLOADS.length).waitFor()))();
  await shows(page);
  for (let index = 0; index < PAYLOADS.length; index += 10) {
    const name = `main.t${index} ${PAYLOADS[index]}`;
    if (!name.isWellFormed()) continue;
    await (await look(`/console/data/shop/tables/${encodeURIComponent(name)}`, /\/shop\/catalog$/, catalog, (page) => page.locator(".failure").waitFor()))();
  }
  const health = (text) => ({
    status: "quarantined", until: null, since: "2026-01-15T00:00:00Z", reason: text,
    workspaces: [{ workspace: text, status: "quarantined", until: null, since: null, reason: text }],
    targets: [{ id: text, name: text, workspace: text, until: "2026-01-15T00:00:00Z", reason: text }],
  });
  const right = (text) => ({ name: text, description: text });
  const figures = { calls: 1, faults: 0, median_ms: 1, p95_ms: 1 };
  const rollout = (text, index) => ({
    id: `${index}`, plugin: text, from: null, to: text, version: text, stage: index % 2 ? "failed" : "rolled_back", reason: text, accepted_rights: [], checks: [],
    canary_share: null, stable: figures, candidate: figures, is_rollback: false, started_by: text, request_id: text, started_at: "2026-01-15T00:00:00Z", ended_at: "2026-01-15T00:00:00Z",
  });
  const versions = ([first]) => each((text, index) => ({ ...first, digest: `${index}`.padStart(64, "0"), version: text, title: text, signer: text, status: "refused", reason: text, world: text, wit: text, engines: [text], rights: [right(text)], wider_rights: [right(text)], health: health(text) }));
  const plugin = (known) => ({ ...known, versions: versions(known.versions), rollouts: each(rollout) });
  await (await look("/console/plugins/connector-sqlite", /\/plugins\/connector-sqlite$/, plugin, (page) => page.getByRole("heading", { name: "Rollouts" }).waitFor()))();
  await shows(page);
  const all = ([first]) => each((text) => ({ ...first, name: text, active: "a", versions: [{ ...first.versions[0], digest: "a", title: text, version: text }], rollouts: [{ ...rollout(text, 0), stage: "canary" }] }));
  await (await look("/console/plugins", /\/api\/v1\/plugins$/, all, (page) => page.locator(".cards .card").nth(PAYLOADS.length - 1).waitFor()))();
  await shows(page);
  const usage = (known) => ({ ...known, plugin: "connector-sqlite", since_start: each((text) => ({ ...known.since_start[0], digest: text, version: text, health: health(text), targets: [] })) });
  await (await look("/console/operations/health", /\/plugins\/connector-sqlite\/usage/, usage, (page) => page.getByText(plainOf(PAYLOADS[0])).first().waitFor()))();
  await shows(page);
});

test("what runs, the audit trail, and an evaluation that failed", async () => {
  const { page } = opened;
  const kinds = ["answer", "sql_query", "page", "export"];
  const running = () => ({ object: "list", data: each((text, index) => ({ id: text, kind: kinds[index % 4], mind: text, key_id: text, text, started_at: "2026-01-15T00:00:00Z", background: false, on_this_host: true })) });
  await (await look("/console/operations/running", /\/api\/v1\/running$/, running, (page) => page.getByRole("row").nth(PAYLOADS.length).waitFor()))();
  await shows(page);
  const audit = (known) => ({ ...known, has_more: false, data: each((text) => ({ ...known.data[0], id: text, key_name: text, action: text, resource: text, mind: text, made: text, request_id: text })) });
  await (await look("/console/operations/audit", /\/api\/v1\/audit/, audit, (page) => page.getByRole("row").nth(PAYLOADS.length).waitFor()))();
  await shows(page);
  const { id } = await server.api("POST", "/minds/analyst/evaluations", { suite: "questions: [{question: How many orders are there?, rows: [[1]]}]" });
  const questions = each((text, index) => ({ id: `${index} ${text}`, question: text, expect: "answer", mark: "failed", why: text, text, sql: null, gold: null }));
  const report = (known) => ({ ...known, status: "failed", error: PAYLOADS.join(" · "), request_id: PAYLOADS[0], currency: PAYLOADS[0], questions });
  await (await look(`/console/minds/analyst/evaluations/${id}`, new RegExp(`/evaluations/${id}$`), report, (page) => page.getByRole("heading", { name: "Questions" }).waitFor()))();
});
