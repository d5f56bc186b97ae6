"""The official client, unchanged, against a running server: python responses.py <base url> <key> <mind> <answer>"""

import sys

from openai import NotFoundError, OpenAI

base_url, key, mind, answer = sys.argv[1:]
client = OpenAI(base_url=base_url, api_key=key, max_retries=0, timeout=60)



def gone(response_id):
    try:
        client.responses.retrieve(response_id)
    except NotFoundError as error:
        assert error.code == "response_not_found", error.body
    else:
        raise AssertionError("a response that is gone was found")


# Without a stream.
response = client.responses.create(model=mind, input="How many items are there?")
assert response.status == "completed", response
assert response.output_text == answer, response
assert response.model == mind, response
assert response.usage.total_tokens > 0, response

# Every event of a stream, in order.
events = list(client.responses.create(model=mind, input="And now?", stream=True))
kinds = [event.type for event in events]
deltas = [event.delta for event in events if event.type == "response.output_text.delta"]
assert kinds == [
    "response.created",
    "response.in_progress",
    "response.output_item.added",
    "response.content_part.added",
    *["response.output_text.delta"] * len(deltas),
    "response.output_text.done",
    "response.content_part.done",
    "response.output_item.done",
    "response.completed",
], kinds
assert [event.sequence_number for event in events] == list(range(1, len(events) + 1)), events
assert "".join(deltas) == answer, deltas
assert events[-1].response.output_text == answer, events[-1]

# The helper that follows a stream and puts the answer together.
conversation = client.conversations.create()
with client.responses.stream(model=mind, input="Once more?", conversation=conversation.id) as stream:
    pieces = [event.delta for event in stream if event.type == "response.output_text.delta"]
    final = stream.get_final_response()
assert "".join(pieces) == final.output_text == answer, final
assert final.conversation.id == conversation.id, final

# What the conversation holds now.
items = list(client.conversations.items.list(conversation.id, order="asc"))
assert [(item.role, item.content[0].text) for item in items] == [("user", "Once more?"), ("assistant", answer)], items

# Another turn, by the conversation and by the response before it.
second = client.responses.create(model=mind, input="And yesterday?", conversation=conversation.id)
third = client.responses.create(model=mind, input="And today?", previous_response_id=second.id)
assert third.previous_response_id == second.id, third
assert third.conversation.id == conversation.id, third
assert len(list(client.conversations.items.list(conversation.id))) == 6, "three turns"

# Messages with roles and parts, and everything that goes with a question.
whole = client.responses.create(
    model=mind,
    instructions="Answer in one sentence.",
    input=[
        {"role": "developer", "content": "Be polite."},
        {"role": "user", "content": "I have a question."},
        {"role": "assistant", "content": "Ask me."},
        {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "How many items?"}]},
    ],
    metadata={"purpose": "test"},
    max_output_tokens=500,
)
assert whole.output_text == answer, whole
assert (whole.instructions, whole.metadata) == ("Answer in one sentence.", {"purpose": "test"}), whole
assert whole.max_output_tokens == 500, whole
assert client.responses.retrieve(whole.id).metadata == {"purpose": "test"}

# The same request under the same name is done once.
named = {"extra_headers": {"Idempotency-Key": "the-first"}}
once = client.responses.create(model=mind, input="Only once?", **named)
assert client.responses.create(model=mind, input="Only once?", **named).id == once.id

# A stored response can be read, as a stream too, and deleted.
assert client.responses.retrieve(response.id) == response
events = list(client.responses.retrieve(response.id, stream=True))
assert events[-1].response == response, events[-1]
with client.responses.stream(response_id=response.id) as stream:
    assert stream.get_final_response().output_text == answer
client.responses.delete(response.id)
gone(response.id)

# One that is not stored cannot.
unstored = client.responses.create(model=mind, input="Forget this.", store=False)
assert unstored.output_text == answer and unstored.store is False, unstored
gone(unstored.id)

assert mind in [model.id for model in client.models.list()]
assert client.models.retrieve(mind).object == "model"
print("ok")
