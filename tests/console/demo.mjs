// The server on the demo data and the browser of one file of tests; both end after its last test.
import { after } from "node:test";
import { startBrowser, startDemo } from "./support.mjs";

export const [server, browser] = await Promise.all([startDemo(), startBrowser()]);

after(async () => {
  try {
    await browser.close();
  } finally {
    await server.stop();
  }
});
