// The official client, unchanged, against a running server: <base url> <key> <mind> <answer>

import assert from "node:assert/strict";
import OpenAI, { NotFoundError } from "openai";

const [baseURL, apiKey, mind, answer] = process.argv.slice(2);
const client = new OpenAI({ baseURL, apiKey, maxRetries: 0, timeout: 60_000 });

const all = async (stream) => {
  const events = [];
  for await (const event of stream) events.push(event);
  return events;
};
const isDelta = (event) => event.type === "response.output_text.delta";
const text = (events) => events.filter(isDelta).map((event) => event.delta).join("");
const gone = (id) =>
  assert.rejects(
    () => client.responses.retrieve(id),
    (error) => error instanceof NotFoundError && error.code === "response_not_found",
  );

// Without a stream.
const response = await client.responses.create({ model: mind, input: "How many items are there?" });
assert.equal(response.status, "completed");
assert.equal(response.output_text, answer);
assert.equal(response.model, mind);
assert.ok(response.usage.total_tokens > 0);

// Every event of a stream, in order.
let events = await all(await client.responses.create({ model: mind, input: "And now?", stream: true }));
const deltas = events.filter(isDelta);
assert.ok(deltas.length > 1);
assert.deepEqual(
  events.map((event) => event.type),
  [
    "response.created",
    "response.in_progress",
    "response.output_item.added",
    "response.content_part.added",
    ...deltas.map((event) => event.type),
    "response.output_text.done",
    "response.content_part.done",
    "response.output_item.done",
    "response.completed",
  ],
);
assert.deepEqual(
  events.map((event) => event.sequence_number),
  events.map((_, index) => index + 1),
);
assert.equal(text(events), answer);

// The helper that follows a stream and puts the answer together.
const conversation = await client.conversations.create();
const stream = client.responses.stream({ model: mind, input: "Once more?", conversation: conversation.id });
let pieces = "";
stream.on("response.output_text.delta", (event) => (pieces += event.delta));
const final = await stream.finalResponse();
assert.equal(pieces, answer);
assert.equal(final.output_text, answer);
assert.equal(final.conversation.id, conversation.id);

// What the conversation holds now.
const items = await all(client.conversations.items.list(conversation.id, { order: "asc" }));
assert.deepEqual(
  items.map((item) => [item.role, item.content[0].text]),
  [
    ["user", "Once more?"],
    ["assistant", answer],
  ],
);

// Another turn, by the conversation and by the response before it.
const second = await client.responses.create({
  model: mind,
  input: "And yesterday?",
  conversation: { id: conversation.id },
});
const third = await client.responses.create({ model: mind, input: "And today?", previous_response_id: second.id });
assert.equal(third.previous_response_id, second.id);
assert.equal(third.conversation.id, conversation.id);
assert.equal((await all(client.conversations.items.list(conversation.id))).length, 6);

// Messages with roles and parts, and everything that goes with a question.
const whole = await client.responses.create({
  model: mind,
  instructions: "Answer in one sentence.",
  input: [
    { role: "developer", content: "Be polite." },
    { role: "user", content: "I have a question." },
    { role: "assistant", content: "Ask me." },
    { type: "message", role: "user", content: [{ type: "input_text", text: "How many items?" }] },
  ],
  metadata: { purpose: "test" },
  max_output_tokens: 500,
});
assert.equal(whole.output_text, answer);
assert.equal(whole.instructions, "Answer in one sentence.");
assert.deepEqual(whole.metadata, { purpose: "test" });
assert.equal(whole.max_output_tokens, 500);
assert.deepEqual((await client.responses.retrieve(whole.id)).metadata, { purpose: "test" });

// The same request under the same name is done once.
const named = { headers: { "Idempotency-Key": "the-first" } };
const once = await client.responses.create({ model: mind, input: "Only once?" }, named);
assert.equal((await client.responses.create({ model: mind, input: "Only once?" }, named)).id, once.id);

// A stored response can be read, as a stream too, and deleted.
assert.deepEqual(await client.responses.retrieve(response.id), response);
events = await all(await client.responses.retrieve(response.id, { stream: true }));
assert.equal(events.at(-1).response.id, response.id);
assert.equal(text(events), answer);
assert.equal((await client.responses.stream({ response_id: response.id }).finalResponse()).output_text, answer);
await client.responses.delete(response.id);
await gone(response.id);

// One that is not stored cannot.
const unstored = await client.responses.create({ model: mind, input: "Forget this.", store: false });
assert.equal(unstored.output_text, answer);
await gone(unstored.id);

const models = await all(client.models.list());
assert.ok(models.some((model) => model.id === mind));
assert.equal((await client.models.retrieve(mind)).object, "model");
console.log("ok");
