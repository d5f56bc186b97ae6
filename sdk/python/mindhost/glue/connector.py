"""The resources of the interface `connector`: componentize-py looks for them under this name."""

from typing import Any, Self

from mindhost.catalog import ColumnStatistics, StatisticsOptions
from mindhost.errors import PluginError
from mindhost.kinds import Statement
from mindhost.rows import Answer
from shared import Described, Plugin, guarded, name_of, settings
from wit_world.exports import connector as wit
from wit_world.imports import mindhost_plugin_types as types


class Cursor(wit.Cursor):
    def __init__(self, connection: "Connection", answer: Answer):
        self._connection = connection
        self._answer: Answer | None = answer

    def schema(self) -> list[types.Column]:
        return self._answer.columns if self._answer else []

    def cancel_key(self) -> bytes | None:
        return None

    @guarded
    def next(self, max_rows: int, max_bytes: int) -> types.Batch | None:
        return self._answer.next(max_rows, max_bytes) if self._answer else None

    @guarded
    def close(self) -> bool:
        answer, self._answer = self._answer, None
        self._connection.cursor = None
        if answer:
            answer.close()
        return True


class Connection(Described, wit.Connection):
    def __init__(self, plugin: Any):
        self.plugin = plugin
        self.cursor: Cursor | None = None

    @classmethod
    @guarded
    def open(cls, config: types.Config) -> Self:
        return cls(Plugin(settings(config)))

    def cancel_key(self) -> bytes | None:
        return self.plugin.cancel_key()

    @guarded
    def statistics(self, table: types.TableRef, options: Any) -> list[Any] | None:
        asked = StatisticsOptions(list(options.columns), options.max_rows, options.max_ms)
        told = self.plugin.statistics(name_of(table), asked)
        return None if told is None else [_statistics(one) for one in told]

    @guarded
    def begin_snapshot(self, timeout_ms: int) -> bool:
        return self.plugin.begin_snapshot(timeout_ms)

    @guarded
    def end_snapshot(self) -> None:
        self.plugin.end_snapshot()

    @guarded
    def query(self, statement: Any) -> Cursor:
        if self.cursor:
            raise PluginError("internal", "a cursor of this connection is still open")
        asked = Statement(statement.text, statement.id, statement.timeout_ms, statement.max_cell_bytes)
        columns, rows = self.plugin.query(asked)
        self.cursor = Cursor(self, Answer(columns, rows, statement.max_cell_bytes))
        return self.cursor


def _statistics(own: ColumnStatistics) -> Any:
    """The statistics of a column in the contract's words."""
    from wit_world.imports import catalog_types as catalog

    return catalog.ColumnStatistics(
        own.column,
        own.null_fraction,
        own.distinct_count,
        list(own.common_values),
        own.min_value,
        own.max_value,
        own.estimated,
        own.sampled_rows,
        [],
    )
