"""`print` and `logging`, in the plugin log: in a component, and in tests."""

from __future__ import annotations

import io
import logging
from typing import Any

from . import _host
from ._texts import well_formed

FORMAT = "%(name)s: %(message)s"
_LONGEST = 8_192


class Lines(io.TextIOBase):
    """A stream whose lines go to the plugin log. Its text goes to the stream `before` it while there is no host.

    With `is_copied` it always does: somebody who runs tests wants to see what they print.
    """

    def __init__(self, level: str, before: Any, *, is_copied: bool = False):
        self._level = level
        self.before = before
        self._is_copied = is_copied
        self._rest = ""

    def writable(self) -> bool:
        return True

    def write(self, text: str) -> int:
        is_live = _host.is_live()
        if self._is_copied or not is_live:
            self.before.write(well_formed(text))
        if not is_live:
            return len(text)
        *lines, rest = (self._rest + text).split("\n")
        for line in lines:
            _host.log_lines(self._level, line)
        # A line without an end does not grow for ever.
        self._rest = rest[:_LONGEST]
        return len(text)

    def flush(self) -> None:
        """Lines are told when they end."""
        if self._is_copied:
            self.before.flush()

    def isatty(self) -> bool:
        return self._is_copied and bool(self.before.isatty())

    def fileno(self) -> int:
        return int(self.before.fileno()) if self._is_copied else super().fileno()


class Handler(logging.Handler):
    """Records of `logging` go to the plugin log with their level."""

    def emit(self, record: logging.LogRecord) -> None:
        level = "debug" if record.levelno < logging.INFO else "info"
        level = "warn" if record.levelno >= logging.WARNING else level
        _host.log_lines("error" if record.levelno >= logging.ERROR else level, self.format(record))


def add_handler(formatter: logging.Formatter) -> Handler:
    """From here on records of the level `INFO` and above go to the plugin log."""
    handler = Handler()
    handler.setFormatter(formatter)
    logging.getLogger().addHandler(handler)
    logging.getLogger().setLevel(logging.INFO)
    return handler
