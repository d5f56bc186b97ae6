// The diagram of many tables: no box over another, no long strip, tables found, moved to, and told from the others.
import assert from "node:assert/strict";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { before, test } from "node:test";
import { browser, server } from "./demo.mjs";
import { inspect, openPage, signIn, tabTo } from "./support.mjs";

const TABLES = 300;

/** Which table a table refers to: none, one that many refer to, the one before it, or one nearby. */
function targets(index) {
  if (index < 20) return index % 4 === 0 ? [] : [index - 1];
  if (index < 120) return [index % 7, ...(index % 5 === 0 ? [index - 3] : [])];
  if (index < 200) return index === 120 ? [] : [index - 1];
  if (index < 260) return index % 6 === 0 ? [] : [index - (index % 6)];
  return [];
}

before(async () => {
  const database = new DatabaseSync(join(server.dir, "files/default/many.db"));
  for (let index = 0; index < TABLES; index++) {
    const own = Array.from({ length: index % 9 }, (_, place) => `, value_${place} TEXT`).join("");
    const keys = targets(index).map((to) => `, to_${to} INTEGER REFERENCES t${to}_things (id)`).join("");
    database.exec(`CREATE TABLE t${index}_things (id INTEGER PRIMARY KEY${own}${keys})`);
  }
  database.close();
  await server.api("POST", "/datasources", { name: "many", engine: "sqlite", connection_data: { path: "many.db" } });
  await server.api("POST", "/datasources/many/catalog/refresh?wait=300", {});
});

/** Boxes of the drawing, in its own units, and its size. */
const drawn = (page) => page.evaluate(() => {
  const boxes = [...document.querySelectorAll(".diagram .box")].map((one) => {
    const { e: x, f: y } = one.transform.baseVal[0].matrix;
    const { width, height } = one.querySelector("rect").getBBox();
    return { x, y, width, height };
  });
  const { width, height } = document.querySelector(".diagram svg").viewBox.baseVal;
  return { boxes, width, height };
});

/** Whether a table is within what is seen of the diagram. */
const isSeen = (page, name) => page.waitForFunction((name) => {
  const frame = document.querySelector(".diagram").getBoundingClientRect();
  const box = [...document.querySelectorAll(".diagram .box")].find((one) => one.querySelector(".name").textContent === name).getBoundingClientRect();
  return box.left >= frame.left && box.right <= frame.right && box.top >= frame.top && box.bottom <= frame.bottom;
}, name);

test("three hundred tables are laid out without overlap, and not as a strip", async () => {
  const { page, watch, context } = await openPage(browser, server);
  await signIn(page, server, server.key, "/console/data/many/diagram");
  await page.getByText(`${TABLES} tables, `).waitFor();
  const { boxes, width, height } = await drawn(page);
  assert.equal(boxes.length, TABLES);
  const over = boxes.flatMap((a, index) => boxes.slice(index + 1).filter((b) => a.x < b.x + b.width && b.x < a.x + a.width && a.y < b.y + b.height && b.y < a.y + a.height));
  assert.deepEqual(over, []);
  for (const { x, y, width: wide, height: high } of boxes) assert(x >= 0 && y >= 0 && x + wide <= width && y + high <= height);
  assert(width / height > 0.6 && width / height < 3, `${width} to ${height}`);
  const used = boxes.reduce((sum, one) => sum + one.width * one.height, 0) / (width * height);
  assert(used > 0.3, `boxes fill ${used} of the drawing`);
  assert.deepEqual(await inspect(page, "diagram of many tables"), []);
  watch.check();
  await context.close();
});

test("search brings a table into view, marks it and its neighbours, and dims the others", async () => {
  const { page, watch, context } = await openPage(browser, server);
  await signIn(page, server, server.key, "/console/data/many/diagram");
  const field = page.getByRole("searchbox", { name: "Find a table" });
  await tabTo(page, field);
  await page.keyboard.type("t257_");
  await page.getByText("1 of 1 match").waitFor();
  await isSeen(page, "t257_things");
  const classes = (name) => page.locator(".diagram .box").filter({ hasText: name }).first().getAttribute("class");
  assert.equal(await classes("t257_things"), "box marked");
  assert.equal(await classes("t252_things"), "box none");
  assert.equal(await classes("t100_things"), "box dim");
  assert.equal(await page.locator(".diagram .line.marked").count(), 1);
  // Enter goes to the next one.
  await field.fill("t29");
  await page.getByText("1 of 11 matches").waitFor();
  await isSeen(page, "t29_things");
  await field.press("Enter");
  await page.getByText("2 of 11 matches").waitFor();
  await isSeen(page, "t290_things");
  await field.fill("nothing");
  await page.getByText("No table has such a name").waitFor();
  assert.equal(await page.locator(".diagram .dim").count(), 0);
  await field.fill("t42_things");
  await page.getByRole("search").getByRole("link", { name: "t42_things" }).click();
  await page.getByRole("heading", { name: "t42_things" }).waitFor();
  watch.check();
  await context.close();
});

