// A server on the demo data and a browser beside it. What every page must keep is watched here: nothing is loaded from
// elsewhere, no policy is violated, no script fails, and no text becomes a dialog.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import {
  copyFileSync, cpSync, existsSync, mkdirSync, mkdtempSync, openSync, readFileSync, readdirSync, renameSync, rmSync,
} from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { chromium } from "playwright-core";

const program = process.env.TEST_PROGRAM ?? "mindhost";
const plugins = process.env.TEST_PLUGINS ?? "plugins";
/** Where compiled plugins go from one server to the next, with the key that seals them: compiling keeps a small machine
 * busy for longer than most tests. */
const compiled = process.env.TEST_COMPILED ?? null;
const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
const browserPath = process.env.CHROMIUM ?? "/usr/bin/chromium";

/** A directory for a server. */
function dataDir() {
  const dir = mkdtempSync(join(tmpdir(), "mindhost-console-"));
  if (compiled && existsSync(compiled)) cpSync(compiled, dir, { recursive: true });
  return dir;
}

/** Puts a file where other servers begin with it, once it is whole: two files of tests run at a time. */
function share(from, to) {
  if (existsSync(to) || !existsSync(from)) return;
  const unfinished = `${compiled}.${process.pid}`;
  copyFileSync(from, unfinished);
  renameSync(unfinished, to);
}

/** Removes the directory of a server that has ended. */
function remove(dir) {
  const cache = join(dir, "cache");
  if (compiled && existsSync(cache)) {
    mkdirSync(join(compiled, "cache"), { recursive: true });
    share(join(dir, "secrets.key"), join(compiled, "secrets.key"));
    const whole = readdirSync(cache).filter((name) => name.endsWith(".cwasm"));
    for (const name of whole) share(join(cache, name), join(compiled, "cache", name));
  }
  rmSync(dir, { recursive: true, force: true });
}

/** Resolves once a process and the server that it started have ended. `mindhost demo` ends at once, and its server
 * after that: a folder that is removed before that is still written to. The last pipe is closed once
 * neither holds it any more. */
function endOf(child) {
  const pipe = child.stdio[3].resume();
  // A server that does not end in its time of grace is not waited for.
  child.once("exit", () => setTimeout(() => pipe.destroy(), 60_000).unref());
  return new Promise((resolve) => child.once("close", resolve));
}

/** Starts `mindhost demo` and waits until it prints its link. While one works on the console, `TEST_URL` and
 * `TEST_KEY` name a server that runs, such as Vite's. */
export async function startDemo() {
  const { TEST_URL: running, TEST_KEY: known, TEST_DIR: near = null } = process.env;
  if (running) return new Server(near, null, running, known, async () => {});
  const dir = dataDir();
  const env = { ...process.env, MINDHOST_LISTEN: "127.0.0.1:0", NO_COLOR: "1" };
  const stdio = ["ignore", "pipe", "inherit", "pipe"];
  const child = spawn(program, ["demo", "--dir", dir, "--plugins-dir", plugins], { env, stdio });
  const said = [];
  const ended = endOf(child);
  // Also if no test comes as far as to stop it, such as without a browser: nothing takes time from the next tests.
  process.once("exit", () => child.kill());
  const lines = createInterface({ input: child.stdout });
  let link = null;
  for await (const line of lines) {
    said.push(line);
    link = /(http:\/\/\S+)\/console#code=\S+/.exec(line);
    if (link) break;
  }
  assert(link, `the demo ended without a link:\n${said.slice(-30).join("\n")}`);
  lines.close();
  child.stdout.resume();
  const stop = async () => {
    child.kill("SIGTERM");
    await ended;
    remove(dir);
  };
  const key = readFileSync(join(dir, "admin.key"), "utf8").trim();
  return new Server(dir, link[0], link[1], key, stop);
}

/** Starts `mindhost serve` with settings of its own, which the demo does not take, and no data. `TEST_URL` counts as for the
 * demo, so it must name a server with these settings. */
export async function startServer(settings) {
  const { TEST_URL: running, TEST_KEY: known, TEST_DIR: near = null } = process.env;
  if (running) return new Server(near, null, running, known, async () => {});
  const dir = dataDir();
  const own = { MINDHOST_LISTEN: "127.0.0.1:0", MINDHOST_DATA_DIR: dir, MINDHOST_PLUGINS_DIR: plugins, NO_COLOR: "1" };
  const child = spawn(program, ["serve"], { env: { ...process.env, ...own, ...settings }, stdio: ["ignore", "pipe", openSync(join(dir, "server.log"), "w")] });
  const ended = new Promise((resolve) => child.once("exit", resolve));
  // Also if no test comes as far as to stop it, such as without a browser: nothing takes time from the next tests.
  process.once("exit", () => child.kill());
  const lines = createInterface({ input: child.stdout });
  let url = null;
  for await (const line of lines) {
    url = /http:\/\/127\.0\.0\.1:\d+/.exec(line)?.[0];
    if (url) break;
  }
  assert(url, "the server ended before it listened");
  lines.close();
  child.stdout.resume();
  const stop = async () => {
    child.kill("SIGTERM");
    await ended;
    remove(dir);
  };
  const key = readFileSync(join(dir, "admin.key"), "utf8").trim();
  return new Server(dir, null, url, key, stop);
}

