"""What a plugin says of its tables and columns."""

from dataclasses import dataclass, field
from typing import Literal

DataType = Literal[
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
    "any",
]
"""The type of a column."""


@dataclass
class Column:
    """A column of a table or an answer."""

    name: str
    type: DataType = "any"
    native_type: str = ""
    nullable: bool = True
    default_value: str | None = None
    comment: str | None = None
    dynamic: bool = False
    """Its engine does not enforce the type: a value of another type travels as what it is."""


@dataclass
class ForeignKey:
    """Columns that refer to columns of another table, in the same order."""

    columns: list[str]
    references: tuple[str, str]
    """Schema and name."""
    referenced_columns: list[str]
    name: str = ""


@dataclass
class Table:
    """What there is to know of a table."""

    columns: list[Column]
    kind: str = "TABLE"
    comment: str | None = None
    row_count: int | None = None
    primary_key: list[str] = field(default_factory=list)
    foreign_keys: list[ForeignKey] = field(default_factory=list)


@dataclass
class StatisticsOptions:
    """What statistics the host wants of a table."""

    columns: list[str]
    max_rows: int
    """No more rows than this may be read to answer."""
    max_ms: int
    """The answer should not take longer."""


@dataclass
class ColumnStatistics:
    """What the engine knows of a column; None where it does not know. Shares are from 0 to 1."""

    column: str
    null_fraction: float | None = None
    distinct_count: int | None = None
    """Distinct values, without NULL."""
    common_values: list[tuple[str, float]] = field(default_factory=list)
    """Values as text with their share of all rows, the most common first."""
    min_value: str | None = None
    max_value: str | None = None
    estimated: bool = True
    """Whether the figures are estimates."""
    sampled_rows: int | None = None
    """Rows that were read, if it was a sample."""
