"""The resource of the interface `model`: componentize-py looks for it under this name."""

import struct
from collections.abc import Iterable
from typing import Any

from mindhost import messages
from mindhost._events import Events
from mindhost.errors import PluginError
from shared import guarded
from wit_world.exports import model as wit


class Completion(wit.Completion):
    def __init__(self, given: Iterable[messages.Event | None]):
        self._events = Events(given)
        # A refusal is an error of `start`.
        self._first = self._events.next()

    @guarded
    def next(self) -> list[wit.Event] | None:
        given, self._first = self._first, None
        if given is None:
            given = self._events.next()
        return None if given is None else [_event(one) for one in given]


def request(given: wit.Request) -> messages.Request:
    """A request as authors have it."""
    return messages.Request(
        given.model,
        [messages.Message(_word(one.role), [_part(part) for part in one.parts]) for one in given.messages],
        [messages.Tool(tool.name, tool.description, tool.parameters) for tool in given.tools],
        given.tool_choice,
        given.max_output_tokens,
        None if given.temperature is None else shortest(given.temperature),
        given.response_schema,
    )


def shortest(number: float) -> float:
    """The number with the fewest digits that is the same in 32 bits, as the host sends it: 0.2, not 0.200000003."""
    digits = (float(f"{number:.{count}g}") for count in range(1, 10))
    return next((short for short in digits if struct.pack("f", short) == struct.pack("f", number)), number)


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
        case {"stop": stop, "reason": reason}:
            return wit.Event_Stop((wit.StopReason[stop.upper().replace("-", "_")], reason))
    raise AssertionError(f"an event that was not checked: {list(given)}")
