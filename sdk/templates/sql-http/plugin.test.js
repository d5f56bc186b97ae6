// Unit tests without a server: `node --test`. What the engine answers is in fixtures.json; to record it again:
//     python3 server.py env ENGINE={url} RECORD_HTTP=1 node --test

import assert from "node:assert/strict";
import test from "node:test";
import { open, replay } from "./mindhost/testing.js";
import Engine from "./{{source}}";

const CONFIG = { url: "http://engine.test" };
/** What the host adds on a server: it is never written into the fixtures. */
const headers = { authorization: "Bearer open sesame" };
const host = replay(new URL("fixtures.json", import.meta.url), {
  headers,
  servers: { [CONFIG.url]: process.env.ENGINE },
});

test("a statement gives its columns and rows", () => {
  const { columns, rows } = open(Engine, CONFIG).query("select name, gravity from planets order by name limit 2");
  assert.deepEqual(columns, ["name", "gravity"]);
  assert.deepEqual(rows, [["Earth", 9.8], ["Jupiter", 23.1]]);
  assert.equal(host.requests.at(-1)?.headers.find(([name]) => name === "x-timeout-ms")?.[1], "60000");
});

test("what the engine refuses is an error in its own words", () => {
  const engine = open(Engine, CONFIG);
  assert.throws(() => engine.query("select name from nowhere"), {
    kind: "invalid-statement",
    code: "400",
    message: "no such table: nowhere",
  });
});
