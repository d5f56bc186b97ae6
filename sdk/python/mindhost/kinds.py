"""The three kinds of plugins. Derive `Plugin` from one of them; each docstring says when the host calls it."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from .catalog import Column, Table
from .errors import PluginError

TableName = tuple[str, str]
"""Schema and name. A source without schemas uses `main`."""


@dataclass
class Statement:
    """One read-only statement, already guarded by the host."""

    text: str
    id: str
    timeout_ms: int
    max_cell_bytes: int


class Connector:
    """A SQL engine, as one live connection to it. Rows are sequences in the order of the columns, or dicts."""

    def __init__(self, config: dict[str, Any]):
        """Connects and proves that the engine answers. Called once for each instance."""
        self.config = config

    def check(self) -> tuple[str, str]:
        """Asks the engine whether it still answers, and who it is: product and version."""
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

    def begin_snapshot(self, timeout_ms: int) -> bool:
        """From here to `end_snapshot` all statements see one state. False when the engine has no such thing."""
        return False

    def end_snapshot(self) -> None:
        """Ends the snapshot."""

    def query(self, statement: Statement) -> tuple[list[Column], Iterable[Any]]:
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
    """A condition on one column: `op` is `eq`, `not-eq`, `lt`, `lt-eq`, `gt`, `gt-eq`, `in-list`, `is-null`,
    `is-not-null` or `like`."""

    column: str
    op: str
    values: list[Any]


@dataclass
class Scan:
    """What a scan asks for: these columns in this order, filters, and a limit that counts when all filters are exact."""

    columns: list[str]
    filters: list[Filter]
    limit: int | None
    id: str


class Scanner:
    """A source that yields rows of a table and knows no SQL."""

    def __init__(self, config: dict[str, Any]):
        """Opens the source and proves that it answers."""
        self.config = config

    check = Connector.check
    tables = Connector.tables
    describe = Connector.describe
    describe_tables = Connector.describe_tables

    def filter_support(self, table: TableName, asked: Filter) -> str:
        """How far a scan applies a filter: `no`, `inexact` (the host filters again) or `exact`."""
        return "no"

    def scan(self, table: TableName, asked: Scan) -> Iterable[Any]:
        """The rows, as dicts or in the order of the columns asked for."""
        raise NotImplementedError


class Model:
    """A language model."""

    def __init__(self, config: dict[str, Any]):
        self.config = config

    def complete(self, request: Any) -> Iterator[dict[str, Any]]:
        """Yields events: `{"text": …}`, `{"tool_call": {"id", "name", "arguments"}}`, `{"usage": {"input": 1}}`, and
        at last `{"stop": "end"}` (`tool-calls`, `length`, `refused`, `other`).

        A generator. It runs to its first event while the host starts the answer, so that a refusal is told at once; yield
        None when the vendor has accepted and nothing is there yet.
        """
        raise NotImplementedError

    def check(self) -> str:
        """Proves that the configuration works, without cost where the vendor allows; a short text for a person."""
        raise NotImplementedError

    def models(self) -> list[str]:
        """The names of the models that the configuration reaches."""
        return []
