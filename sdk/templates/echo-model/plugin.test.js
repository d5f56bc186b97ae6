// Unit tests without a server: `node --test`.

import assert from "node:assert/strict";
import test from "node:test";
import { open, standIn } from "./mindhost/testing.js";
import Echo from "./{{source}}";

test("the question comes back after the greeting", () => {
  standIn();
  const answer = open(Echo, { greeting: "You asked" }).complete("Is anybody there?");
  assert.equal(answer.text, "You asked: Is anybody there?");
  assert.equal(answer.stop, "end");
});

test("a request without text is refused", () => {
  standIn();
  const silent = { messages: [{ role: "user", parts: [] }] };
  assert.throws(() => open(Echo, { greeting: "You asked" }).complete(silent), { kind: "unsupported" });
});
