"""The resources of the interface `scanner`: componentize-py looks for them under this name."""

from typing import Any, Self

from mindhost._texts import well_formed
from mindhost.catalog import Column
from mindhost.errors import PluginError
from mindhost.kinds import Filter, Scan
from mindhost.rows import Answer, column
from shared import Described, Plugin, guarded, name_of, settings
from wit_world.exports import scanner as wit
from wit_world.imports import mindhost_plugin_types as types


class Cursor(wit.Cursor):
    def __init__(self, answer: Answer):
        self._answer = answer

    def schema(self) -> list[types.Column]:
        return self._answer.columns

    @guarded
    def next(self, max_rows: int, max_bytes: int) -> types.Batch | None:
        return self._answer.next(max_rows, max_bytes)

    @guarded
    def close(self) -> bool:
        self._answer.close()
        return True


class Source(Described, wit.Source):
    def __init__(self, plugin: Any):
        self.plugin = plugin

    @classmethod
    @guarded
    def open(cls, config: types.Config) -> Self:
        return cls(Plugin(settings(config)))

    @guarded
    def columns(self, table: types.TableRef) -> list[types.Column]:
        return [column(own) for own in self._columns(table)]

    @guarded
    def filter_support(self, table: types.TableRef, filters: list[wit.Filter]) -> list[wit.Pushdown]:
        support = (self.plugin.filter_support(name_of(table), _filter(one)) for one in filters)
        return [wit.Pushdown[word.upper()] for word in support]

    @guarded
    def scan(self, request: wit.ScanRequest) -> Cursor:
        # The host has their names as well-formed texts.
        columns = {well_formed(own.name): own for own in self._columns(request.table)}
        if missing := [name for name in request.projection if name not in columns]:
            raise PluginError("not-found", f"{request.table.name} has no column {missing[0]}")
        filters = [_filter(one) for one in request.filters]
        projected = [columns[name] for name in request.projection]
        asked = Scan([own.name for own in projected], filters, request.limit, request.id)
        rows = self.plugin.scan(name_of(request.table), asked)
        return Cursor(Answer(projected, rows, request.max_cell_bytes))

    def _columns(self, table: types.TableRef) -> list[Column]:
        about = self.plugin.describe(name_of(table))
        if about is None:
            raise PluginError("not-found", f"there is no table {table.name}")
        return about.columns


def _filter(one: wit.Filter) -> Filter:
    return Filter(one.column, one.op.name.lower().replace("_", "-"), [getattr(v, "value", None) for v in one.values])
