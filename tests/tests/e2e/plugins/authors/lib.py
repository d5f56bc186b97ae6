"""The sum of some numbers."""

from typing import Any


def total(numbers: list[Any]) -> int:
    result = 0
    for number in numbers:
        result += number
    return result
