"""JSON values out of a body that arrives in pieces."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from .errors import PluginError

_BLANKS = re.compile(rb"[ \t\n\r]*")
_IN_STRING = re.compile(rb'["\\]')
_IN_CONTAINER = re.compile(rb'["{}\[\]]')
_AFTER_SCALAR = re.compile(rb'[ \t\n\r",{}\[\]]')

# What may stand between two values, by where that is.
_EXPECTED = {
    "top": "a value",
    "array start": "a value or `]`",
    "after comma": "a value",
    "after element": "`,` or `]`",
}


def json_values(pieces: Iterable[bytes], limit: int, *, lines: bool, status: int) -> Iterator[tuple[int, bytes]]:
    """Each value, behind the byte of the body at which it begins, counted from 1.

    An array at the top is opened: its elements are the values. With `lines` it is a value itself.
    """
    rest = b""
    place = "top"
    depth, is_string, is_escaped, is_scalar = 0, False, False, False
    # Bytes before this piece, and before the value.
    before, start = 0, 0
    for piece in pieces:
        at = kept = 0
        while at < len(piece):
            if is_escaped:
                at, is_escaped = at + 1, False
                continue
            if is_string or depth > 0 or is_scalar:
                pattern = _IN_STRING if is_string else _IN_CONTAINER if depth > 0 else _AFTER_SCALAR
                mark = pattern.search(piece, at)
                if mark is None:
                    break
                at, sign = mark.end(), mark.group()
                if is_scalar:
                    # The sign is read again, as one behind the value.
                    at, is_scalar = mark.start(), False
                elif is_string:
                    is_escaped = sign == b"\\"
                    is_string = is_escaped
                elif sign == b'"':
                    is_string = True
                else:
                    depth += 1 if sign in b"{[" else -1
                if is_string or depth > 0:
                    continue
                value = rest + piece[kept:at]
                if len(value) > limit:
                    raise _too_large(limit)
                rest = b""
                place = place if place == "top" else "after element"
                yield start + 1, value
                continue
            blanks = _BLANKS.match(piece, at)
            at = blanks.end() if blanks else at
            sign = piece[at : at + 1]
            if not sign:
                break
            if following := _following(place, sign, lines):
                at, place = at + 1, following
                continue
            if place == "after element" or sign in b",}]":
                message = f"is not JSON at byte {before + at + 1}: expected {_EXPECTED[place]}"
                raise PluginError("upstream", f"the response (status {status}) {message}")
            kept, start = at, before + at
            is_string, depth = sign == b'"', int(sign in b"{[")
            is_scalar = not is_string and depth == 0
            at += 1
        if is_string or depth > 0 or is_scalar:
            rest += piece[kept:]
        if len(rest) > limit:
            raise _too_large(limit)
        before += len(piece)
    if depth > 0 or is_string or place != "top":
        raise PluginError("connection-lost", "the response ended in the middle of a JSON value")
    if is_scalar:
        yield start + 1, rest


def _following(place: str, sign: bytes, lines: bool) -> str | None:
    """Where the body goes on after a sign of the array at the top; none if it is another."""
    if place == "top":
        return "array start" if sign == b"[" and not lines else None
    if sign == b"]" and place != "after comma":
        return "top"
    return "after comma" if sign == b"," and place == "after element" else None


def _too_large(limit: int) -> PluginError:
    return PluginError("too-large", f"a value of the response is longer than {limit} bytes")
