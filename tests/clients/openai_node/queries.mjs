// SQL through the official client, unchanged: <base url> <key> <mind>
//
// The Mind allows direct queries over a table `item` of three rows. The items of such an answer are of our own type; the
// client hands them over as they came.

import assert from "node:assert/strict";
import OpenAI, { BadRequestError } from "openai";

const [baseURL, apiKey, model] = process.argv.slice(2);
const client = new OpenAI({ baseURL, apiKey, maxRetries: 0, timeout: 60_000 });
const tool = { type: "sql_query", query: "SELECT id FROM item ORDER BY id", max_inline_rows: 2 };

const check = ({ status, output_text, output: [item] }) => {
  assert.equal(status, "completed");
  assert.equal(output_text ?? "", "");
  assert.deepEqual([item.type, item.status, item.query], ["query_result", "success", tool.query]);
  assert.deepEqual([item.column_names, item.data], [["id"], [[1], [2]]]);
  assert.deepEqual([item.total, item.has_more], [3, true]);
};

const response = await client.responses.create({ model, tools: [tool] });
check(response);
check(await client.responses.retrieve(response.id));
const events = [];
for await (const event of await client.responses.create({ model, tools: [tool], stream: true })) events.push(event);
const kinds = ["created", "in_progress", "output_item.added", "output_item.done", "completed"];
assert.deepEqual(
  events.map((event) => event.type),
  kinds.map((kind) => `response.${kind}`),
);
check(events.at(-1).response);
check(await client.responses.stream({ model, input: "Which?", tools: [tool] }).finalResponse());
const items = await client.conversations.items.list(response.conversation.id);
assert.equal(items.data[0].sql, tool.query);

await assert.rejects(
  () => client.responses.create({ model, tools: [{ type: "sql_query", query: "DELETE FROM item" }] }),
  (error) =>
    error instanceof BadRequestError && error.code === "sql_not_read_only" && error.param === "tools[0].query",
);
console.log("ok");
