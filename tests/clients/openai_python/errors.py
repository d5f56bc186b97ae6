"""Failures are errors of the official client, with our words: python errors.py <base url> <key> <mind> <answer>

The first answer of the Mind's model breaks off in the middle, the second is refused.
"""

import sys

from openai import (
    APIError,
    AuthenticationError,
    BadRequestError,
    ConflictError,
    InternalServerError,
    NotFoundError,
    OpenAI,
    PermissionDeniedError,
)

base_url, key, mind, answer = sys.argv[1:]
client = OpenAI(base_url=base_url, api_key=key, max_retries=0, timeout=60)
ask = client.responses.create


def refused(kind, code, words, call, *args, **kwargs):
    try:
        call(*args, **kwargs)
    except kind as error:
        assert type(error) is kind, error
        assert error.code == code and words in error.message, error
        return error
    raise AssertionError(f"{code} was not raised")


def read(stream):
    return [event for event in stream]


# In the middle of a stream: what came before it has come.
pieces = []


def broken():
    for event in ask(model=mind, input="How many?", stream=True):
        pieces.append(event.type)


refused(APIError, "upstream_error", "cut off", broken)
assert "response.output_text.delta" in pieces and "response.completed" not in pieces, pieces
refused(InternalServerError, "upstream_error", "busy", ask, model=mind, input="How many?")

wrong = OpenAI(base_url=base_url, api_key="mh_wrong", max_retries=0)
refused(AuthenticationError, "invalid_api_key", "key", wrong.models.list)
refused(AuthenticationError, "invalid_api_key", "key", wrong.responses.create, model=mind, input="Hi", stream=True)

error = refused(NotFoundError, "mind_not_found", "nobody", ask, model="nobody", input="Hi")
assert (error.status_code, error.param, error.type) == (404, "model", "invalid_request_error"), error
assert error.request_id, error
refused(NotFoundError, "mind_not_found", "nobody", ask, model="nobody", input="Hi", stream=True)
refused(NotFoundError, "mind_not_found", "nobody", client.models.retrieve, "nobody")
refused(NotFoundError, "response_not_found", "nonsense", client.responses.retrieve, "nonsense")
refused(NotFoundError, "response_not_found", "nonsense", client.responses.cancel, "nonsense")
refused(NotFoundError, "response_not_found", "nonsense", client.responses.delete, "nonsense")
refused(NotFoundError, "conversation_not_found", "nonsense", client.conversations.retrieve, "nonsense")

error = refused(BadRequestError, "invalid_parameter", "empty", ask, model=mind, input=[])
assert error.param == "input", error
chat = client.chat.completions.create
refused(BadRequestError, "invalid_parameter", "role user", chat, model=mind, messages=[])

query = {"type": "sql_query", "query": "SELECT 1"}
error = refused(
    PermissionDeniedError, "direct_queries_not_allowed", "allow_direct_queries", ask, model=mind, tools=[query]
)
assert error.status_code == 403, error

named = {"extra_headers": {"Idempotency-Key": "the-first"}}
client.conversations.create(metadata={"a": "b"}, **named)
refused(ConflictError, "idempotency_key_reused", "Idempotency-Key", client.conversations.create, **named)
print("ok")
