"""JSON values out of a body that arrives in pieces."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from .errors import PluginError

_MARK = re.compile(rb'["\\{}\[\],\s]')


def json_values(pieces: Iterable[bytes], limit: int) -> Iterator[bytes]:
    """The values of lines, of a sequence without anything between them, or of arrays at the top."""
    rest = b""
    depth, is_string, arrays = 0, False, 0
    # Places count from the start of the body: an escape may end a piece.
    begin, escaped = 0, -1
    for piece in pieces:
        kept = 0
        for mark in _MARK.finditer(piece):
            at, sign = mark.start(), mark.group()
            if is_string:
                if sign == b"\\" and begin + at != escaped:
                    escaped = begin + at + 1
                is_string = sign != b'"' or begin + at == escaped
                continue
            if sign == b'"':
                is_string = True
            elif sign == b"{" or (sign == b"[" and (depth > 0 or rest + piece[kept:at])):
                depth += 1
            elif sign in b"}]" and depth > 1:
                depth -= 1
            elif depth == 0 or sign in b"}]":
                # The end of a value; or what stands between two, or around all of them.
                arrays += (sign == b"[") - (sign == b"]" and depth == 0)
                end = at + depth
                depth = 0
                if value := rest + piece[kept:end]:
                    yield value
                rest, kept = b"", at + 1
        rest += piece[kept:]
        begin += len(piece)
        if len(rest) > limit:
            raise PluginError("too-large", f"a value of the response is longer than {limit} bytes")
    if depth > 0 or is_string or arrays > 0:
        raise PluginError("connection-lost", "the response ended in the middle of a JSON value")
    if rest:
        yield rest
