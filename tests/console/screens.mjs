// Takes a picture of every page in light, dark and at phone width: `node screens.mjs FOLDER`. For eyes, not for a test.
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { openPage, signIn, startBrowser, startDemo, visit } from "./support.mjs";

const folder = process.argv[2] ?? "screens";
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
  const pages = {
    ask: "/ask",
    conversation: `/ask/${conversation}`,
    data: "/data",
    connect: "/data/new",
    tables: "/data/shop",
    table: "/data/shop/tables/main.orders",
    diagram: "/data/shop/diagram",
    connection: "/data/shop/change",
    minds: "/minds",
    mind: "/minds/manager",
    knowledge: "/minds/analyst/knowledge",
    teach: "/minds/analyst/knowledge/new",
    import: "/minds/analyst/knowledge/import",
    policies: "/minds/analyst/policies",
    policy: "/minds/analyst/policies/shop/main.orders",
    feedback: "/minds/analyst/feedback",
    plugins: "/plugins",
    plugin: "/plugins/connector-sqlite",
    usage: "/operations/usage",
    keys: "/operations/keys",
    providers: "/operations/providers",
    audit: "/operations/audit",
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
      await visit(page, `/console${path}`);
      await page.waitForFunction(() => !document.querySelector(".loading") && document.querySelector("main h1"));
      if (name === "connect") await page.getByText("SQLite", { exact: true }).click();
      if (name === "ask") await page.locator(".suggestions button").first().waitFor();
      if (name === "conversation") {
        await page.locator(".grid-row").nth(2).waitFor();
        await page.locator("details.sql > summary").click();
        await page.locator(".editor .cm-content").waitFor();
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
