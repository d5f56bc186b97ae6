"""Chat completions of the official client, unchanged: python chat.py <base url> <key> <mind> <answer>"""

import sys

from openai import APIError, NotFoundError, OpenAI

base_url, key, mind, answer = sys.argv[1:]
client = OpenAI(base_url=base_url, api_key=key, max_retries=0, timeout=60)
question = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "How many items are there?"}]

# Without a stream.
whole = client.chat.completions.create(model=mind, messages=question)
assert whole.object == "chat.completion" and whole.model == mind, whole
assert whole.choices[0].message.content == answer, whole
assert whole.choices[0].finish_reason == "stop", whole
assert whole.usage.total_tokens == whole.usage.prompt_tokens + whole.usage.completion_tokens > 0, whole

# With a stream: every chunk has a delta, the first one's text is empty.
chunks = list(client.chat.completions.create(model=mind, messages=question, stream=True))
assert {chunk.id for chunk in chunks} == {chunks[0].id}, chunks
assert chunks[0].choices[0].delta.role == "assistant" and chunks[0].choices[0].delta.content == "", chunks[0]
assert "".join(chunk.choices[0].delta.content or "" for chunk in chunks) == answer, chunks
assert [chunk.choices[0].finish_reason for chunk in chunks][-2:] == [None, "stop"], chunks

# With the usage at its end.
options = {"include_usage": True}
chunks = list(client.chat.completions.create(model=mind, messages=question, stream=True, stream_options=options))
assert chunks[-1].choices == [] and chunks[-1].usage.total_tokens > 0, chunks[-1]
assert all(chunk.usage is None for chunk in chunks[:-1]), chunks

# The helper that puts a stream together.
with client.chat.completions.stream(model=mind, messages=question) as stream:
    final = stream.get_final_completion()
assert final.choices[0].message.content == answer, final

# Errors: before the answer, and in the middle of a stream.
try:
    client.chat.completions.create(model="nobody", messages=question)
    raise AssertionError("a Mind that does not exist has answered")
except NotFoundError as error:
    assert error.body["code"] == "mind_not_found", error.body
try:
    for _ in client.chat.completions.create(model=mind, messages=question, stream=True):
        pass
    raise AssertionError("a broken stream has ended as if it were whole")
except APIError as error:
    assert error.code, error.body
print("ok")
