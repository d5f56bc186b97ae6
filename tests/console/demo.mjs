// The server on the demo data and the browser of one file of tests; both end after its last test.
import { after, before } from "node:test";
import { startBrowser, startDemo } from "./support.mjs";

export let server, browser;

before(async () => {
  [server, browser] = await Promise.all([startDemo(), startBrowser()]);
});
after(async () => {
  await browser?.close();
  await server?.stop();
});