class Server {
  constructor(dir, link, url, key, stop) {
    Object.assign(this, { dir, link, url, key, stop });
  }

  /** Sends JSON to the API, and gives what it answers. */
  async api(method, path, body, key = this.key) {
    const headers = { Authorization: `Bearer ${key}`, "Content-Type": "application/json" };
    const answer = await fetch(`${this.url}/api/v1${path}`, { method, headers, body: body && JSON.stringify(body) });
    const text = await answer.text();
    assert(answer.ok, `${method} ${path}: ${answer.status} ${text}`);
    return text === "" ? null : JSON.parse(text);
  }

  /** A key with a role. */
  async keyOf(role) {
    return (await this.api("POST", "/keys", { name: `test ${role}`, role })).key;
  }
}

export async function startBrowser() {
  // Beside a server that compiles its plugins, the browser may take longer to start than the usual half a minute.
  const args = ["--no-sandbox", "--disable-dev-shm-usage"];
  return chromium.launch({ executablePath: browserPath, timeout: 180_000, args });
}

/** A page of its own, in a browser without history. `watch.check()` says whether it kept to the rules until now. */
export async function openPage(browser, server, options = {}) {
  const context = await browser.newContext({ viewport: { width: 1280, height: 800 }, locale: "en-GB", timezoneId: "Europe/Berlin", ...options });
  const page = await context.newPage();
  // Two busy cores are slow; who waits in vain still ends.
  page.setDefaultTimeout(60_000);
  const broken = [];
  page.on("request", (request) => {
    const { protocol, origin } = new URL(request.url());
    if (protocol !== "blob:" && origin !== server.url) broken.push(`a request to ${request.url()}`);
  });
  page.on("pageerror", (error) => broken.push(`an error in the page: ${error.stack ?? error}`));
  page.on("dialog", (dialog) => {
    broken.push(`a dialog: ${dialog.message()}`);
    void dialog.dismiss();
  });
  await page.exposeFunction("reportViolation", (what) => broken.push(`the policy was violated: ${what}`));
  await page.addInitScript(() => {
    document.addEventListener("securitypolicyviolation", (event) => {
      window.reportViolation(`${event.violatedDirective} ${event.blockedURI} ${event.sourceFile}:${event.lineNumber} ${event.sample}`);
    });
  });
  return { page, context, watch: { check: () => assert.deepEqual(broken, []) } };
}

/** Signs in with a key, as a person does. */
export async function signIn(page, server, key = server.key, path = "/console/ask") {
  await page.goto(server.url + path);
  await page.getByLabel("API key").fill(key);
  await page.getByRole("button", { name: "Sign in" }).click();
  await page.getByRole("navigation", { name: "Sections" }).waitFor();
}

/** Goes to another page of the console without losing the key, which is kept in memory only. */
export async function visit(page, path) {
  await page.evaluate((path) => {
    history.pushState(null, "", path);
    dispatchEvent(new PopStateEvent("popstate"));
  }, path);
}

/** Keeps new conversations from being made, until what it gives is called. */
export async function holdConversations(page) {
  let release;
  const held = new Promise((resolve) => { release = resolve; });
  await page.route(/\/api\/v1\/conversations$/, async (route) => {
    if (route.request().method() === "POST") await held;
    await route.continue();
  });
  return release;
}

/** Writes into an editor. What is there goes first: over selected text Chromium itself writes styles, which the policy
 * refuses. */
export async function write(page, editor, text) {
  await editor.click();
  await page.keyboard.press("ControlOrMeta+A");
  await page.keyboard.press("Backspace");
  await page.keyboard.insertText(text);
}

/** Runs SQL as the next message and gives the newest answer. */
export async function runSql(page, sql) {
  await page.getByLabel("In SQL").check();
  await write(page, page.locator(".composer .cm-content"), sql);
  await page.getByRole("button", { name: "Run", exact: true }).last().click();
  return page.locator("article.assistant").last();
}

/** What axe finds, and how much wider than the window the page is. The content scrolls by itself, so it is looked at too. */
export async function inspect(page, where) {
  // axe comes through the debugger, past the policy of the page.
  await page.evaluate(axe);
  const found = await page.evaluate(async () => (await window.axe.run()).violations.map((one) => `${one.id}: ${one.nodes.map((node) => node.html.slice(0, 160)).join(" | ")}`));
  const over = await page.evaluate(() => Math.max(...[...document.querySelectorAll("html, main")].map((one) => one.scrollWidth - one.clientWidth)));
  return [...found, ...(over > 0 ? [`${over} px wider than the window`] : [])].map((what) => `${where}: ${what}`);
}

/** Presses Tab until the focus is on what matches, as a person would; fails beyond the bound. */
export async function tabTo(page, locator, most = 60) {
  for (let presses = 0; presses < most; presses++) {
    if (await locator.evaluate((one) => one === document.activeElement).catch(() => false)) return;
    await page.keyboard.press("Tab");
  }
  assert.fail(`${locator} is not reached with ${most} presses of Tab`);
}
