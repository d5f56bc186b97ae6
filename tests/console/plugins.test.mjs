// Operators: look at a plugin file, install it, let it serve a share, roll back; what a version may do, and what it used.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { browser, server } from "./demo.mjs";
import { inspect, openPage, signIn } from "./support.mjs";
import { MODEL, versionOf } from "./version.mjs";

const ORIGIN = "https://models.example";

/** A manifest of a model that may reach a host, which the offline one must not. */
function wider(manifest) {
  const properties = { base_url: { type: "string", "x-destination": true } };
  const connection_data = { ...manifest.connection_data, properties };
  return { ...manifest, description: "Reaches a host.", http: [{ url: "base_url", default: ORIGIN }], connection_data };
}

const ask = () => server.api("POST", "/responses", { model: "analyst", input: "How many orders are there?", store: false });
const pause = () => new Promise((resolve) => setTimeout(resolve, 50));
const cardOf = (page, number) => page.getByRole("listitem").filter({ has: page.getByRole("heading", { name: number }) });

async function install(page, file, number) {
  await page.goto(`${server.url}/console/plugins`);
  await signIn(page, server, server.key, "/console/plugins");
  await page.locator("input[type=file]").setInputFiles(file);
  await page.getByRole("heading", { name: number }).waitFor();
  await page.getByRole("button", { name: "Install", exact: true }).click();
  await page.getByRole("link", { name: "Activate it" }).click();
}

const serves = async () => (await server.api("GET", `/plugins/${MODEL}`)).versions.find((one) => one.status === "active").version;

test("version is looked at, installed, serves a share, and is rolled back", async () => {
  const { page, watch, context } = await openPage(browser, server);
  await install(page, versionOf(server, "0.1.9"), "0.1.9");
  await cardOf(page, "0.1.9").getByRole("button", { name: "Activate …" }).click();
  const dialog = page.getByRole("dialog");
  await dialog.getByRole("slider").fill("50");
  await dialog.getByText("50%", { exact: true }).waitFor();
  await dialog.getByLabel("For how many seconds").fill("600");
  await dialog.getByRole("button", { name: "Activate", exact: true }).click();
  await page.getByText("Serves a share of 50").waitFor({ timeout: 60_000 });
  // Calls go to both. The table has the server's figures, and the curves follow them.
  const rollout = page.getByRole("region", { name: "Rollout" });
  const row = rollout.getByRole("region", { name: "Since then" }).getByRole("row", { name: /^New/ });
  const latency = rollout.getByRole("img", { name: /^Mean latency/ });
  await latency.waitFor();
  const began = await rollout.locator("p time").getAttribute("datetime");
  const parts = () => latency.locator(".new path").evaluateAll((paths) => paths[0].getAttribute("d").split("M").length - 1);
  const burst = async (least) => {
    for (let asked = 0; asked < 4; asked++) await ask();
    while ((await parts()) < least) await page.waitForResponse(/\/usage/);
  };
  await burst(1);
  // The server counts the same calls, while the stage goes on.
  const figures = rollout.getByRole("region", { name: "Since the rollout began" }).getByRole("row", { name: /^New/ });
  while (/^New0/.test(await figures.textContent())) await page.waitForResponse((one) => one.url().endsWith(`/plugins/${MODEL}`));
  assert.match(await figures.textContent(), /ms/);
  // Seconds without calls are a gap, and no time of 0.
  for (let polled = 0; polled < 3; polled++) await page.waitForResponse(/\/usage/);
  await burst(2);
  const drawn = await latency.locator("path").evaluateAll((paths) => paths.map((path) => path.getAttribute("d")).join(""));
  const heights = [...drawn.matchAll(/[ML][\d.]+ ([\d.]+)/g)].map((found) => Number(found[1]));
  assert(heights.length > 1 && heights.every((height) => height < 100), drawn);
  // A labelled axis each: three values with their unit from 0 up, three times.
  const figure = rollout.locator("figure").first();
  const values = await figure.locator(".plot-values span").allTextContents();
  assert.equal(values.length, 3, `${values}`);
  assert(values[0] === "0 ms" && values.every((one) => /^[\d.,]+ m?s$/.test(one)), `${values}`);
  const times = await figure.locator(".plot-times span").allTextContents();
  assert(times.length === 3 && times.every((one) => /^\d\d:\d\d:\d\d$/.test(one)), `${times}`);
  assert.match(await figure.locator(".plot-times span").first().getAttribute("title"), /UTC$/);
  assert.deepEqual(await inspect(page, "rollout"), []);
  // What was seen is still there after another page.
  const before = await parts();
  await page.getByRole("link", { name: "Plugins" }).first().click();
  await page.getByRole("link", { name: /Offline/ }).click();
  await latency.waitFor();
  assert((await parts()) >= before);
  assert.equal(await rollout.locator("p time").getAttribute("datetime"), began);
  assert(Number(await row.getByRole("cell").first().textContent()) >= 4);
  assert.match(await row.getByRole("cell").nth(2).textContent(), /^[\d.,]+ m?s$/);
  await page.getByRole("button", { name: "Stop and roll back" }).click();
  await page.getByRole("table").getByText("Rolled back", { exact: true }).first().waitFor({ timeout: 60_000 });
  assert.equal(await serves(), "0.1.0");
  // The server's own figures stay with the rollout.
  const { candidate } = (await server.api("GET", `/plugins/${MODEL}`)).rollouts[0];
  assert(candidate.calls >= 4, JSON.stringify(candidate));
  await page.getByRole("region", { name: "Rollouts" }).getByRole("cell", { name: new RegExp(`^${candidate.calls} calls, 0 faults, median`) }).waitFor();
  watch.check();
  await context.close();
});

