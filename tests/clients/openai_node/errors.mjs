// Failures are errors of the official client, with our words: <base url> <key> <mind> <answer>
//
// The first answer of the Mind's model breaks off in the middle, the second is refused.

import assert from "node:assert/strict";
import OpenAI, {
  APIError,
  AuthenticationError,
  BadRequestError,
  ConflictError,
  InternalServerError,
  NotFoundError,
  PermissionDeniedError,
} from "openai";

const [baseURL, apiKey, mind] = process.argv.slice(2);
const client = new OpenAI({ baseURL, apiKey, maxRetries: 0, timeout: 60_000 });
const ask = (more) => client.responses.create({ model: mind, input: "How many?", ...more });

const refused = async (kind, code, words, call) => {
  try {
    await call();
  } catch (error) {
    assert.equal(error.constructor, kind, error);
    assert.equal(error.code, code);
    assert.match(error.message, words);
    return error;
  }
  assert.fail(`${code} was not thrown`);
};

// In the middle of a stream: what came before it has come.
const seen = [];
await refused(APIError, "upstream_error", /cut off/, async () => {
  for await (const event of await ask({ stream: true })) seen.push(event.type);
});
assert.ok(seen.includes("response.output_text.delta") && !seen.includes("response.completed"), seen);
await refused(InternalServerError, "upstream_error", /busy/, () => ask());

const wrong = new OpenAI({ baseURL, apiKey: "mh_wrong", maxRetries: 0 });
await refused(AuthenticationError, "invalid_api_key", /key/, () => wrong.models.list());
await refused(AuthenticationError, "invalid_api_key", /key/, () =>
  wrong.responses.create({ model: mind, input: "Hi", stream: true }),
);

let error = await refused(NotFoundError, "mind_not_found", /nobody/, () => ask({ model: "nobody" }));
assert.deepEqual([error.status, error.param, error.type], [404, "model", "invalid_request_error"]);
assert.ok(error.requestID);
await refused(NotFoundError, "mind_not_found", /nobody/, () => ask({ model: "nobody", stream: true }));
await refused(NotFoundError, "mind_not_found", /nobody/, () => client.models.retrieve("nobody"));
await refused(NotFoundError, "response_not_found", /nonsense/, () => client.responses.retrieve("nonsense"));
await refused(NotFoundError, "response_not_found", /nonsense/, () => client.responses.cancel("nonsense"));
await refused(NotFoundError, "response_not_found", /nonsense/, () => client.responses.delete("nonsense"));
await refused(NotFoundError, "conversation_not_found", /nonsense/, () => client.conversations.retrieve("nonsense"));

error = await refused(BadRequestError, "invalid_parameter", /empty/, () => ask({ input: [] }));
assert.equal(error.param, "input");
await refused(BadRequestError, "invalid_parameter", /role user/, () =>
  client.chat.completions.create({ model: mind, messages: [] }),
);

const tools = [{ type: "sql_query", query: "SELECT 1" }];
error = await refused(PermissionDeniedError, "direct_queries_not_allowed", /allow_direct_queries/, () =>
  ask({ tools }),
);
assert.equal(error.status, 403);

const named = { headers: { "Idempotency-Key": "the-first" } };
await client.conversations.create({ metadata: { a: "b" } }, named);
await refused(ConflictError, "idempotency_key_reused", /Idempotency-Key/, () =>
  client.conversations.create({}, named),
);
console.log("ok");
