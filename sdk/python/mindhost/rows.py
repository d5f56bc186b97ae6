"""Rows of Python values on their way to the host."""

import datetime
import json
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, Literal

from ._host import waits
from ._texts import well_formed
from .catalog import Column, DataType
from .errors import PluginError

# What a value takes beside its text or bytes.
_FIXED = 16
# Rows that come slowly are given after so long, and do not wait for a whole batch.
_PATIENCE_SECONDS = 0.2
# The clock is outside of the component: it is read after so many rows at the latest.
_ROWS_A_LOOK = 64
_EPOCH = datetime.datetime(1970, 1, 1)
_MICROSECOND = datetime.timedelta(microseconds=1)
# None would be a row that a plugin made by mistake.
_END = object()


@dataclass(frozen=True)
class Cell:
    """A value as tests see it. In a component the glue puts the contract's own values in its place."""

    tag: str
    value: Any = None


class Wire:
    """How values, columns and batches are made for the caller of the plugin."""

    def __init__(self) -> None:
        self.make: dict[str, Callable[[Any], Any]] = {tag: _cell(tag) for tag in TAGS}
        self.null: Callable[[], Any] = lambda: Cell("null")
        self.column: Callable[[str, str, str, bool, list[tuple[str, str]]], Any] = lambda *about: about
        self.batch: Callable[[list[list[Any]]], Any] = lambda rows: rows


def _cell(tag: str) -> Callable[[Any], Cell]:
    return lambda value: Cell(tag, value)


TYPES = (
    "boolean",
    "int64",
    "uint64",
    "float64",
    "decimal",
    "text",
    "bytes",
    "date",
    "time",
    "timestamp",
    "timestamp-utc",
    "json",
)
TAGS = (*TYPES, "other")
WIRE = Wire()


@dataclass
class Tagged:
    """A value whose type the column does not say: for columns of type `any` and dynamic ones."""

    type: DataType | Literal["other"]
    value: Any


class Answer:
    """An answer in progress: columns, and rows taken from an iterable as the host asks for them."""

    def __init__(self, columns: list[Column], rows: Iterable[Any], max_cell_bytes: int = 16 << 20):
        self._own = columns
        self._rows: Iterator[Any] = iter(rows)
        self._max_cell_bytes = max_cell_bytes
        self._waiting: tuple[list[Any], int] | None = None
        self.columns = [column(own) for own in columns]

    def next(self, max_rows: int, max_bytes: int) -> Any:
        """The next rows in both limits, or those that came in time; a larger row comes alone. None at the end."""
        batch: list[list[Any]] = []
        size = 0
        pace = _Pace()
        while len(batch) < max_rows:
            row, self._waiting = self._waiting or self._row(), None
            if row is None:
                break
            if batch and size + row[1] > max_bytes:
                self._waiting = row
                break
            batch.append(row[0])
            size += row[1]
            if pace.is_over(len(batch)):
                break
        return WIRE.batch(batch) if batch else None

    def close(self) -> None:
        """Ends the iteration, finished or not."""
        if hasattr(self._rows, "close"):
            self._rows.close()

    def _row(self) -> tuple[list[Any], int] | None:
        row = next(self._rows, _END)
        if row is _END:
            return None
        given = [row.get(own.name) for own in self._own] if isinstance(row, Mapping) else _values(row)
        if len(given) != len(self._own):
            raise PluginError("internal", f"a row has {len(given)} values for {len(self._own)} columns")
        cells = [_encode(own, value) for own, value in zip(self._own, given)]
        size = 0
        for own, cell in zip(self._own, cells):
            bytes_of = _size(cell)
            if bytes_of > self._max_cell_bytes:
                raise PluginError("too-large", f"a value of {own.name} is larger than {self._max_cell_bytes} bytes")
            size += _FIXED + bytes_of
        return cells, size


class _Pace:
    """Whether a batch has taken long enough since its first row, at little cost a row."""

    def __init__(self) -> None:
        self._began = 0.0
        self._waits = 0
        self._next_look = 2

    def is_over(self, count: int) -> bool:
        """With so many rows. Looks at the clock after something was waited for, and else seldom."""
        waited = waits()
        if count == 1:
            self._began, self._waits = time.monotonic(), waited
            return False
        if waited == self._waits and count < self._next_look:
            return False
        self._waits, self._next_look = waited, count + min(count, _ROWS_A_LOOK)
        return time.monotonic() - self._began >= _PATIENCE_SECONDS


def column(own: Column) -> Any:
    """A column in the contract's words."""
    if own.type not in TYPES and own.type != "any":
        raise PluginError("internal", f"column {own.name} has the unknown type {own.type}")
    return WIRE.column(
        # Engines name a column after its expression, however long that is; a name has 4,096 bytes and no NUL.
        well_formed(own.name[:1000].replace("\0", "\ufffd")),
        own.type,
        well_formed(own.native_type),
        own.nullable,
        [("dynamic", "true")] if own.dynamic else [],
    )


