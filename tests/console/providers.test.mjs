// Model providers: added with the form of their plugin, tried first, changed without their secrets, deleted.
import assert from "node:assert/strict";
import { createServer } from "node:http";
import { after, before, test } from "node:test";
import { browser, server } from "./demo.mjs";
import { inspect, openPage, signIn, visit } from "./support.mjs";

const KEY = "sk-never-shown-again";

/** A vendor that lists one model to whoever has the key, and notes what it was asked. */
const asked = [];
const vendor = createServer((request, response) => {
  asked.push(`${request.url} ${request.headers.authorization}`);
  const isKnown = request.headers.authorization === `Bearer ${KEY}`;
  const body = isKnown ? { object: "list", data: [{ id: "small-1", object: "model" }] } : { error: { message: "This key is not known to the vendor." } };
  response.writeHead(isKnown ? 200 : 401, { "Content-Type": "application/json" }).end(JSON.stringify(body));
});
let address;
before(async () => {
  await new Promise((resolve) => vendor.listen(0, "127.0.0.1", resolve));
  address = `http://127.0.0.1:${vendor.address().port}/v1`;
});
after(() => vendor.close());

test("provider is added with its plugin's form and a secret, changed without it, and deleted", async () => {
  const { page, watch, context } = await openPage(browser, server);
  await signIn(page, server, server.key, "/console/operations/providers");
  await page.getByRole("link", { name: "Add a provider" }).click();
  await page.getByRole("radio", { name: /OpenAI-compatible/ }).check();
  await page.getByLabel("Name", { exact: true }).fill("vendor");
  const secret = page.getByLabel(/^API key/);
  assert.equal(await secret.getAttribute("type"), "password");
  await secret.fill("sk-wrong");
  await page.getByText("More settings").click();
  await page.getByLabel(/^Base URL/).fill(address);
  await page.getByLabel(/^Model/).fill("small-1");
  assert.deepEqual(await inspect(page, "form of a provider"), []);
  await page.getByRole("button", { name: "Test and add" }).click();
  await page.getByRole("alert").getByText(/not known to the vendor/).waitFor();
  await page.getByRole("alert").getByText(/Request/).waitFor();
  assert(!(await server.api("GET", "/providers")).some((one) => one.name === "vendor"));
  await secret.fill(KEY);
  await page.getByRole("button", { name: "Test and add" }).click();
  await page.getByRole("link", { name: "vendor" }).click();

  // The secret is in no field and nowhere in the page; left empty, it is kept.
  await page.getByRole("heading", { name: "Change vendor" }).waitFor();
  assert.equal(await secret.inputValue(), "");
  assert.equal(await secret.getAttribute("placeholder"), "stored; leave empty to keep it");
  assert(!(await page.content()).includes(KEY));
  assert.deepEqual(await page.locator("input").evaluateAll((all, key) => all.filter((one) => one.value.includes(key)).length, KEY), 0);
  assert.deepEqual(await inspect(page, "change of a provider"), []);
  await page.getByText("More settings").click();
  await page.getByLabel(/^Model/).fill("");
  await page.getByLabel(/^Temperature/).fill("0.5");
  await page.getByLabel(/^Description/).fill("For tests");
  asked.length = 0;
  await page.getByRole("button", { name: "Test and save" }).click();
  await page.getByText("For tests").waitFor();
  assert(asked.length > 0 && asked.every((one) => one.endsWith(`Bearer ${KEY}`)), asked.join());
  const { connection_data } = await server.api("GET", "/providers/vendor");
  assert.deepEqual(connection_data, { api_key: "********", base_url: address, temperature: 0.5 });

  // A stored secret that the form does not need is removed on request.
  await page.getByRole("link", { name: "vendor" }).click();
  await page.getByRole("checkbox", { name: /^Remove the stored one of API key/ }).check();
  assert.equal(await secret.isDisabled(), true);
  assert.deepEqual(await inspect(page, "removal of a secret"), []);
  await page.getByRole("button", { name: "Test and save" }).click();
  // This vendor answers no request without it, so the server stores nothing.
  await page.getByRole("alert").getByText(/not known to the vendor/).waitFor();
  assert.equal(asked.at(-1), "/v1/models undefined");
  await page.getByRole("link", { name: "All providers" }).click();
  await page.getByRole("button", { name: "Delete vendor" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Delete", exact: true }).click();
  await page.getByRole("link", { name: "vendor" }).waitFor({ state: "detached" });
  watch.check();
  await context.close();
});

test("provider that a Mind uses is not deleted, and another becomes the default", async () => {
  await server.api("POST", "/providers", { name: "second", plugin: "model-offline" });
  await server.api("POST", "/minds", { name: "second_mind", datasources: ["shop"], provider: "second" });
  const { page, watch, context } = await openPage(browser, server);
  await signIn(page, server, server.key, "/console/operations/providers");
  await page.getByRole("button", { name: "Delete second" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Delete", exact: true }).click();
  await page.getByRole("dialog").getByText(/resource_in_use/).waitFor();
  await page.getByRole("button", { name: "Cancel" }).click();
  await page.getByRole("link", { name: "second" }).click();
  await page.getByLabel("Name", { exact: true }).fill("third");
  await page.getByRole("checkbox", { name: /New Minds use it/ }).check();
  await page.getByRole("button", { name: "Test and save" }).click();
  await page.getByRole("listitem").filter({ hasText: "third" }).getByText("new Minds use it").waitFor();
  assert.deepEqual((await server.api("GET", "/providers")).filter((one) => one.default).map((one) => one.name), ["third"]);
  await page.getByRole("button", { name: "Use for new Minds: offline" }).click();
  await page.getByRole("listitem").filter({ hasText: "offline" }).getByText("new Minds use it").waitFor();
  await server.api("DELETE", "/minds/second_mind");
  await server.api("DELETE", "/providers/third");
  watch.check();
  await context.close();
});

test("providers are no page for those who may not change them", async () => {
  const { page, watch, context } = await openPage(browser, server);
  await signIn(page, server, await server.keyOf("editor"));
  for (const path of ["/operations/providers", "/operations/providers/new", "/operations/providers/offline"]) {
    await visit(page, "/console/operations/usage");
    await page.getByRole("heading", { name: "Operations" }).waitFor();
    await visit(page, `/console${path}`);
    await page.getByRole("heading", { name: "There is no such page" }).waitFor();
  }
  watch.check();
  await context.close();
});
