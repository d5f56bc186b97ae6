"""A file of JSON lines as a table: the rows come from here, the SQL from the host."""

import json
from collections.abc import Iterator
from typing import TextIO

from mindhost import Column, PluginError, Row, Scan, Scanner, Table, TableName

PLANETS = Table(
    columns=[
        Column("name", "text", nullable=False),
        Column("diameter_km", "int64", nullable=False),
        Column("gravity", "float64"),
        Column("discovered", "date"),
    ],
    primary_key=["name"],
)


class Plugin(Scanner):
    """`self.config` is what the datasource is configured with; manifest.json has its schema."""

    def check(self) -> tuple[str, str]:
        self.open().close()
        return "JSON lines", "0.1.0"

    def tables(self) -> list[TableName]:
        return [("main", "planets")]

    def describe(self, table: TableName) -> Table | None:
        return PLANETS if table == ("main", "planets") else None

    # A source that can filter says so in `filter_support`, and then `asked.filters` has what to leave out.

    def scan(self, table: TableName, asked: Scan) -> Iterator[Row]:
        with self.open() as file:
            for line in file:
                try:
                    yield json.loads(line)
                except ValueError as error:
                    raise PluginError("upstream", f"a line of {table[1]} is not JSON") from error

    def open(self) -> TextIO:
        """The host opens this file and nothing else."""
        try:
            return open(self.config["path"], encoding="utf-8")
        except FileNotFoundError:
            raise PluginError("not-found", f"{self.config['path']} is not there") from None