def _values(row: Any) -> Any:
    """The values of a row that is no dict. A text has letters and not values."""
    if isinstance(row, (list, tuple)):
        return row
    if isinstance(row, (str, bytes)) or not isinstance(row, Iterable):
        raise PluginError("internal", f"a row is a Python {type(row).__name__}, and neither a sequence nor a dict")
    return list(row)


def _size(cell: Any) -> int:
    value = getattr(cell, "value", None)
    if isinstance(value, str):
        return len(value) if value.isascii() else len(value.encode())
    return len(value) if isinstance(value, bytes) else 0


def _made(tag: str, value: Any) -> Any:
    """A value of the contract. All texts of rows come through here."""
    return WIRE.make[tag](well_formed(value) if isinstance(value, str) else value)


def _encode(own: Column, value: Any) -> Any:
    if value is None:
        return WIRE.null()
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


_SUITS: dict[str, Any] = {"boolean": bool, "int64": int, "uint64": int, "float64": (int, float), "text": str, "bytes": bytes}


def _integer(tag: str, least: int, most: int) -> Callable[[Any], Any]:
    def encode(value: Any) -> Any:
        number = int(value)
        if not isinstance(value, str) and number != value:
            raise ValueError
        return _made(tag, number) if least <= number <= most else _made("other", str(number))

    return encode


def _boolean(value: Any) -> Any:
    # Some engines have no truth values but 0 and 1. A text is none: "false" would be true.
    if isinstance(value, (bool, int)) and value in (0, 1):
        return _made("boolean", bool(value))
    raise TypeError


def _text(value: Any) -> Any:
    # What has parts is no text, and its Python spelling is nobody's.
    if isinstance(value, (list, tuple, dict, set, bytes, bytearray)):
        raise TypeError
    return _made("text", str(value))


def _date(value: Any) -> Any:
    if isinstance(value, str):
        try:
            value = datetime.date.fromisoformat(value)
        except ValueError:
            return _made("other", value)
    return _made("date", (value - _EPOCH.date()).days)


def _time(given: Any) -> Any:
    value = given
    if isinstance(given, str):
        try:
            value = datetime.time.fromisoformat(given)
        except ValueError:
            return _made("other", given)
    # The contract's time has no zone, and 13:45 in Rome is not 13:45 anywhere.
    if value.tzinfo is not None:
        return _made("other", str(given))
    seconds = (value.hour * 60 + value.minute) * 60 + value.second
    return _made("time", seconds * 1_000_000 + value.microsecond)


def _timestamp(tag: str) -> Callable[[Any], Any]:
    def encode(given: Any) -> Any:
        value = given
        if isinstance(given, str):
            try:
                value = datetime.datetime.fromisoformat(given)
            except ValueError:
                return _made("other", given)
        if value.tzinfo is not None:
            try:
                value = value.astimezone(datetime.timezone.utc).replace(tzinfo=None)
            except OverflowError:
                # In UTC it is before the year 1 or after 9999, which Python cannot say.
                return _made("other", str(given))
        return _made(tag, (value - _EPOCH) // _MICROSECOND)

    return encode


def _json(value: Any) -> Any:
    return _made("json", value if isinstance(value, str) else json.dumps(value, ensure_ascii=False))


def _any(value: Any) -> Any:
    if isinstance(value, bool):
        return _made("boolean", value)
    for kind, name in _NAMES:
        if isinstance(value, kind):
            return _ENCODERS[name](value)
    return _json(value)


_NAMES: tuple[tuple[Any, DataType], ...] = (
    (int, "int64"),
    (float, "float64"),
    (Decimal, "decimal"),
    (str, "text"),
    (bytes, "bytes"),
    (datetime.datetime, "timestamp"),
    (datetime.date, "date"),
    (datetime.time, "time"),
)

_ENCODERS: dict[str, Callable[[Any], Any]] = {
    "boolean": _boolean,
    "int64": _integer("int64", -(2**63), 2**63 - 1),
    "uint64": _integer("uint64", 0, 2**64 - 1),
    "float64": lambda value: _made("float64", float(value)),
    "decimal": lambda value: _made("decimal", str(value)),
    "text": _text,
    "bytes": lambda value: _made("bytes", bytes(value)),
    "date": _date,
    "time": _time,
    "timestamp": _timestamp("timestamp"),
    "timestamp-utc": _timestamp("timestamp-utc"),
    "json": _json,
    "any": _any,
    "other": lambda value: _made("other", str(value)),
}
