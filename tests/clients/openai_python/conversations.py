"""Conversations of the official client, unchanged: python conversations.py <base url> <key> <mind> <answer>"""

import sys

from openai import NotFoundError, OpenAI

base_url, key, mind, answer = sys.argv[1:]
client = OpenAI(base_url=base_url, api_key=key, max_retries=0, timeout=60)


def user(text):
    return {"type": "message", "role": "user", "content": text}


def texts(items):
    return [item.content[0].text for item in items]


conversation = client.conversations.create(items=[user("one"), user("two")], metadata={"topic": "items"})
assert conversation.object == "conversation" and conversation.created_at > 0, conversation
assert client.conversations.retrieve(conversation.id).metadata == {"topic": "items"}
assert client.conversations.update(conversation.id, metadata={"topic": "more"}).metadata == {"topic": "more"}
assert client.conversations.retrieve(conversation.id).metadata == {"topic": "more"}

added = client.conversations.items.create(conversation.id, items=[user("three")])
assert texts(added.data) == ["three"], added
client.responses.create(model=mind, input="four", conversation=conversation.id)

# Both orders, whole and in pages.
said = ["one", "two", "three", "four", answer]
items = client.conversations.items
for order, expected in [("asc", said), ("desc", said[::-1])]:
    assert texts(items.list(conversation.id, order=order)) == expected, order
    pages = list(items.list(conversation.id, order=order, limit=2).iter_pages())
    assert [texts(page.data) for page in pages] == [expected[:2], expected[2:4], expected[4:]], pages
    assert [page.has_more for page in pages] == [True, True, False], pages
    behind = items.list(conversation.id, order=order, after=pages[0].last_id)
    assert texts(behind) == expected[2:], behind
assert texts(items.list(conversation.id)) == said[::-1], "newest first"

# One item, and one less.
last = items.list(conversation.id, limit=1).data[0]
assert (last.role, last.status, last.content[0].type) == ("assistant", "completed", "output_text"), last
assert items.retrieve(last.id, conversation_id=conversation.id) == last
assert items.delete(last.id, conversation_id=conversation.id).id == conversation.id
assert texts(items.list(conversation.id, order="asc")) == said[:-1]

deleted = client.conversations.delete(conversation.id)
assert (deleted.id, deleted.deleted) == (conversation.id, True), deleted
for call in (client.conversations.retrieve, items.list, client.conversations.delete):
    try:
        call(conversation.id)
    except NotFoundError as error:
        assert error.code == "conversation_not_found", error.body
    else:
        raise AssertionError(f"{call} found a deleted conversation")
print("ok")
