// Files of a datasource: a directory is connected empty, and filled, changed and emptied from the page.
import assert from "node:assert/strict";
import { test } from "node:test";
import { browser, server } from "./demo.mjs";
import { inspect, openPage, signIn, tabTo, visit } from "./support.mjs";

/** What a drag from the desktop hands over. */
async function drop(page, files) {
  const transfer = await page.evaluateHandle((files) => {
    const transfer = new DataTransfer();
    for (const [name, text] of files) transfer.items.add(new File([text], name));
    return transfer;
  }, files);
  await page.locator(".drop").dispatchEvent("drop", { dataTransfer: transfer });
}

const uploads = (page) => page.getByRole("list", { name: "Uploads" }).getByRole("listitem");
const rows = (page) => page.getByRole("region", { name: "Files" }).getByRole("row");

test("directory is connected without files, and files are dropped, chosen, replaced and deleted", async () => {
  const { page, watch, context } = await openPage(browser, server);
  await signIn(page, server, server.key, "/console/data/new");
  await page.getByRole("radio", { name: /^Files/ }).check();
  await page.getByLabel("Name").fill("sales");
  await page.getByLabel("Path").fill("sales");
  await page.getByRole("button", { name: "Test and connect" }).click();
  await page.getByText("There is no file yet").waitFor();
  assert.deepEqual(await inspect(page, "no file"), []);

  await drop(page, [["items.csv", "id,name\n1,tea\n2,salt\n"], ["orders.csv", "item,total\n1,3.5\n"]]);
  await rows(page).filter({ hasText: "items.csv" }).getByText("21 bytes").waitFor();
  await rows(page).filter({ hasText: "orders.csv" }).waitFor();
  await page.locator("input[type=file]").setInputFiles([
    { name: "stores.csv", mimeType: "text/csv", buffer: Buffer.from("id\n7\n") },
    { name: "items.csv", mimeType: "text/csv", buffer: Buffer.from("id,name\n3,rice\n") },
  ]);
  await rows(page).filter({ hasText: "stores.csv" }).waitFor();
  // One that is there already is refused, and replaced on request.
  const refused = uploads(page).filter({ hasText: "not stored" });
  await refused.getByText(/items\.csv/).first().waitFor();
  await refused.getByText(/Request/).waitFor();
  assert.deepEqual(await inspect(page, "refused file"), []);
  await refused.getByRole("button", { name: "Replace the file that is there" }).click();
  await rows(page).filter({ hasText: "items.csv" }).getByText("15 bytes").waitFor();

  await page.getByRole("button", { name: "Read the catalog" }).click();
  await page.getByRole("button", { name: "Read the catalog" }).waitFor({ state: "hidden" });
  await page.getByRole("link", { name: "Tables", exact: true }).click();
  await page.getByRole("link", { name: "orders", exact: true }).waitFor();

  await page.getByRole("link", { name: "Files", exact: true }).click();
  await page.getByRole("button", { name: "Delete stores.csv" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Delete", exact: true }).click();
  await rows(page).filter({ hasText: "stores.csv" }).waitFor({ state: "detached" });
  assert.deepEqual((await server.api("GET", "/datasources/sales/files")).map((one) => one.name), ["items.csv", "orders.csv"]);
  watch.check();
  await context.close();
});

test("upload that runs is stopped, goes on while one looks elsewhere, and name that is refused says why", async () => {
  await server.api("POST", "/datasources", { name: "slow", engine: "files", connection_data: { path: "slow" } });
  const { page, watch, context } = await openPage(browser, server);
  await signIn(page, server, server.key, "/console/data/slow/files");
  await page.getByText("There is no file yet").waitFor();
  let release;
  const held = new Promise((resolve) => { release = resolve; });
  await page.route("**/datasources/slow/files?*", async (route) => { await held; await route.continue().catch(() => {}); });
  await drop(page, [["first.csv", "a\n1\n"], ["second.csv", "a\n2\n"], ["third.csv", "a\n3\n"], [".hidden", "a\n"]]);
  await uploads(page).nth(0).getByRole("progressbar").waitFor();
  await uploads(page).nth(1).getByText("waits").waitFor();
  const stop = page.getByRole("button", { name: "Stop second.csv" });
  await tabTo(page, stop);
  await page.keyboard.press("Enter");
  await uploads(page).nth(1).getByText("stopped").waitFor();
  await page.getByRole("button", { name: "Stop first.csv" }).click();
  await uploads(page).nth(0).getByText("stopped").waitFor();
  await uploads(page).nth(2).getByRole("progressbar").waitFor();
  await visit(page, "/console/minds");
  await page.getByRole("heading", { name: "Minds", exact: true }).waitFor();
  release();
  await visit(page, "/console/data/slow/files");
  await rows(page).filter({ hasText: "third.csv" }).waitFor();
  await uploads(page).filter({ hasText: ".hidden" }).getByText(/plain file name/).waitFor();
  await page.unroute("**/datasources/slow/files?*");
  await uploads(page).nth(0).getByRole("button", { name: "Try again" }).click();
  await rows(page).filter({ hasText: "first.csv" }).waitFor();
  assert.deepEqual((await server.api("GET", "/datasources/slow/files")).map((one) => one.name), ["first.csv", "third.csv"]);
  watch.check();
  await context.close();
});

test("only datasources that take files have them, for roles that may send some", async () => {
  await server.api("POST", "/datasources", { name: "shelf", engine: "files", connection_data: { path: "shelf" } });
  const shows = async (role, name, titles) => {
    const { page, watch, context } = await openPage(browser, server);
    await signIn(page, server, await server.keyOf(role), `/console/data/${name}/diagram`);
    const links = page.getByRole("navigation", { name: "Views" }).getByRole("link");
    // Whether it takes files may be known after its tables. A page that was idle once, such as before the key was
    // typed, counts as idle, so the last view is waited for as well.
    await links.nth(titles.length - 1).waitFor();
    await page.waitForLoadState("networkidle");
    assert.deepEqual(await links.allTextContents(), titles);
    watch.check();
    await context.close();
  };
  await shows("editor", "shelf", ["Tables", "Diagram", "Files"]);
  await shows("user", "shelf", ["Tables", "Diagram"]);
  await shows("editor", "shop", ["Tables", "Diagram"]);
});

test("file that is dropped beside the field for it does not take the place of the console", async () => {
  const { page, watch, context } = await openPage(browser, server);
  await signIn(page, server, server.key, "/console/data");
  await page.getByRole("heading", { name: "Data", exact: true }).waitFor();
  const stopped = await page.evaluate(() => ["dragover", "drop"].map((type) => {
    const dataTransfer = new DataTransfer();
    dataTransfer.items.add(new File(["id"], "stores.csv"));
    const event = new DragEvent(type, { dataTransfer, bubbles: true, cancelable: true });
    document.querySelector("main").dispatchEvent(event);
    return event.defaultPrevented;
  }));
  assert.deepEqual(stopped, [true, true]);
  watch.check();
  await context.close();
});
