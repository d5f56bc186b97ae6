"""The official client, unchanged, against a running server: python responses.py <base url> <key> <mind> <answer>"""

import sys

from openai import NotFoundError, OpenAI

base_url, key, mind, answer = sys.argv[1:]
client = OpenAI(base_url=base_url, api_key=key, max_retries=0, timeout=60)

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
assert [item.role for item in items] == ["user", "assistant"], items
assert items[0].content[0].text == "Once more?", items
assert items[1].content[0].text == answer, items
assert len(list(client.conversations.items.list(conversation.id, limit=1))) == 2, "pages of one item each"

# A stored response can be read and deleted.
assert client.responses.retrieve(response.id).output_text == answer
client.responses.delete(response.id)
try:
    client.responses.retrieve(response.id)
    raise AssertionError("a deleted response is still there")
except NotFoundError as error:
    assert error.body["code"] == "response_not_found", error.body

assert mind in [model.id for model in client.models.list()]
print("ok")
