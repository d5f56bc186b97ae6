// Answers that are made without a client: <base url> <key> <mind> <answer>
//
// The Mind's model answers once and is silent from then on; the key may have one answer in the background.

import assert from "node:assert/strict";
import OpenAI, { APIError, RateLimitError } from "openai";

const [baseURL, apiKey, mind, answer] = process.argv.slice(2);
const client = new OpenAI({ baseURL, apiKey, maxRetries: 0, timeout: 60_000 });

const isUnderWay = (response) => ["created", "in_progress"].includes(response.status);
const ask = async () => {
  const response = await client.responses.create({ model: mind, input: "How many?", background: true });
  assert.ok(response.background && isUnderWay(response), response.status);
  return response;
};
const all = async (stream) => {
  const events = [];
  for await (const event of stream) events.push(event);
  return events;
};

// Asked again until it is there.
let response = await ask();
while (isUnderWay(response)) response = await client.responses.retrieve(response.id);
assert.equal(response.status, "completed");
assert.equal(response.output_text, answer);

// The stream of it, from its beginning and from the middle.
const events = await all(await client.responses.retrieve(response.id, { stream: true }));
const rest = await all(await client.responses.retrieve(response.id, { stream: true, starting_after: 4 }));
assert.deepEqual(rest, events.slice(4));
const followed = client.responses.stream({ response_id: response.id, starting_after: 4 });
const seen = (await all(followed)).map((event) => event.sequence_number);
assert.deepEqual(seen, rest.map((event) => event.sequence_number));
assert.equal((await followed.finalResponse()).output_text, answer);

// One more than may be made at once, and the end of the one that is.
const silent = await ask();
const follower = (await client.responses.retrieve(silent.id, { stream: true }))[Symbol.asyncIterator]();
while ((await follower.next()).value.type !== "response.output_text.delta");
await assert.rejects(ask, (error) => {
  assert.ok(error instanceof RateLimitError, error);
  assert.equal(error.code, "rate_limit_exceeded");
  assert.match(error.message, /background/);
  assert.ok(Number(error.headers.get("retry-after")) > 0);
  return true;
});
assert.equal((await client.responses.cancel(silent.id)).status, "cancelled");
await assert.rejects(
  () => follower.next(),
  (error) => error instanceof APIError && error.code === "cancelled",
);
assert.equal((await client.responses.retrieve(silent.id)).status, "cancelled");
console.log("ok");
