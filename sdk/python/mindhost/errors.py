"""The one error of a plugin."""

from __future__ import annotations

from typing import Literal, get_args

from ._texts import well_formed

ErrorKind = Literal[
    "invalid-config",
    "auth",
    "unreachable",
    "tls",
    "denied",
    "not-found",
    "invalid-statement",
    "permission",
    "cancelled",
    "timeout",
    "rate-limited",
    "too-large",
    "unsupported",
    "connection-lost",
    "upstream",
    "internal",
]
"""What kind of error it is: `wit/README.md` says what the host makes of each."""

_KINDS: tuple[str, ...] = get_args(ErrorKind)

# After these the connection does not count as usable, unless the error says so.
_BREAKING = {"auth", "unreachable", "tls", "connection-lost", "cancelled", "internal"}


class PluginError(Exception):
    """What went wrong, of which kind, in words for a person.

    Never put a secret into it. Where it is raised `from` another exception, the trace of that goes to the plugin log;
    callers never see it.
    """

    def __init__(
        self,
        kind: ErrorKind,
        message: str,
        *,
        code: str | int = "",
        position: int | None = None,
        retry_after_ms: int | None = None,
        connection_usable: bool | None = None,
    ):
        if kind not in _KINDS:
            known = ", ".join(_KINDS)
            raise ValueError(f"PluginError has no kind {kind!r}; use one of {known} (its message: {message})")
        self.message = well_formed(str(message))
        super().__init__(self.message)
        self.kind = kind
        self.code = well_formed(str(code))
        self.position = position
        self.retry_after_ms = retry_after_ms
        self.connection_usable = kind not in _BREAKING if connection_usable is None else connection_usable
