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
