"""SQL through the official client, unchanged: python queries.py <base url> <key> <mind>

The Mind allows direct queries over a table `item` of three rows. The items of such an answer are of our own type; the
client hands them over as they came.
"""

import sys

from openai import BadRequestError, OpenAI

base_url, key, mind, _ = sys.argv[1:]
client = OpenAI(base_url=base_url, api_key=key, max_retries=0, timeout=60)
tool = {"type": "sql_query", "query": "SELECT id FROM item ORDER BY id", "max_inline_rows": 2}


def check(response):
    assert response.status == "completed" and response.output_text == "", response
    item = response.output[0].to_dict()
    assert (item["type"], item["status"], item["query"]) == ("query_result", "success", tool["query"]), item
    assert (item["column_names"], item["data"]) == (["id"], [[1], [2]]), item
    assert (item["total"], item["has_more"]) == (3, True), item


response = client.responses.create(model=mind, tools=[tool])
check(response)
check(client.responses.retrieve(response.id))
events = list(client.responses.create(model=mind, tools=[tool], stream=True))
kinds = ["created", "in_progress", "output_item.added", "output_item.done", "completed"]
assert [event.type for event in events] == [f"response.{kind}" for kind in kinds], events
check(events[-1].response)
with client.responses.stream(model=mind, input="Which?", tools=[tool]) as stream:
    check(stream.get_final_response())
items = client.conversations.items.list(response.conversation.id).data
assert items[0].to_dict()["sql"] == tool["query"], items

try:
    client.responses.create(model=mind, tools=[{"type": "sql_query", "query": "DELETE FROM item"}])
except BadRequestError as error:
    assert error.code == "sql_not_read_only" and error.param == "tools[0].query", error.body
else:
    raise AssertionError("a statement that writes was run")
print("ok")
