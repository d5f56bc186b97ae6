"""Texts as the host takes them, and JSON that is safe to parse."""

from __future__ import annotations

import itertools
import json
import re
from typing import Any

# CPython keeps such halves in a text: JSON has them as `\ud83d`, and a pair that was cut has one at its end.
_HALVES = re.compile("[\ud800-\udbff][\udc00-\udfff]|[\ud800-\udfff]")

DEEPEST = 500
"""Arrays and objects in each other. The parser of JSON is recursive, and the stack of a component ends soon after."""
_STEPS = {ord("["): 1, ord("{"): 1, ord("]"): -1, ord("}"): -1}
_IRRELEVANT = bytes(byte for byte in range(256) if byte not in _STEPS and byte != ord('"'))


def well_formed(text: str) -> str:
    """The text without surrogates, which are not Unicode text: a pair becomes its character, a single one U+FFFD."""
    if text.isascii():
        return text
    try:
        text.encode()
    except UnicodeEncodeError:
        return _HALVES.sub(_joined, text)
    return text


def _joined(match: re.Match[str]) -> str:
    found = match[0]
    if len(found) == 1:
        return "\ufffd"
    return chr(0x10000 + ((ord(found[0]) - 0xD800) << 10) + ord(found[1]) - 0xDC00)


def split_half(text: str) -> tuple[str, str]:
    """The text, and the first half of a pair if it ends with one: the second may be in the next piece."""
    return (text[:-1], text[-1]) if "\ud800" <= text[-1:] <= "\udbff" else (text, "")


def check_depth(text: str) -> None:
    """Raises RecursionError for JSON with more levels than `DEEPEST`."""
    if text.count("[") + text.count("{") <= DEEPEST:
        return
    # Only brackets and quotation marks are left, and of these every second piece is outside of strings.
    unescaped = text.encode("utf-8", "surrogatepass").replace(rb"\\", b"").replace(rb"\"", b"")
    brackets = b"".join(unescaped.translate(None, _IRRELEVANT).split(b'"')[::2])
    if max(itertools.accumulate(map(_STEPS.__getitem__, brackets)), default=0) > DEEPEST:
        raise RecursionError(f"the JSON has more than {DEEPEST} levels")


def loads(text: str, **options: Any) -> Any:
    """As `json.loads`; RecursionError if it has too many levels."""
    check_depth(text)
    return json.loads(text, **options)
