// The AI SDK, unchanged, through the Responses API: <base url> <key> <mind> <answer>
//
// The sixth answer of the Mind's model breaks off in the middle.

import assert from "node:assert/strict";
import { createOpenAI } from "@ai-sdk/openai";
import { APICallError, generateText, streamText } from "ai";

const [baseURL, apiKey, mind, answer] = process.argv.slice(2);
const sent = [];
const openai = createOpenAI({
  baseURL,
  apiKey,
  fetch: (url, request) => {
    sent.push(JSON.parse(request.body));
    return fetch(url, request);
  },
});
const model = openai(mind);
const quiet = { model, maxRetries: 0, onError: () => {} };
const isReference = (item) => item.type === "item_reference";

// Without a stream.
const first = await generateText({ ...quiet, prompt: "How many items are there?" });
assert.equal(first.text, answer);
assert.equal(first.finishReason, "stop");
assert.ok(first.usage.totalTokens > 0);
assert.deepEqual(first.warnings ?? [], []);

// A second turn names the answer of the first.
const messages = [
  { role: "user", content: "How many items are there?" },
  ...first.response.messages,
  { role: "user", content: "And now?" },
];
const second = await generateText({ ...quiet, instructions: "Be brief.", messages });
assert.equal(second.text, answer);
assert.ok(sent.at(-1).input.some(isReference), JSON.stringify(sent.at(-1)));

// With a stream, and a second turn of that.
const stream = streamText({ ...quiet, prompt: "How many items are there?" });
const pieces = [];
for await (const piece of stream.textStream) pieces.push(piece);
assert.ok(pieces.length > 1);
assert.equal(pieces.join(""), answer);
assert.equal(await stream.finishReason, "stop");
assert.ok((await stream.usage).totalTokens > 0);
const said = (await stream.response).messages;
const again = streamText({
  ...quiet,
  messages: [{ role: "user", content: "How many?" }, ...said, { role: "user", content: "Sure?" }],
});
assert.equal(await again.text, answer);
assert.ok(sent.at(-1).input.some(isReference), JSON.stringify(sent.at(-1)));

// What goes on behind a response, with options of the Responses API.
const { responseId } = (await again.providerMetadata).openai;
const options = { previousResponseId: responseId, metadata: { purpose: "test" }, instructions: "Be brief." };
const fifth = await generateText({ ...quiet, prompt: "And then?", providerOptions: { openai: options } });
assert.equal(fifth.text, answer);

// Errors: before the answer, and in the middle of a stream.
await assert.rejects(
  () => generateText({ ...quiet, model: openai("nobody"), prompt: "Who?" }),
  (error) => {
    assert.ok(APICallError.isInstance(error), error);
    assert.equal(error.statusCode, 404);
    assert.match(error.message, /there is no Mind 'nobody'/);
    return true;
  },
);
const kinds = [];
for await (const part of streamText({ ...quiet, prompt: "How many?" }).fullStream) kinds.push(part.type);
assert.ok(kinds.includes("text-delta") && kinds.includes("error"), kinds);
console.log("ok");
