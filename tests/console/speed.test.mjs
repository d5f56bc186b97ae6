// How fast the console is: its first load, a long result under the wheel, and an answer as it arrives. The figures are
// printed. What is compared with a bar is the work of the page itself, or the best of several loads, so that a busy
// machine does not fail it.
import assert from "node:assert/strict";
import { test } from "node:test";
import { browser, server } from "./demo.mjs";
import { openPage, signIn, visit } from "./support.mjs";

const FIRST_LOAD_BYTES = 200_000;
const READY_MS = 1000;
const FRAME_MS = 50;
const DELTA_MS = 50;
const ROWS = 100_000;
const PASSES = 3;
/** Of the first load, which is measured by the clock: processes of earlier tests may be busy for a while. */
const LOADS = 12;

const sorted = (numbers) => [...numbers].sort((a, b) => a - b);
const at = (numbers, share) => sorted(numbers)[Math.min(Math.floor(numbers.length * share), numbers.length - 1)] ?? 0;
const figures = (numbers) => `median ${at(numbers, 0.5).toFixed(1)}, 95 % ${at(numbers, 0.95).toFixed(1)}, most ${Math.max(...numbers).toFixed(1)} ms`;

/** The tasks of the page's own thread in a trace, in milliseconds, by processor time where the trace has it. */
function tasks(trace) {
  const events = JSON.parse(trace.toString()).traceEvents;
  const main = new Set(events.filter((one) => one.name === "thread_name" && one.args.name === "CrRendererMain").map((one) => `${one.pid}/${one.tid}`));
  const own = events.filter((one) => one.ph === "X" && /RunTask$/.test(one.name) && main.has(`${one.pid}/${one.tid}`));
  assert(own.length > 100, `the trace has ${own.length} tasks`);
  return { wall: own.map((one) => one.dur / 1000), work: own.map((one) => (one.tdur ?? one.dur) / 1000) };
}

async function traced(page, act) {
  await browser.startTracing(page, { categories: ["toplevel", "devtools.timeline", "disabled-by-default-devtools.timeline"] });
  let trace;
  try {
    await act();
  } finally {
    trace = await browser.stopTracing();
  }
  return tasks(trace);
}

/** Loads the console as one who has never been here, then as one who is signed in. */
async function firstLoad() {
  const { page, watch, context } = await openPage(browser, server);
  const sizes = new Map();
  page.on("response", (response) => {
    const { pathname } = new URL(response.url());
    if (pathname.startsWith("/console")) sizes.set(pathname, response.request().sizes().then((size) => size.responseBodySize));
  });
  const ready = () => page.evaluate(() => new Promise((resolve) => requestAnimationFrame(() => resolve(performance.now()))));
  await page.goto(`${server.url}/console/ask`);
  await page.getByLabel("API key").waitFor();
  const cold = await ready();
  const bytes = (await Promise.all(sizes.values())).reduce((sum, size) => sum + size, 0);
  await page.getByLabel(/Stay signed in/).check();
  await page.getByLabel("API key").fill(server.key);
  await page.getByRole("button", { name: "Sign in" }).click();
  await page.getByLabel("Question", { exact: true }).waitFor();
  await page.reload();
  await page.getByLabel("Question", { exact: true }).waitFor();
  const warm = await ready();
  watch.check();
  await context.close();
  return { bytes, files: sizes.size, cold, warm };
}

test("first load is small and soon ready", async (t) => {
  // What is slow by itself is slow each time; what had to wait for other programs is not.
  const times = [];
  while (times.length < LOADS && !times.some((one) => one <= READY_MS)) {
    const { bytes, files, cold, warm } = await firstLoad();
    t.diagnostic(`first load ${(bytes / 1000).toFixed(1)} kB in ${files} files; sign-in ready after ${cold.toFixed(0)} ms, the page to ask after ${warm.toFixed(0)} ms`);
    assert(bytes > 10_000 && bytes <= FIRST_LOAD_BYTES, `${bytes} bytes`);
    times.push(Math.max(cold, warm));
  }
  assert(Math.min(...times) <= READY_MS, `ready after ${times.map((one) => one.toFixed(0))} ms`);
});

