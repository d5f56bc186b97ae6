"""The three kinds of plugins. Derive `Plugin` from one of them; each docstring says when the host calls it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Union

from .catalog import Column, ColumnStatistics, StatisticsOptions, Table
from .errors import PluginError
from .messages import Event, Request

TableName = tuple[str, str]
"""Schema and name. A source without schemas uses `main`."""

Row = Union[Sequence[Any], Mapping[str, Any]]
"""Values in the order of the columns, or a dict with a value a column."""

Operator = Literal["eq", "not-eq", "lt", "lt-eq", "gt", "gt-eq", "in-list", "is-null", "is-not-null", "like"]
"""What a filter compares with."""

FilterSupport = Literal["no", "inexact", "exact"]
"""How far a scan applies a filter: not at all, roughly (the host filters again), or exactly."""


@dataclass
class Statement:
    """One read-only statement, already guarded by the host."""

    text: str
    id: str
    """The host's id of this execution, for the engine's own log."""
    timeout_ms: int
    """The engine should stop the statement by itself after this long."""
    max_cell_bytes: int
    """A larger cell is the error `too-large`."""


class _Source:
    """What connectors and scanners have in common."""

    def __init__(self, config: dict[str, Any]):
        """Connects and proves that the source answers. Called once for each instance."""
        self.config = config

    def check(self) -> tuple[str, str]:
        """Asks the source whether it still answers, and who it is: product and version."""
        raise NotImplementedError

    def tables(self) -> Iterable[TableName]:
        """Every table and view that the configuration reaches."""
        raise NotImplementedError

    def describe(self, table: TableName) -> Table | None:
        """Columns, keys and comments of a table; none when it is gone."""
        raise NotImplementedError

    def describe_tables(self, tables: Sequence[TableName]) -> Iterable[tuple[TableName, Table]]:
        """As `describe`, for up to 50 tables at a time. Override it where the engine tells many in one statement."""
        described = ((table, self.describe(table)) for table in tables)
        return [(table, about) for table, about in described if about is not None]


class Connector(_Source):
    """A SQL engine, as one live connection to it."""

    def statistics(self, table: TableName, options: StatisticsOptions) -> Iterable[ColumnStatistics] | None:
        """The engine's own statistics. None when it has no fresh ones: the host then reads a sample itself."""
        return None

    def begin_snapshot(self, timeout_ms: int) -> bool:
        """From here to `end_snapshot` all statements see one state. False when the engine has no such thing."""
        return False

    def end_snapshot(self) -> None:
        """Ends the snapshot."""

    def query(self, statement: Statement) -> tuple[list[Column], Iterable[Row]]:
        """Starts a statement: its columns, and its rows from something that is read as the host asks for them."""
        raise NotImplementedError

    def cancel_key(self) -> bytes | None:
        """What `cancel` needs to stop whatever runs on this connection."""
        return None

    @classmethod
    def cancel(cls, config: dict[str, Any], key: bytes) -> None:
        """Stops what runs on another instance's connection. Called on a fresh instance."""
        raise PluginError("unsupported", "this connector has no cancel request")


@dataclass
class Filter:
    """A condition on one column.

    The values have the type of the column and are never none: a `date` is days since 1970, a `timestamp` or
    `timestamp-utc` microseconds since 1970 in UTC, a `time` microseconds since midnight (`mindhost.values` turns them
    into dates), a `decimal` is text. There is one value for a comparison and for `like` (a pattern with `%`, `_` and
    `\\`), at least one for `in-list`, and none for `is-null` and `is-not-null`.
    """

    column: str
    op: Operator
    values: list[Any]


@dataclass
class Scan:
    """What a scan asks for. The order of the rows is the scanner's: the host sorts."""

    columns: list[str]
    """These columns, in this order."""
    filters: list[Filter]
    """All of them must hold; none that `filter_support` answered with `no`."""
    limit: int | None
    """More rows are of no use. None unless all filters of the statement are exact."""
    id: str


class Scanner(_Source):
    """A source that yields rows of a table and knows no SQL."""

    def filter_support(self, table: TableName, asked: Filter) -> FilterSupport:
        """How far a scan applies a filter: `no`, `inexact` (the host filters again) or `exact`."""
        return "no"

    def scan(self, table: TableName, asked: Scan) -> Iterable[Row]:
        """The rows, as dicts or in the order of the columns asked for."""
        raise NotImplementedError


class Model:
    """A language model."""

    def __init__(self, config: dict[str, Any]):
        self.config = config

    def complete(self, request: Request) -> Iterator[Event | None]:
        """Yields events: `{"text": …}`, `{"tool_call": {"id", "name", "arguments"}}`, `{"usage": {"input": 1}}`, and
        at last `{"stop": "end"}` (`tool-calls`, `length`, `refused`, `other`).

        A generator. It runs to its first event while the host starts the answer, so that a refusal is told at once;
        yield None when the vendor has accepted and nothing is there yet.
        """
        raise NotImplementedError

    def check(self) -> str:
        """Proves that the configuration works, without cost where the vendor allows; a short text for a person."""
        raise NotImplementedError

    def models(self) -> list[str]:
        """The names of the models that the configuration reaches."""
        return []
