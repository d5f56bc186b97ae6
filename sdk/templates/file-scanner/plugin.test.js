// Unit tests without a server: `node --test`.

import assert from "node:assert/strict";
import test from "node:test";
import { open, standIn } from "./mindhost/testing.js";
import Planets from "./{{source}}";

test("the rows of the file have the types of the columns", () => {
  standIn();
  const rows = open(Planets, { path: "planets.jsonl" }).scan("planets", { columns: ["name", "discovered"] });
  assert.equal(rows.length, 8);
  assert.deepEqual(rows.at(-1), { name: "Neptune", discovered: "1846-09-23" });
});

test("a file that is not there is an error that names it", () => {
  standIn();
  const missing = open(Planets, { path: "nowhere.jsonl" });
  assert.throws(() => missing.scan("planets"), { kind: "not-found", message: /nowhere.jsonl/ });
});
