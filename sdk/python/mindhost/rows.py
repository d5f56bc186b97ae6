"""Rows of Python values on their way to the host."""

import datetime
import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from wit_world.imports import mindhost_plugin_types as types

from .catalog import Column
from .errors import PluginError

# What a value takes beside its text or bytes.
_FIXED = 16
_EPOCH = datetime.datetime(1970, 1, 1)
_MICROSECOND = datetime.timedelta(microseconds=1)


@dataclass
class Tagged:
    """A value whose type the column does not say: for columns of type `any` and dynamic ones."""

    type: str
    value: Any


class Answer:
    """An answer in progress: columns, and rows taken from an iterable as the host asks for them."""

    def __init__(self, columns: list[Column], rows: Iterable[Any], max_cell_bytes: int = 16 << 20):
        self._own = columns
        self._rows: Iterator[Any] = iter(rows)
        self._max_cell_bytes = max_cell_bytes
        self._waiting: tuple[list, int] | None = None
        self.columns = [column(own) for own in columns]

    def next(self, max_rows: int, max_bytes: int) -> types.Batch | None:
        """The next rows in both limits; a larger row comes alone. None at the end."""
        batch: list[list] = []
        size = 0
        while len(batch) < max_rows:
            row, self._waiting = self._waiting or self._row(), None
            if row is None:
                break
            if batch and size + row[1] > max_bytes:
                self._waiting = row
                break
            batch.append(row[0])
            size += row[1]
        return types.Batch_Rows(batch) if batch else None

    def close(self) -> None:
        """Ends the iteration, finished or not."""
        if hasattr(self._rows, "close"):
            self._rows.close()

    def _row(self) -> tuple[list, int] | None:
        row = next(self._rows, None)
        if row is None:
            return None
        given = [row.get(own.name) for own in self._own] if isinstance(row, dict) else row
        cells = [_encode(own, value) for own, value in zip(self._own, given, strict=True)]
        size = 0
        for own, cell in zip(self._own, cells):
            bytes_of = _size(cell)
            if bytes_of > self._max_cell_bytes:
                raise PluginError("too-large", f"a value of {own.name} is larger than {self._max_cell_bytes} bytes")
            size += _FIXED + bytes_of
        return cells, size


def column(own: Column) -> types.Column:
    """A column in the contract's words."""
    return types.Column(
        # Engines name a column after its expression, however long that is; a name has 4,096 bytes and no NUL.
        own.name[:1000].replace("\0", "\ufffd"),
        types.DataType[own.type.upper().replace("-", "_")],
        own.native_type,
        own.nullable,
        [("dynamic", "true")] if own.dynamic else [],
    )


def _size(cell: types.Value) -> int:
    value = getattr(cell, "value", None)
    if isinstance(value, str):
        return len(value.encode())
    return len(value) if isinstance(value, bytes) else 0


def _encode(own: Column, value: Any) -> types.Value:
    if value is None:
        return types.Value_Null()
    if isinstance(value, Tagged):
        return _ENCODERS[value.type](value.value)
    # A dynamic column is one whose engine does not enforce its type.
    if own.dynamic and not isinstance(value, _SUITS.get(own.type, ())):
        return _any(value)
    try:
        return _ENCODERS[own.type](value)
    except (TypeError, ValueError, OverflowError):
        given = type(value).__name__
        raise PluginError("internal", f"a value of {own.name} is no {own.type} but a Python {given}") from None


_SUITS = {"boolean": bool, "int64": int, "uint64": int, "float64": (int, float), "text": str, "bytes": bytes}


def _integer(of: Any, least: int, most: int) -> Any:
    def encode(value: Any) -> types.Value:
        number = int(value)
        if not isinstance(value, str) and number != value:
            raise ValueError
        return of(number) if least <= number <= most else types.Value_Other(str(number))

    return encode


def _boolean(value: Any) -> types.Value:
    # Some engines have no truth values but 0 and 1. A text is none: "false" would be true.
    if isinstance(value, (bool, int)) and value in (0, 1):
        return types.Value_Boolean(bool(value))
    raise TypeError


def _text(value: Any) -> types.Value:
    # What has parts is no text, and its Python spelling is nobody's.
    if isinstance(value, (list, tuple, dict, set, bytes, bytearray)):
        raise TypeError
    return types.Value_Text(str(value))


def _date(value: Any) -> types.Value:
    if isinstance(value, str):
        try:
            value = datetime.date.fromisoformat(value)
        except ValueError:
            return types.Value_Other(value)
    return types.Value_Date((value - _EPOCH.date()).days)


def _time(value: Any) -> types.Value:
    if isinstance(value, str):
        try:
            value = datetime.time.fromisoformat(value)
        except ValueError:
            return types.Value_Other(value)
    seconds = (value.hour * 60 + value.minute) * 60 + value.second
    return types.Value_Time(seconds * 1_000_000 + value.microsecond)


def _timestamp(of: Any) -> Any:
    def encode(value: Any) -> types.Value:
        if isinstance(value, str):
            try:
                value = datetime.datetime.fromisoformat(value)
            except ValueError:
                return types.Value_Other(value)
        if value.tzinfo is not None:
            value = value.astimezone(datetime.timezone.utc).replace(tzinfo=None)
        return of((value - _EPOCH) // _MICROSECOND)

    return encode


def _json(value: Any) -> types.Value:
    return types.Value_Json(value if isinstance(value, str) else json.dumps(value, ensure_ascii=False))


def _any(value: Any) -> types.Value:
    if isinstance(value, bool):
        return types.Value_Boolean(value)
    for kind, name in _NAMES:
        if isinstance(value, kind):
            return _ENCODERS[name](value)
    return _json(value)


_NAMES = (
    (int, "int64"),
    (float, "float64"),
    (Decimal, "decimal"),
    (str, "text"),
    (bytes, "bytes"),
    (datetime.datetime, "timestamp"),
    (datetime.date, "date"),
    (datetime.time, "time"),
)

_ENCODERS = {
    "boolean": _boolean,
    "int64": _integer(types.Value_Int64, -(2**63), 2**63 - 1),
    "uint64": _integer(types.Value_Uint64, 0, 2**64 - 1),
    "float64": lambda value: types.Value_Float64(float(value)),
    "decimal": lambda value: types.Value_Decimal(str(value)),
    "text": _text,
    "bytes": lambda value: types.Value_Bytes(bytes(value)),
    "date": _date,
    "time": _time,
    "timestamp": _timestamp(types.Value_Timestamp),
    "timestamp-utc": _timestamp(types.Value_TimestampUtc),
    "json": _json,
    "any": _any,
    "other": lambda value: types.Value_Other(str(value)),
}
