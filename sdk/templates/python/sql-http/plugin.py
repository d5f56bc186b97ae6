"""A SQL engine that is asked over HTTP: it answers with lines of JSON, the columns first, then one array a row."""

import json
from collections.abc import Iterable
from typing import Any

from mindhost import Column, Connector, DataType, ErrorKind, PluginError, Row, Statement, Table, TableName, http

TYPES: dict[str, DataType] = {"integer": "int64", "real": "float64", "text": "text", "blob": "bytes"}

KINDS: dict[int, ErrorKind] = {
    400: "invalid-statement",
    401: "auth",
    403: "auth",
    408: "timeout",
    413: "too-large",
    429: "rate-limited",
}


class Plugin(Connector):
    """`self.config` is what the datasource is configured with. The host adds `api_key` to the requests."""

    def __init__(self, config: dict[str, Any]):
        super().__init__(config)
        self.check()

    def check(self) -> tuple[str, str]:
        told = answered(http.get(f"{self.config['url']}/version")).json()
        return told["product"], told["version"]

    def tables(self) -> list[TableName]:
        _, rows = self.ask("select name from sqlite_master where type in ('table', 'view') order by name")
        return [("main", name) for (name,) in rows]

    def describe(self, table: TableName) -> Table | None:
        schema, name = table
        quoted = name.replace("'", "''")
        _, rows = self.ask(f"""select name, type, "notnull" from pragma_table_info('{quoted}') order by cid""")
        columns = [
            Column(column, TYPES.get(native.lower(), "any"), native, nullable=not_null == 0)
            for column, native, not_null in rows
        ]
        return Table(columns) if schema == "main" and columns else None

    def query(self, statement: Statement) -> tuple[list[Column], Iterable[Row]]:
        return self.ask(statement.text, statement.timeout_ms)

    def ask(self, sql: str, timeout_ms: int = 10_000) -> tuple[list[Column], Iterable[Any]]:
        """The columns of an answer, and its rows as they arrive."""
        headers = {"x-timeout-ms": str(timeout_ms)}
        lines = answered(http.post(f"{self.config['url']}/query", sql, headers=headers)).lines()
        head = next(lines, None)
        if head is None:
            raise PluginError("connection-lost", "the engine ended its answer too early")
        columns = [
            # This engine does not enforce its types.
            Column(own["name"], TYPES.get(own["type"], "any"), own["type"], dynamic=True)
            for own in json.loads(head)["columns"]
        ]
        return columns, (json.loads(line, object_hook=as_bytes) for line in lines)


def as_bytes(cell: dict[str, str]) -> bytes:
    """`{"hex": "00ff"}` stands for bytes."""
    return bytes.fromhex(cell["hex"])


def answered(response: http.Response) -> http.Response:
    """The engine's refusals in the contract's words."""
    if response.status == 200:
        return response
    try:
        message = json.loads(response.text(64 << 10))["error"]
    except (ValueError, KeyError):
        message = "the engine gave no reason"
    raise PluginError(KINDS.get(response.status, "upstream"), message, code=str(response.status))
