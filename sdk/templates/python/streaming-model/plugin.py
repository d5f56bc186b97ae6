"""A vendor with the API of OpenAI: a conversation goes out, and the answer is streamed as server-sent events."""

import json
from collections.abc import Iterator
from typing import Any, Literal

from mindhost import (
    ErrorKind,
    Event,
    Media,
    Message,
    Model,
    PluginError,
    Request,
    Tool,
    ToolCall,
    ToolResult,
    http,
)

# The vendor's reasons for the end of an answer, in the contract's words.
STOPS: dict[str, Literal["end", "tool-calls", "length", "refused"]] = {
    "stop": "end",
    "tool_calls": "tool-calls",
    "length": "length",
    "content_filter": "refused",
}

# Refusals that mean the same everywhere; other statuses below 500 are about the request.
KINDS: dict[int, ErrorKind] = {
    401: "auth",
    403: "permission",
    404: "not-found",
    408: "timeout",
    413: "too-large",
    429: "rate-limited",
}


class Plugin(Model):
    """`self.config` is what the provider is configured with. The host adds `api_key` to the requests."""

    def __init__(self, config: dict[str, Any]):
        super().__init__(config)
        self.url = config["base_url"].rstrip("/")

    def complete(self, request: Request) -> Iterator[Event | None]:
        """Yields each piece as soon as it is there."""
        body = json.dumps({**written(request), "model": request.model or self.config["model"]})
        headers = {"content-type": "application/json", "accept": "text/event-stream"}
        response = accepted(http.post(f"{self.url}/chat/completions", body, headers=headers))
        # Nothing is said yet, but the vendor accepted.
        yield None
        yield from answer(response)

    def check(self) -> str:
        """The list of models proves the address and the key, and costs nothing."""
        model = self.config["model"]
        if model not in self.models():
            raise PluginError("not-found", f"the vendor has no model {model}")
        return f"The vendor answers; the model is {model}."

    def models(self) -> list[str]:
        told = accepted(http.get(f"{self.url}/models")).json()
        try:
            return [str(model["id"]) for model in told["data"]]
        except (TypeError, KeyError):
            raise PluginError("upstream", "the address does not answer with a list of models") from None


def answer(response: http.Response) -> Iterator[Event]:
    """The events of a streamed answer."""
    calls: dict[int, ToolCall] = {}
    reason: str | None = None
    for data in response.events():
        if data == "[DONE]":
            break
        chunk = parsed(data)
        if error := chunk.get("error"):
            raise PluginError("upstream", f"the vendor failed: {error}")
        for choice in (chunk.get("choices") or [])[:1]:
            delta = choice.get("delta") or {}
            if text := delta.get("content"):
                yield {"text": text}
            for piece in delta.get("tool_calls") or []:
                collect(calls, piece)
            reason = choice.get("finish_reason") or reason
        if usage := chunk.get("usage"):
            yield {"usage": {"input": usage["prompt_tokens"], "output": usage["completion_tokens"]}}
    if reason is None:
        raise PluginError("connection-lost", "the answer was cut off before its end; ask again")
    for call in calls.values():
        yield {"tool_call": {"id": call.id, "name": call.name, "arguments": call.arguments}}
    yield {"stop": STOPS.get(reason, "other"), "reason": reason}


def collect(calls: dict[int, ToolCall], piece: dict[str, Any]) -> None:
    """Adds a piece of a tool call to the calls; `index` says which."""
    call = calls.setdefault(piece["index"], ToolCall("", "", ""))
    function = piece.get("function") or {}
    call.id = call.id or piece.get("id") or ""
    call.name = call.name or function.get("name") or ""
    call.arguments += function.get("arguments") or ""


def parsed(data: str) -> dict[str, Any]:
    """The JSON of an event."""
    try:
        chunk = json.loads(data)
    except ValueError:
        chunk = None
    if not isinstance(chunk, dict):
        raise PluginError("upstream", "the vendor sent an event that is not a piece of an answer")
    return chunk


def written(request: Request) -> dict[str, Any]:
    """A request as the vendor wants it."""
    body: dict[str, Any] = {
        "messages": [one for message in request.messages for one in messages_of(message)],
        "stream": True,
        "stream_options": {"include_usage": True},
    }
    if request.tools:
        body["tools"] = [tool(one) for one in request.tools]
        body["tool_choice"] = choice_of(request.tool_choice)
    if request.max_output_tokens is not None:
        body["max_tokens"] = request.max_output_tokens
    if request.temperature is not None:
        body["temperature"] = request.temperature
    if request.response_schema is not None:
        schema = {"name": "answer", "schema": json.loads(request.response_schema)}
        body["response_format"] = {"type": "json_schema", "json_schema": schema}
    return body


def messages_of(message: Message) -> list[dict[str, Any]]:
    """A message of the host; each result of a tool is a message of its own."""
    if any(isinstance(part, Media) for part in message.parts):
        raise PluginError("unsupported", "this model only reads text")
    if message.role == "tool":
        results = [part for part in message.parts if isinstance(part, ToolResult)]
        return [{"role": "tool", "tool_call_id": one.call_id, "content": one.content} for one in results]
    said: dict[str, Any] = {"role": message.role, "content": message.text()}
    calls = [part for part in message.parts if isinstance(part, ToolCall)]
    if calls:
        said["tool_calls"] = [
            {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": call.arguments}}
            for call in calls
        ]
    return [said]


def tool(own: Tool) -> dict[str, Any]:
    """A tool as the vendor wants it."""
    function = {"name": own.name, "description": own.description, "parameters": json.loads(own.parameters or "{}")}
    return {"type": "function", "function": function}


def choice_of(name: str) -> str | dict[str, Any]:
    """`auto`, `none`, `required`, or one tool."""
    return name if name in {"auto", "none", "required"} else {"type": "function", "function": {"name": name}}


def accepted(response: http.Response) -> http.Response:
    """The vendor's refusals in the contract's words. The host waits and asks again when it is told when."""
    status = response.status
    if status == 200:
        return response
    wait = http.retry_after(response)
    try:
        said = json.loads(response.text(64 << 10))["error"]["message"]
    except (ValueError, TypeError, KeyError):
        said = "it does not say why"
    kind = KINDS.get(status, "invalid-statement" if 400 <= status < 500 else "upstream")
    raise PluginError(kind, f"the vendor refused with status {status}: {said}", code=status, retry_after_ms=wait)
