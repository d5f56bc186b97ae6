"""The resource of the interface `model`: componentize-py looks for it under this name."""

from collections.abc import Iterator
from typing import Any

from mindhost import messages
from mindhost.errors import PluginError
from shared import guarded
from wit_world.exports import model as wit


class Completion(wit.Completion):
    def __init__(self, events: Iterator[dict[str, Any] | None]):
        self._events = events
        # A refusal is an error of `start`.
        self._first = [self._take()]
        self._stopped = False

    @guarded
    def next(self) -> list[wit.Event] | None:
        if self._stopped:
            return None
        done, given = self._first.pop() if self._first else self._take()
        if done:
            raise PluginError("connection-lost", "the answer ended without a stop event")
        # Nothing given means that the vendor has accepted: no event yet.
        if given is None:
            return []
        self._stopped = "stop" in given
        return [_event(given)]

    def _take(self) -> tuple[bool, dict[str, Any] | None]:
        try:
            return False, next(self._events)
        except StopIteration:
            return True, None


def request(given: wit.Request) -> messages.Request:
    """A request as authors have it."""
    return messages.Request(
        given.model,
        [messages.Message(_word(one.role), [_part(part) for part in one.parts]) for one in given.messages],
        [messages.Tool(tool.name, tool.description, tool.parameters) for tool in given.tools],
        given.tool_choice,
        given.max_output_tokens,
        given.temperature,
        given.response_schema,
    )


def _word(role: wit.Role) -> Any:
    return role.name.lower()


def _part(part: wit.Part) -> messages.Part:
    match part:
        case wit.Part_Text(text):
            return messages.Text(text)
        case wit.Part_ToolCall(call):
            return messages.ToolCall(call.id, call.name, call.arguments)
        case wit.Part_ToolResult(result):
            return messages.ToolResult(result.call_id, result.content, result.is_error)
        case wit.Part_Media(media):
            return messages.Media(media.media_type, bytes(media.data))
        case wit.Part_Opaque(opaque):
            return messages.Opaque(opaque.kind, opaque.data)
    raise PluginError("unsupported", "the request has a part that this SDK does not know")


def _event(given: dict[str, Any]) -> wit.Event:
    match given:
        case {"text": text}:
            return wit.Event_Text(text)
        case {"tool_call": call}:
            return wit.Event_ToolCall(wit.ToolCall(call["id"], call["name"], call["arguments"]))
        case {"opaque": opaque}:
            return wit.Event_Opaque(wit.Opaque(opaque["kind"], opaque["data"]))
        case {"usage": usage}:
            return wit.Event_Usage([(name.replace("_", "-"), count) for name, count in usage.items()])
        case {"stop": reason}:
            known = wit.StopReason[reason.upper().replace("-", "_")]
            return wit.Event_Stop((known, given.get("reason", reason)))
    raise PluginError("internal", f"the plugin made an unknown event: {list(given)}")
