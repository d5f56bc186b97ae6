// Conversations of the official client, unchanged: <base url> <key> <mind> <answer>

import assert from "node:assert/strict";
import OpenAI, { NotFoundError } from "openai";

const [baseURL, apiKey, mind, answer] = process.argv.slice(2);
const client = new OpenAI({ baseURL, apiKey, maxRetries: 0, timeout: 60_000 });
const { items } = client.conversations;

const user = (content) => ({ type: "message", role: "user", content });
const texts = (list) => list.map((item) => item.content[0].text);
const all = async (list) => {
  const found = [];
  for await (const item of list) found.push(item);
  return found;
};

const { id } = await client.conversations.create({ items: [user("one"), user("two")], metadata: { topic: "items" } });
assert.deepEqual((await client.conversations.retrieve(id)).metadata, { topic: "items" });
const updated = await client.conversations.update(id, { metadata: { topic: "more" } });
assert.deepEqual(updated.metadata, { topic: "more" });
assert.deepEqual((await client.conversations.retrieve(id)).metadata, { topic: "more" });

const added = await items.create(id, { items: [user("three")] });
assert.deepEqual(texts(added.data), ["three"]);
await client.responses.create({ model: mind, input: "four", conversation: id });

// Both orders, whole and in pages.
const said = ["one", "two", "three", "four", answer];
for (const [order, expected] of [
  ["asc", said],
  ["desc", said.toReversed()],
]) {
  assert.deepEqual(texts(await all(items.list(id, { order }))), expected);
  const first = await items.list(id, { order, limit: 2 });
  const pages = await all(first.iterPages());
  assert.deepEqual(
    pages.map((page) => texts(page.data)),
    [expected.slice(0, 2), expected.slice(2, 4), expected.slice(4)],
  );
  assert.deepEqual(
    pages.map((page) => page.has_more),
    [true, true, false],
  );
  const behind = await all(items.list(id, { order, after: first.last_id }));
  assert.deepEqual(texts(behind), expected.slice(2));
}
assert.deepEqual(texts(await all(items.list(id))), said.toReversed());

// One item, and one less.
const [last] = (await items.list(id, { limit: 1 })).data;
assert.equal(last.role, "assistant");
assert.equal(last.content[0].type, "output_text");
assert.deepEqual(await items.retrieve(last.id, { conversation_id: id }), last);
assert.equal((await items.delete(last.id, { conversation_id: id })).id, id);
assert.deepEqual(texts(await all(items.list(id, { order: "asc" }))), said.slice(0, -1));

const deleted = await client.conversations.delete(id);
assert.equal(deleted.id, id);
assert.equal(deleted.deleted, true);
for (const call of [
  () => client.conversations.retrieve(id),
  () => items.list(id),
  () => client.conversations.delete(id),
]) {
  await assert.rejects(call, (error) => error instanceof NotFoundError && error.code === "conversation_not_found");
}
console.log("ok");
