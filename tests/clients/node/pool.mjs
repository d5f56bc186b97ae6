// The connection pool of Node's fetch at a rate limit: <url> <key>
//
// Whatever is refused, the next request on the connection is innocent.

import assert from "node:assert/strict";

const [url, key] = process.argv.slice(2);
const headers = { authorization: `Bearer ${key}`, "content-type": "application/json" };

// A body that comes in pieces goes out behind the head.
async function* pieces() {
  yield '{"metadata": ';
  await new Promise((resolve) => setTimeout(resolve, 1));
  yield '{"note": "x"}}';
}

const seen = new Set();
for (let round = 0; round < 100; round += 1) {
  const body = round % 2 ? '{"metadata": {"note": "x"}}' : ReadableStream.from(pieces());
  const request = { method: "POST", headers, body, duplex: "half" };
  const refused = await fetch(`${url}/api/v1/conversations`, request);
  await refused.text();
  seen.add(refused.status);
  const health = await fetch(`${url}/healthz`);
  await health.text();
  assert.equal(health.status, 200);
}
assert.deepEqual([...seen].sort(), [200, 429]);
console.log("ok");
