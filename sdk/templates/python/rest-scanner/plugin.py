"""A REST API as tables: the rows come from here, the SQL from the host."""

from collections.abc import Iterator
from typing import Any

from mindhost import (
    Column,
    Filter,
    FilterSupport,
    ForeignKey,
    PluginError,
    Row,
    Scan,
    Scanner,
    Table,
    TableName,
    http,
)

# Rows of a page: the most that the API gives.
PAGE = 25
# How often a page is asked for again while the API is busy.
RETRIES = 4

TABLES = {
    ("main", "customers"): Table(
        columns=[
            Column("id", "int64", nullable=False),
            Column("name", "text", nullable=False),
            Column("email", "text"),
            Column("since", "date", nullable=False),
        ],
        primary_key=["id"],
    ),
    ("main", "orders"): Table(
        columns=[
            Column("id", "int64", nullable=False),
            Column("customer_id", "int64", nullable=False),
            Column("status", "text", nullable=False),
            Column("total", "decimal", "decimal(12,2)", nullable=False),
            Column("placed_at", "timestamp-utc", nullable=False),
        ],
        primary_key=["id"],
        foreign_keys=[ForeignKey(["customer_id"], ("main", "customers"), ["id"])],
    ),
}


class Plugin(Scanner):
    """`self.config` is what the datasource is configured with. The host adds `token` to the requests."""

    def __init__(self, config: dict[str, Any]):
        super().__init__(config)
        self.check()

    def check(self) -> tuple[str, str]:
        # One row proves that the address and the token are right.
        next(self.pages("customers", limit=1))
        return "Shop API", "1"

    def tables(self) -> list[TableName]:
        return list(TABLES)

    def describe(self, table: TableName) -> Table | None:
        return TABLES.get(table)

    def filter_support(self, table: TableName, asked: Filter) -> FilterSupport:
        """The API finds orders by their status. The host applies every other filter."""
        is_known = table[1] == "orders" and asked.column == "status" and asked.op == "eq"
        return "exact" if is_known else "no"

    def scan(self, table: TableName, asked: Scan) -> Iterator[Row]:
        statuses = {one.values[0] for one in asked.filters}
        # No order has two statuses.
        if len(statuses) > 1:
            return
        left = asked.limit
        limit = PAGE if left is None else min(left, PAGE)
        for page in self.pages(table[1], status=next(iter(statuses), None), limit=limit):
            yield from page
            if left is not None:
                left -= len(page)
                if left <= 0:
                    return

    def pages(self, name: str, **parameters: Any) -> Iterator[list[Row]]:
        """The pages of a path, one after another, each asked for when its rows are needed."""
        first = http.with_query(f"{self.config['url'].rstrip('/')}/{name}", **parameters)

        def by_cursor(page: Any, _: http.Response) -> str | None:
            return page["next"] and http.with_query(first, after=page["next"])

        # The header `Link` leads to more customers; orders have a cursor.
        for page in http.pages(first, next=by_cursor if name == "orders" else None, retries=RETRIES):
            rows = page.get(name) if isinstance(page, dict) else None
            if not isinstance(rows, list):
                raise PluginError("upstream", f"the API gave a page without {name}")
            yield rows