test("wider rights must be accepted, and the version before is restored afterwards", async () => {
  const { page, watch, context } = await openPage(browser, server);
  // One that may do no more serves at once, and its rollout completes.
  await install(page, versionOf(server, "0.1.7"), "0.1.7");
  await cardOf(page, "0.1.7").getByRole("button", { name: "Activate …" }).click();
  const dialog = page.getByRole("dialog");
  await dialog.getByText("It may do no more").waitFor();
  await dialog.getByRole("slider").fill("0");
  await dialog.getByRole("button", { name: "Activate", exact: true }).click();
  await cardOf(page, "0.1.7").getByText("serves", { exact: true }).waitFor({ timeout: 60_000 });
  await page.getByRole("button", { name: "Roll back to the version before" }).waitFor({ timeout: 60_000 });

  await install(page, versionOf(server, "0.1.8", wider), "0.1.8");
  const right = `http:base_url=${ORIGIN}`;
  const card = cardOf(page, "0.1.8");
  await card.getByRole("button", { name: "Activate …" }).click();
  await dialog.getByText(right).waitFor();
  await dialog.getByRole("slider").fill("50");
  await dialog.getByLabel("For how many seconds").fill("20");
  const count = async () => (await server.api("GET", `/plugins/${MODEL}`)).rollouts.length;
  const known = await count();
  const accept = dialog.getByRole("checkbox", { name: /I accept/ });
  const activate = dialog.getByRole("button", { name: "Activate", exact: true });
  await activate.click();
  assert.equal(await accept.evaluate((box) => box.validity.valueMissing), true);
  assert.equal(await count(), known, "it is activated without its rights being accepted");
  await accept.check();
  await activate.click();
  await dialog.waitFor({ state: "detached" });
  // Until the share is over, both versions are called.
  const stage = async () => (await server.api("GET", `/plugins/${MODEL}`)).rollouts[0].stage;
  await page.getByText("Serves a share of 50").waitFor({ timeout: 60_000 });
  // With a pause, so that the tests beside these get their share of the processor.
  while ((await stage()) === "canary") {
    await ask();
    await pause();
  }
  // The curve marks when the new version took over, and the table has what the server counted.
  const rollout = page.getByRole("region", { name: "Rollout" });
  await rollout.locator(".plot .mark").first().waitFor({ state: "attached", timeout: 60_000 });
  await rollout.getByText(/^Serves all, watched from \d/).first().waitFor();
  const [current] = (await server.api("GET", `/plugins/${MODEL}`)).rollouts;
  const counted = rollout.getByRole("region", { name: "Since the rollout began" });
  const calls = current.stable.calls.toLocaleString("en-GB");
  await counted.getByRole("row", { name: new RegExp(`^Old ${calls} 0 [\\d.,]+ m?s [\\d.,]+ m?s$`) }).waitFor();
  assert.deepEqual(current.accepted_rights.map((one) => one.name), ["http:base_url", right]);
  await page.getByRole("button", { name: "Stop and roll back" }).click();
  await page.getByRole("table").getByText("Rolled back", { exact: true }).first().waitFor({ timeout: 60_000 });
  assert.equal(await serves(), "0.1.7");
  // Beyond it, too: what was rolled back is not the version before.
  await page.getByRole("button", { name: "Roll back to the version before" }).click();
  await cardOf(page, "0.1.0").getByText("serves", { exact: true }).waitFor({ timeout: 60_000 });
  assert.equal(await serves(), "0.1.0");
  watch.check();
  await context.close();
});

