import json
import logging
import sys
import time
from collections.abc import Iterator

from lib import total

from mindhost import Column, PluginError, Row, Scan, Scanner, Table, TableName, control, http, log

ITEMS = Table(
    [
        Column("n", "int64"),
        Column("id", "decimal", "decimal(20,0)"),
        Column("amount", "decimal", "decimal(30,19)"),
        Column("at", "timestamp-utc"),
    ]
)


class Plugin(Scanner):
    def check(self) -> tuple[str, str]:
        began = time.monotonic()
        control.sleep(0.15)
        print("slept", {"enough": time.monotonic() - began >= 0.15})
        # Half a pair, a module that is loaded late, a codec, and more levels than the stack has.
        print("half \ud83d of", time.strptime("2024", "%Y").tm_year, "é".encode("cp1252"))
        try:
            json.loads("[" * 100_000)
        except RecursionError as error:
            print(error)
        print("a warning\nin two lines", file=sys.stderr)
        logging.getLogger("items").info("%d details", 2)
        log.debug("a detail")
        return "Items", "1"

    def tables(self) -> list[TableName]:
        return [("main", "items"), ("main", "broken"), ("main", "refused")]

    def describe(self, table: TableName) -> Table | None:
        return ITEMS

    def scan(self, table: TableName, asked: Scan) -> Iterator[Row]:
        first = http.with_query(f"{self.config['url']}/items", page=1)
        for page in http.pages(first, retries=3, exact=True):
            yield from page["items"]
        if table[1] == "broken":
            total(["one"])
        if table[1] == "refused":
            refuse()


def refuse() -> None:
    try:
        total(["one"])
    except TypeError as error:
        raise PluginError("upstream", "the items are odd") from error