test("a hundred thousand rows scroll without a long frame", async (t) => {
  const { page, watch, context } = await openPage(browser, server);
  await signIn(page, server);
  const sql = `SELECT o.id, n.n, o.status, o.channel, o.voucher, o.total, o.ordered_at FROM orders o, (SELECT 1 AS n UNION ALL SELECT 2 UNION ALL SELECT 3) n ORDER BY o.id, n.n LIMIT ${ROWS}`;
  const made = await server.api("POST", "/responses", { model: "analyst", tools: [{ type: "sql_query", query: sql, max_inline_rows: 1 }] });
  await visit(page, `/console/ask/${made.conversation.id}`);
  await page.getByText("100,000 rows").waitFor();
  const grid = page.getByRole("table", { name: "Rows of the result" });
  await grid.getByRole("rowheader").first().waitFor();
  const scroll = () => grid.evaluate(async (grid) => {
    const frame = () => new Promise((resolve) => requestAnimationFrame(resolve));
    const times = [];
    grid.scrollTop = 0;
    await frame();
    // Row by row, page by page, and in leaps to the end.
    for (const [step, frames] of [[90, 150], [1500, 150], [30_000, 100]]) {
      for (let count = 0; count < frames; count++) {
        grid.scrollTop += step;
        times.push(await frame());
      }
    }
    // Handed over after the trace: it takes longer than any frame.
    window.intervals = times.slice(1).map((time, index) => time - times[index]);
  });
  // A frame that is slow by itself is slow each time; one that had to wait for other programs is not.
  const longest = [];
  while (longest.length < PASSES && !longest.some((one) => one <= FRAME_MS)) {
    const { wall, work } = await traced(page, scroll);
    const intervals = await page.evaluate(() => window.intervals);
    await grid.getByRole("cell", { name: "33334", exact: true }).first().waitFor();
    longest.push(Math.max(...work));
    t.diagnostic(`frames: ${figures(intervals)}; tasks by the clock: ${figures(wall)}; their own work: ${figures(work)}`);
    t.diagnostic(`frames above ${FRAME_MS} ms: ${intervals.filter((one) => one > FRAME_MS).length} of ${intervals.length}`);
  }
  assert((await grid.getByRole("row").count()) < 60, "rows out of view are in the page");
  assert(Math.min(...longest) <= FRAME_MS, `the longest tasks work ${longest.map((one) => one.toFixed(1))} ms`);
  watch.check();
  await context.close();
});

for (const [where, stored] of [["", 0], [" below a hundred stored ones", 100]]) test(`delta of a long answer${where} is soon on the screen`, async (t) => {
  const { page, watch, context } = await openPage(browser, server);
  await signIn(page, server);
  if (stored > 0) {
    const text = Array.from({ length: 12 }, (_, index) => `- **Point ${index}** of the \`answer\`, with some words behind it.`).join("\n");
    const { id } = await server.api("POST", "/conversations", { metadata: { title: "Long" } });
    for (let from = 0; from < stored; from += 10) {
      const items = Array.from({ length: 10 }, (_, index) => [
        { type: "message", role: "user", content: `Question ${from + index}` },
        { type: "message", role: "assistant", content: text },
      ]);
      await server.api("POST", `/conversations/${id}/items`, { items: items.flat() });
    }
    await visit(page, `/console/ask/${id}`);
    await page.locator("article.assistant").nth(stored - 1).waitFor();
  }
  // The stream is made in the page, so that the moment of each arrival is known exactly.
  await page.evaluate(() => {
    const real = window.fetch;
    window.pass = 0;
    [window.arrived, window.shown] = [[], []];
    window.fetch = async (request, init) => {
      if (!new URL(request.url ?? request, location.href).pathname.endsWith("/api/v1/responses")) return real(request, init);
      const encoder = new TextEncoder();
      const send = (controller, event) => controller.enqueue(encoder.encode(`data: ${JSON.stringify(event)}\n\n`));
      const body = new ReadableStream({
        async start(controller) {
          send(controller, { type: "response.output_item.added", item: { id: "11111111-1111-4111-8111-111111111111" } });
          for (let index = 0; index < 300; index++) {
            await new Promise((resolve) => requestAnimationFrame(() => setTimeout(resolve)));
            window.arrived.push(performance.now());
            send(controller, { type: "response.output_text.delta", delta: `word-${window.pass}-${index}. **Some** more of the \`answer\`${index % 10 === 9 ? "\n\n- " : " "}` });
          }
          controller.close();
        },
      });
      return new Response(body, { headers: { "Content-Type": "text/event-stream" } });
    };
    new MutationObserver(() => {
      const text = document.querySelector("article.assistant:last-of-type .prose")?.textContent ?? "";
      while (text.includes(`word-${window.pass}-${window.shown.length}.`)) {
        const own = window.shown.push(0) - 1;
        // After the frame that paints it.
        requestAnimationFrame(() => setTimeout(() => (window.shown[own] = performance.now())));
      }
    }).observe(document.querySelector("main"), { childList: true, subtree: true, characterData: true });
  });
  // A task that is slow by itself is slow each time; one that had to wait for other programs is not.
  const longest = [];
  while (longest.length < PASSES && !longest.some((one) => one <= DELTA_MS)) {
    await page.evaluate(() => {
      window.pass++;
      [window.arrived, window.shown] = [[], []];
    });
    await page.getByLabel("Question", { exact: true }).fill(`A long answer, ${longest.length}`);
    const { work } = await traced(page, async () => {
      await page.keyboard.press("Enter");
      await page.waitForFunction(() => window.shown.length === 300 && window.shown.every((time) => time > 0));
    });
    const delays = await page.evaluate(() => window.shown.map((time, index) => time - window.arrived[index]));
    longest.push(Math.max(...work));
    t.diagnostic(`from arrival to paint: ${figures(delays)}; own work of tasks: ${figures(work)}`);
    t.diagnostic(`deltas above ${DELTA_MS} ms: ${delays.filter((one) => one > DELTA_MS).length} of ${delays.length}`);
    await page.getByRole("button", { name: "Ask", exact: true }).waitFor();
  }
  assert(Math.min(...longest) <= DELTA_MS, `the longest tasks work ${longest.map((one) => one.toFixed(1))} ms`);
  watch.check();
  await context.close();
});
