// Chat completions of the official client, unchanged: <base url> <key> <mind> <answer>

import assert from "node:assert/strict";
import OpenAI, { APIError, NotFoundError } from "openai";

const [baseURL, apiKey, mind, answer] = process.argv.slice(2);
const client = new OpenAI({ baseURL, apiKey, maxRetries: 0, timeout: 60_000 });
const messages = [
  { role: "system", content: "Be brief." },
  { role: "user", content: "How many items are there?" },
];
const ask = (more) => client.chat.completions.create({ model: mind, messages, ...more });
const all = async (stream) => {
  const chunks = [];
  for await (const chunk of stream) chunks.push(chunk);
  return chunks;
};
const text = (chunks) => chunks.map((chunk) => chunk.choices[0]?.delta.content ?? "").join("");

// Without a stream.
const whole = await ask();
assert.equal(whole.object, "chat.completion");
assert.equal(whole.model, mind);
assert.equal(whole.choices[0].message.content, answer);
assert.equal(whole.choices[0].finish_reason, "stop");
assert.equal(whole.usage.total_tokens, whole.usage.prompt_tokens + whole.usage.completion_tokens);

// With a stream: every chunk has a delta, the first one's text is empty.
let chunks = await all(await ask({ stream: true }));
assert.ok(chunks.every((chunk) => chunk.id === chunks[0].id));
assert.deepEqual(chunks[0].choices[0].delta, { role: "assistant", content: "" });
assert.equal(text(chunks), answer);
assert.equal(chunks.at(-1).choices[0].finish_reason, "stop");

// With the usage at its end.
chunks = await all(await ask({ stream: true, stream_options: { include_usage: true } }));
assert.deepEqual(chunks.at(-1).choices, []);
assert.ok(chunks.at(-1).usage.total_tokens > 0);

// The helper that puts a stream together.
const stream = client.chat.completions.stream({ model: mind, messages });
assert.equal(await stream.finalContent(), answer);

// Errors: before the answer, and in the middle of a stream.
await assert.rejects(
  () => ask({ model: "nobody" }),
  (error) => error instanceof NotFoundError && error.code === "mind_not_found",
);
await assert.rejects(
  async () => all(await ask({ stream: true })),
  (error) => error instanceof APIError && typeof error.code === "string",
);
console.log("ok");
