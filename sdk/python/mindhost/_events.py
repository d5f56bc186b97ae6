"""The events of a model on their way to the host, checked; a test sees them as the host does."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from ._texts import split_half, well_formed
from .errors import PluginError

_KINDS = ("text", "tool_call", "opaque", "usage", "stop")
_FIELDS = {"tool_call": ("id", "name", "arguments"), "opaque": ("kind", "data")}
STOPS = ("end", "tool-calls", "length", "refused", "other")
USAGE = ("input", "output", "cached_input", "reasoning")


class Events:
    """What `complete` yields, one by one."""

    def __init__(self, given: Iterable[Any]):
        self._given: Iterator[Any] = iter(given)
        # The first half of a pair, which waits for the next text.
        self._half = ""
        self._has_stopped = False

    def next(self) -> list[dict[str, Any]] | None:
        """The next events: none yet is an empty list, and None comes after the stop event."""
        if self._has_stopped:
            return None
        try:
            event = next(self._given)
        except StopIteration:
            raise PluginError("connection-lost", "the answer ended without a stop event") from None
        if event is None:
            return []
        kind = _kind(event)
        if kind == "text":
            return self._text(event["text"])
        self._has_stopped = kind == "stop"
        rest = [{"text": "\ufffd"}] if self._has_stopped and self._half else []
        return [*rest, _checked(kind, event)]

    def check_end(self) -> None:
        """Raises if more comes after the stop event. Nobody reads that, so only tests ask."""
        event = next((event for event in self._given if event is not None), None)
        if event is not None:
            raise _wrong(f"the plugin yields `{_kind(event)}` after its stop event, and the host never reads it")

    def _text(self, text: Any) -> list[dict[str, Any]]:
        _check_text("text", text)
        whole, self._half = split_half(self._half + text)
        return [{"text": well_formed(whole)}] if whole or not self._half else []


def _kind(event: Any) -> str:
    names = list(event) if isinstance(event, Mapping) else None
    if names is None:
        raise _wrong(f"the plugin yields a Python {type(event).__name__} as an event, not a dict")
    kinds = [name for name in names if name in _KINDS]
    if len(kinds) != 1:
        raise _wrong(f"an event has one of {', '.join(_KINDS)}, not {names}")
    return str(kinds[0])


def _checked(kind: str, event: Mapping[str, Any]) -> dict[str, Any]:
    value = event[kind]
    if kind == "stop":
        if value not in STOPS:
            raise _wrong(f"`stop` is one of {', '.join(STOPS)}, not {value!r}")
        reason = event.get("reason")
        return {"stop": value, "reason": value if reason is None else well_formed(str(reason))}
    if not isinstance(value, Mapping):
        raise _wrong(f"`{kind}` must be a dict, not a Python {type(value).__name__}")
    if kind == "usage":
        return {"usage": _usage(value)}
    for name in _FIELDS[kind]:
        if name not in value:
            raise _wrong(f"`{kind}` has no `{name}`")
        _check_text(f"{kind}.{name}", value[name])
    return {kind: {name: well_formed(value[name]) for name in _FIELDS[kind]}}


def _usage(given: Mapping[str, Any]) -> dict[str, int]:
    usage = {str(name).replace("-", "_"): count for name, count in given.items()}
    for name, count in usage.items():
        if name not in USAGE:
            raise _wrong(f"`usage` has the counts {', '.join(USAGE)}, not {name!r}")
        if not isinstance(count, int) or not 0 <= count < 2**64:
            raise _wrong(f"`usage.{name}` must be an integer from 0, not {count!r}")
    return usage


def _check_text(name: str, value: Any) -> None:
    if not isinstance(value, str):
        raise _wrong(f"`{name}` must be a text, not a Python {type(value).__name__}")


def _wrong(message: str) -> PluginError:
    return PluginError("internal", message)
