// Unit tests without a server: `node --test`. answer.txt is an answer as the vendor streams it.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import test from "node:test";
import { open, standIn } from "./mindhost/testing.js";
import Vendor from "./{{source}}";

const ANSWER = readFileSync(new URL("answer.txt", import.meta.url), "utf8");
const vendor = () => open(Vendor, { base_url: "http://vendor.test/v1/", model: "parrot-1" });

test("an answer gives its text, its calls of tools, and the tokens that it used", () => {
  const host = standIn({ http: () => ({ body: ANSWER }) });
  const answer = vendor().complete("How many cafés are open?");
  assert.equal(answer.text, "Two cafés, “open”.");
  assert.deepEqual(answer.toolCalls, [
    { id: "call_1", name: "run_sql", arguments: '{"sql": "SELECT 1"}' },
    { id: "call_2", name: "tables", arguments: "{}" },
  ]);
  assert.deepEqual(answer.usage, { input: 12, output: 9 });
  assert.equal(answer.stop, "tool-calls");
  assert.equal(host.requests[0]?.url, "http://vendor.test/v1/chat/completions");
});

test("a conversation is sent as the vendor wants it", () => {
  const host = standIn({ http: () => ({ body: ANSWER }) });
  vendor().complete({
    messages: [
      { role: "system", parts: [{ tag: "text", val: "Be short." }] },
      { role: "assistant", parts: [{ tag: "tool-call", val: { id: "call_1", name: "run_sql", arguments: "{}" } }] },
      { role: "tool", parts: [{ tag: "tool-result", val: { callId: "call_1", content: "[[1]]", isError: false } }] },
    ],
    tools: [{ name: "run_sql", description: "Runs SQL.", parameters: '{"type": "object"}' }],
    toolChoice: "run_sql",
    temperature: 0.5,
  });
  const run_sql = { name: "run_sql" };
  assert.deepEqual(JSON.parse(host.requests[0]?.body ?? ""), {
    model: "parrot-1",
    messages: [
      { role: "system", content: "Be short." },
      {
        role: "assistant",
        content: "",
        tool_calls: [{ id: "call_1", type: "function", function: { ...run_sql, arguments: "{}" } }],
      },
      { role: "tool", tool_call_id: "call_1", content: "[[1]]" },
    ],
    tools: [
      { type: "function", function: { ...run_sql, description: "Runs SQL.", parameters: { type: "object" } } },
    ],
    tool_choice: { type: "function", function: run_sql },
    temperature: 0.5,
    stream: true,
    stream_options: { include_usage: true },
  });
});

test("an answer without its end is the error connection-lost", () => {
  const [half] = ANSWER.split('data: {"choices": [{"index": 0, "delta": {}');
  standIn({ http: () => ({ body: half }) });
  assert.throws(() => vendor().complete("Hello"), { kind: "connection-lost" });
});

test("a refusal has its kind, the vendor's words, and the time to come back at", () => {
  const body = '{"error": {"message": "slow down"}}';
  standIn({ http: () => ({ status: 429, headers: { "retry-after": "7" }, body }) });
  assert.throws(() => vendor().complete("Hello"), { kind: "rate-limited", retryAfterMs: 7000, message: /slow down/ });
});

test("a check needs the model in the vendor's list", () => {
  standIn({ http: () => ({ body: '{"data": [{"id": "parrot-2"}]}' }) });
  const own = new Vendor({ base_url: "http://vendor.test/v1", model: "parrot-1" });
  assert.deepEqual(own.models(), ["parrot-2"]);
  assert.throws(() => own.check(), { kind: "not-found" });
});
