"""What the host gives to a plugin: in a component the real one, in a test a stand-in from `mindhost.testing`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from ._texts import well_formed


@dataclass
class Sent:
    """A request on its way."""

    method: str
    url: str
    headers: list[tuple[str, str]]
    body: bytes
    timeout_ms: int

    def __post_init__(self) -> None:
        self.url = well_formed(self.url)
        self.headers = [(well_formed(name), well_formed(value)) for name, value in self.headers]


class Exchange(Protocol):
    """The head of a response, and its body to read."""

    status: int
    headers: list[tuple[str, str]]

    def read(self) -> bytes | None:
        """The next bytes of the body; none at its end."""

    def close(self) -> None:
        """Ends the exchange, finished or not."""


class Host(Protocol):
    """Everything that a plugin can ask for."""

    def log(self, level: str, line: str) -> None:
        """Writes a line to the plugin log."""

    def remaining_ms(self) -> int:
        """Milliseconds until the host ends the call."""

    def is_cancelled(self) -> bool:
        """Whether the host wants the call to end early."""

    def sleep(self, ms: int) -> bool:
        """Waits; false if the host cancelled the call before that."""

    def send(self, request: Sent) -> Exchange:
        """Sends a request and waits for the head of its response."""


_given: Host | None = None
# While a component is made there is no host to talk to.
_is_live = False
# How often the plugin has waited for something outside: rows that come slowly are not held back.
_waits = 0


def provide(host: Host) -> None:
    """From here on this is the host."""
    global _given
    _given = host


def host() -> Host:
    """The host; an error where there is none."""
    if _given is None:
        raise RuntimeError(
            "there is no host here; a unit test calls `replay()` or `stand_in()` of mindhost.testing first"
        )
    return _given


def called() -> None:
    """The host calls: what is logged from here on has somewhere to go."""
    global _is_live
    _is_live = True


def is_live() -> bool:
    """Whether the host has called."""
    return _is_live and _given is not None


def log_lines(level: str, text: object) -> None:
    """Logs each line of a text. Says nothing where nobody listens."""
    if _is_live and _given is not None:
        for line in well_formed(str(text)).split("\n"):
            _given.log(level, line)


def waited() -> None:
    """Something took time: an answer, a piece of it, a pause."""
    global _waits
    _waits += 1


def waits() -> int:
    """How often something took time."""
    return _waits