test("diagram is shown as a whole, zoomed around the pointer, and moved by dragging", async () => {
  const { page, watch, context } = await openPage(browser, server);
  await signIn(page, server, server.key, "/console/data/many/diagram");
  const frame = page.getByRole("region", { name: "Diagram of tables" });
  await page.getByRole("button", { name: "Show all" }).click();
  await page.waitForFunction(() => { const { scrollWidth, clientWidth, scrollHeight, clientHeight } = document.querySelector(".diagram"); return scrollWidth <= clientWidth && scrollHeight <= clientHeight; });
  const { x, y, width, height } = await frame.boundingBox();
  const pointer = [x + width * 0.3, y + height * 0.4];
  const under = () => page.evaluate(([x, y]) => {
    const { left, top, width } = document.querySelector(".diagram svg").getBoundingClientRect();
    const { width: units } = document.querySelector(".diagram svg").viewBox.baseVal;
    return [((x - left) / width) * units, ((y - top) / width) * units, width / units];
  }, pointer);
  const [oldX, oldY, oldScale] = await under();
  await page.mouse.move(...pointer);
  await page.keyboard.down("Control");
  for (let turn = 0; turn < 4; turn++) await page.mouse.wheel(0, -200);
  await page.keyboard.up("Control");
  await page.waitForFunction((old) => { const svg = document.querySelector(".diagram svg"); return svg.getBoundingClientRect().width / svg.viewBox.baseVal.width > 5 * old; }, oldScale);
  const [newX, newY, newScale] = await under();
  // A pixel is as wide as one over the scale.
  assert(Math.hypot(newX - oldX, newY - oldY) < 4 / newScale + 2 / oldScale, `${[oldX, oldY]} is at ${[newX, newY]}`);
  // Dragging moves it as far as the pointer, and opens no table where it ends.
  const scrolled = () => frame.evaluate((one) => [one.scrollLeft, one.scrollTop]);
  const [left, top] = await scrolled();
  await page.mouse.down();
  await page.mouse.move(pointer[0] - 60, pointer[1] - 40, { steps: 4 });
  await page.mouse.move(pointer[0] - 120, pointer[1] - 80, { steps: 4 });
  await page.mouse.up();
  const moved = await scrolled();
  assert(Math.abs(moved[0] - left - 120) <= 1 && Math.abs(moved[1] - top - 80) <= 1, `${[left, top]} to ${moved}`);
  assert(page.url().endsWith("/diagram"));
  // A press that ends outside of it moves nothing afterwards.
  await page.mouse.move(x + 3, y + 60);
  await page.mouse.down();
  await page.mouse.move(x - 100, y + 60);
  await page.mouse.up();
  await page.mouse.move(x + 200, y + 200, { steps: 4 });
  assert.deepEqual(await scrolled(), moved);
  // By keyboard: the arrows scroll.
  await frame.focus();
  await page.keyboard.press("ArrowRight");
  await page.waitForFunction((left) => document.querySelector(".diagram").scrollLeft > left, moved[0]);
  watch.check();
  await context.close();
});

test("diagram stays where it was scrolled to after a zoom that changed nothing", async () => {
  const { page, watch, context } = await openPage(browser, server);
  await signIn(page, server, server.key, "/console/data/many/diagram");
  await page.getByText(`${TABLES} tables, `).waitFor();
  const larger = page.getByRole("button", { name: "Larger" });
  const width = () => page.locator(".diagram svg").evaluate((one) => one.getAttribute("width"));
  for (let before = null, now = await width(); before !== now; [before, now] = [now, await width()]) await larger.click();
  await larger.click();
  const frame = page.locator(".diagram");
  await frame.evaluate((one) => one.scrollTo(0, 0));
  // A table that is pointed at draws the page again.
  await frame.locator(".table-box").first().evaluate((one) => one.focus({ preventScroll: true }));
  await page.locator(".diagram .box.marked").waitFor({ state: "attached" });
  assert.deepEqual(await frame.evaluate((one) => [one.scrollLeft, one.scrollTop]), [0, 0]);
  watch.check();
  await context.close();
});

test("table that is not drawn among more than five hundred is found all the same", async () => {
  const { page, watch, context } = await openPage(browser, server);
  await page.route(/\/datasources\/many\/catalog$/, async (route) => {
    const answer = await route.fetch();
    const catalog = await answer.json();
    const tables = Array.from({ length: 600 }, (_, index) => ({ ...catalog.tables[0], name: `wide_${index}`, foreign_key_constraints: [] }));
    await route.fulfill({ response: answer, json: { ...catalog, tables } });
  });
  await signIn(page, server, server.key, "/console/data/many/diagram");
  await page.getByLabel("Find a table").fill("wide_599");
  await page.getByText("Not among the tables that are drawn:").waitFor();
  await page.getByRole("link", { name: "wide_599" }).click();
  await page.getByRole("heading", { name: "wide_599" }).waitFor();
  watch.check();
  await context.close();
});
