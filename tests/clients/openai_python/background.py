"""Answers that are made without a client: python background.py <base url> <key> <mind> <answer>

The Mind's model answers once and is silent from then on; the key may have one answer in the background.
"""

import sys

from openai import APIError, OpenAI, RateLimitError

base_url, key, mind, answer = sys.argv[1:]
client = OpenAI(base_url=base_url, api_key=key, max_retries=0, timeout=60)


def ask():
    response = client.responses.create(model=mind, input="How many items are there?", background=True)
    assert response.background and response.status in ("created", "in_progress"), response
    return response


# Asked again until it is there.
response = ask()
while response.status in ("created", "in_progress"):
    response = client.responses.retrieve(response.id)
assert (response.status, response.output_text) == ("completed", answer), response

# The stream of it, from its beginning and from the middle.
events = list(client.responses.retrieve(response.id, stream=True))
rest = list(client.responses.retrieve(response.id, stream=True, starting_after=4))
assert events[4:] == rest, rest
assert "".join(event.delta for event in rest if event.type == "response.output_text.delta") == answer, rest
with client.responses.stream(response_id=response.id, starting_after=4) as stream:
    assert [event.sequence_number for event in stream] == [event.sequence_number for event in rest]
    assert stream.get_final_response().output_text == answer

# One more than may be made at once, and the end of the one that is.
silent = ask()
followed = client.responses.retrieve(silent.id, stream=True)
assert any(event.type == "response.output_text.delta" for event in followed)
try:
    ask()
except RateLimitError as error:
    assert error.code == "rate_limit_exceeded" and "background" in error.message, error.body
    assert int(error.response.headers["retry-after"]) > 0, error.response.headers
else:
    raise AssertionError("more answers in the background than allowed")
assert client.responses.cancel(silent.id).status == "cancelled"
try:
    for _ in followed:
        pass
except APIError as error:
    assert error.code == "cancelled", error.body
else:
    raise AssertionError("the stream of a cancelled answer has ended as if it were whole")
assert client.responses.retrieve(silent.id).status == "cancelled"
print("ok")
