// Unit tests without a server: `node --test`. What the API answers is in fixtures.json; to record it again:
//     python3 server.py env API={url} RECORD_HTTP=1 node --test

import assert from "node:assert/strict";
import test from "node:test";
import { open, replay, standIn } from "./mindhost/testing.js";
import Shop from "./{{source}}";

const CONFIG = { url: "http://shop.test" };
const fixtures = () => replay(new URL("fixtures.json", import.meta.url), {
  // What the host adds on a server: it is never written into the fixtures.
  headers: { authorization: "Bearer open sesame" },
  servers: { [CONFIG.url]: process.env.API },
});

test("pages are read one after another, and asked for again where the API is busy", () => {
  const host = fixtures();
  const shop = open(Shop, CONFIG);
  const orders = shop.scan("orders");
  assert.equal(orders.length, 60);
  assert.deepEqual(orders.at(-1), {
    id: 1059, customer_id: 24, status: "cancelled", total: "183.67", placed_at: "2024-01-13T16:30:00Z",
  });
  assert.deepEqual(host.slept, [0, 0]);
  assert.equal(shop.scan("customers", { columns: ["id"] }).length, 30);

  const filters = [{ column: "status", op: "eq", values: ["cancelled"] }];
  const cancelled = shop.scan("orders", { columns: ["id"], filters, limit: 3 });
  assert.deepEqual(cancelled, [{ id: 1003 }, { id: 1007 }, { id: 1011 }]);
  assert.equal(host.requests.at(-1)?.url, "http://shop.test/orders?status=cancelled&limit=3");
});

test("a token that the API refuses is an error of the kind auth", () => {
  standIn({ http: () => ({ status: 401 }) });
  assert.throws(() => open(Shop, CONFIG).scan("orders"), { kind: "auth" });
});

test("a page of another form is an error that says so", () => {
  standIn({ http: () => ({ body: "[]" }) });
  assert.throws(() => open(Shop, CONFIG).scan("orders"), { kind: "upstream", message: /without customers/ });
});