test("plugin's usage by day is a chart of a chosen measure, and a table", async () => {
  await ask();
  const { page, watch, context } = await openPage(browser, server);
  // The server writes what was counted down now and then.
  const path = "/plugins/connector-sqlite/usage";
  let days = [];
  while (days.length === 0) {
    ({ days } = await server.api("GET", path));
    await pause();
  }
  await signIn(page, server, server.key, "/console/plugins/connector-sqlite");
  const section = page.getByRole("region", { name: "Usage by day" });
  await section.getByRole("img", { name: /^Calls by day, from / }).waitFor();
  const [values, times] = [section.locator(".plot-values span"), section.locator(".plot-times span")];
  assert.equal(await values.first().textContent(), "0");
  assert.equal(await times.count(), 3);
  assert.equal(await section.locator(".bar").count(), 30);
  const [today] = days;
  const row = section.getByRole("row", { name: today.day });
  assert((await row.getByRole("cell").allTextContents()).length === 6);
  // And since the server began by target, of which the last line is the sum.
  const targets = page.getByRole("region", { name: /^Usage of 0\.1\.0 by target/ });
  const calls = async (name) => Number((await targets.getByRole("row", { name }).getByRole("cell").nth(1).textContent()).replaceAll(",", ""));
  assert(await calls(/^shop default/) > 0);
  assert(await calls(/^All/) >= await calls(/^shop default/));
  await section.getByLabel("Measure").selectOption("Results");
  await section.getByRole("img", { name: /^Results by day/ }).waitFor();
  assert.match(await values.last().textContent(), / [kM]?B$| bytes$/);
  watch.check();
  await context.close();
});

test("plugin's usage says that lines are left out", async () => {
  const { page, watch, context } = await openPage(browser, server);
  await page.route(/connector-sqlite\/usage/, async (route) => {
    const answer = await route.fetch();
    await route.fulfill({ response: answer, json: { ...(await answer.json()), has_more: true } });
  });
  await signIn(page, server, server.key, "/console/plugins/connector-sqlite");
  await page.getByText(/^Only the newest 10,000 lines are counted/).waitFor();
  watch.check();
  await context.close();
});

test("rights of a version are listed", async () => {
  const { page, watch, context } = await openPage(browser, server);
  await signIn(page, server, await server.keyOf("admin"), "/console/plugins/connector-sqlite");
  const card = cardOf(page, "0.1.0");
  await card.getByText("not signed", { exact: true }).waitFor();
  await card.getByText(/^\d+ rights?$/).click();
  await card.getByText("engine:sqlite").waitFor();
  await card.getByText("file:path", { exact: true }).waitFor();
  watch.check();
  await context.close();
});

test("file that is dropped while another is looked at is the one that is shown and installed", async () => {
  const { page, watch, context } = await openPage(browser, server);
  await signIn(page, server, server.key, "/console/plugins");
  const [slow, quick] = [versionOf(server, "0.1.5"), versionOf(server, "0.1.6")].map((path) => ({ name: path.split("/").at(-1), mimeType: "application/wasm", buffer: readFileSync(path) }));
  let release;
  const held = new Promise((resolve) => { release = resolve; });
  let count = 0;
  await page.route(/dry_run=true/, async (route) => {
    if (count++ === 0) await held;
    // The page may have given up on it.
    await route.continue().catch(() => undefined);
  });
  const asked = page.waitForRequest(/dry_run=true/);
  await page.locator("input[type=file]").setInputFiles(slow);
  await asked;
  await page.locator("input[type=file]").setInputFiles(quick);
  await page.getByRole("heading", { name: "0.1.6" }).waitFor();
  assert.deepEqual(await inspect(page, "plugin file"), []);
  release();
  const installed = page.waitForResponse((one) => one.request().method() === "POST" && one.url().endsWith("/api/v1/plugins"));
  await page.getByRole("button", { name: "Install", exact: true }).click();
  await installed;
  await page.getByRole("link", { name: "Activate it" }).waitFor();
  const { versions } = await server.api("GET", `/plugins/${MODEL}`);
  assert(versions.some((one) => one.version === "0.1.6") && !versions.some((one) => one.version === "0.1.5"));

  // And it is removed only when that is confirmed.
  await page.getByRole("link", { name: "Activate it" }).click();
  await cardOf(page, "0.1.6").getByRole("button", { name: "Remove …" }).click();
  const question = page.getByRole("dialog", { name: `Remove ${MODEL} 0.1.6?` });
  await question.getByRole("button", { name: "Cancel" }).click();
  await question.waitFor({ state: "detached" });
  await cardOf(page, "0.1.6").getByRole("button", { name: "Remove …" }).click();
  await question.getByRole("button", { name: "Remove", exact: true }).click();
  await cardOf(page, "0.1.6").waitFor({ state: "detached" });
  watch.check();
  await context.close();
});

test("file that is no plugin is refused in the server's words", async () => {
  const { page, watch, context } = await openPage(browser, server);
  await signIn(page, server, server.key, "/console/plugins");
  await page.locator("input[type=file]").setInputFiles({ name: "x.wasm", mimeType: "application/wasm", buffer: Buffer.from("nothing") });
  await page.getByRole("alert").getByText(/Request/).waitFor();
  watch.check();
  await context.close();
});
