"""What a model is asked, and what it says."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal, TypedDict, Union


@dataclass
class Text:
    """A part of a message: text."""

    text: str


@dataclass
class ToolCall:
    """A part of a message: the model called a tool. `arguments` is the JSON text as the model wrote it."""

    id: str
    name: str
    arguments: str


@dataclass
class ToolResult:
    """A part of a message: what a tool gave."""

    call_id: str
    content: str
    is_error: bool = False


@dataclass
class Media:
    """A part of a message: an image or another file."""

    media_type: str
    data: bytes


@dataclass
class Opaque:
    """A part of a message: something of the vendor's that the host kept and gives back unread."""

    kind: str
    data: str


Part = Union[Text, ToolCall, ToolResult, Media, Opaque]
"""A part of a message."""

Role = Literal["system", "user", "assistant", "tool"]
"""Whose turn a message is."""


@dataclass
class Message:
    """One turn of the conversation."""

    role: Role
    parts: list[Part]

    def text(self) -> str:
        """Its texts, one after another."""
        return "".join(part.text for part in self.parts if isinstance(part, Text))


@dataclass
class Tool:
    """A tool that the model may call; `parameters` is the text of a JSON schema."""

    name: str
    description: str
    parameters: str


@dataclass
class Request:
    """What a model is asked."""

    model: str = ""
    """Empty means the provider's default."""
    messages: list[Message] = field(default_factory=list)
    tools: list[Tool] = field(default_factory=list)
    tool_choice: str = "auto"
    """`auto`, `none`, `required`, or the name of one tool."""
    max_output_tokens: int | None = None
    temperature: float | None = None
    response_schema: str | None = None
    """The text of a JSON schema that the answer has to match."""


class TextEvent(TypedDict):
    """A piece of the answer."""

    text: str


class CalledTool(TypedDict):
    """A call of a tool, whole; `arguments` is the JSON text as the model wrote it."""

    id: str
    name: str
    arguments: str


class ToolCallEvent(TypedDict):
    """The model calls a tool."""

    tool_call: CalledTool


class Kept(TypedDict):
    """Something that the host keeps and gives back unread."""

    kind: str
    data: str


class OpaqueEvent(TypedDict):
    """Something of the vendor's."""

    opaque: Kept


class Usage(TypedDict, total=False):
    """Counts of tokens; the last event of them counts."""

    input: int
    output: int
    cached_input: int
    reasoning: int


class UsageEvent(TypedDict):
    """What the answer used."""

    usage: Usage


class _Stop(TypedDict):
    stop: Literal["end", "tool-calls", "length", "refused", "other"]


class StopEvent(_Stop, total=False):
    """The last event. `reason` is the vendor's own word."""

    reason: str


Event = Union[TextEvent, ToolCallEvent, OpaqueEvent, UsageEvent, StopEvent]
"""What a model says, piece by piece."""
