"""What the glue of all worlds shares."""

import dataclasses
import functools
import json
import random
from pathlib import Path
from typing import Any

# Before the plugin: what it prints while it is loaded goes where it should, and what it imports from is complete.
import mindhost_library
import mindhost_output
import mindhost_wasi  # noqa: F401
import mindhost_wire  # noqa: F401
import plugin
from componentize_py_types import Err
from mindhost._host import called
from mindhost._texts import well_formed
from mindhost.catalog import Table
from mindhost.errors import PluginError
from wit_world.imports import mindhost_plugin_types as types

# Read while the component is made. The host wants what `plugin pack` wrote, whatever the white space.
_ROOT = Path(plugin.__file__).parent
_MANIFEST = json.loads((_ROOT / "manifest.json").read_text())
# For editors alone.
_MANIFEST.pop("$schema", None)
MANIFEST = json.dumps(_MANIFEST)

if not hasattr(plugin, "Plugin"):
    raise ImportError("plugin.py has no class `Plugin`")
Plugin = plugin.Plugin
mindhost_output.install(_ROOT)


_is_seeded = False


def _seed() -> None:
    """Every instance begins with the memory of the build, so it would draw the same numbers as all others."""
    global _is_seeded
    if not _is_seeded:
        _is_seeded = True
        random.seed()


def guarded(work: Any) -> Any:
    """Whatever a function of the plugin raises becomes an error of the contract.

    The trace of a fault, and of what caused a refusal, goes to the plugin log: callers never see it. All texts to the
    host come through here, but those of rows, which `mindhost.rows` makes.
    """

    @functools.wraps(work)
    def call(*arguments: Any) -> Any:
        called()
        _seed()
        try:
            return _sound(work(*arguments))
        except PluginError as error:
            if error.kind == "internal" or error.__cause__ is not None:
                mindhost_output.log_trace(error, _ROOT)
            raise Err(_wire(error)) from None
        except (Exception, SystemExit) as error:
            hint = mindhost_library.hint(error)
            if hint:
                error.add_note(hint)
            mindhost_output.log_trace(error, _ROOT)
            message = "; ".join(filter(None, [f"{type(error).__name__}: {error}", hint]))
            raise Err(_wire(PluginError("internal", message))) from None

    return call


def _sound(value: Any) -> Any:
    """The same with well-formed texts, without which the instance ends. The contract's own objects are changed."""
    if isinstance(value, str):
        return well_formed(value)
    if isinstance(value, list):
        return [_sound(one) for one in value]
    if isinstance(value, tuple):
        return tuple(map(_sound, value))
    if dataclasses.is_dataclass(value) and not isinstance(value, (type, types.Batch_Rows)):
        for field in dataclasses.fields(value):
            setattr(value, field.name, _sound(getattr(value, field.name)))
    return value


def _wire(error: PluginError) -> types.Error:
    return types.Error(
        _kind(error.kind),
        well_formed(error.code),
        well_formed(error.message),
        error.position,
        error.retry_after_ms,
        error.connection_usable,
        [],
    )


def _kind(kind: str) -> types.ErrorKind:
    """An unknown word is a fault of the plugin; the message still helps."""
    return types.ErrorKind.__members__.get(kind.upper().replace("-", "_"), types.ErrorKind.INTERNAL)


def settings(config: types.Config) -> dict[str, Any]:
    """The configuration. The host has checked it against the schema of the manifest and filled in the defaults."""
    return json.loads(config.json)


def server_info(told: tuple[str, str]) -> types.ServerInfo:
    """Product and version."""
    return types.ServerInfo(told[0], str(told[1]), [])


def name_of(table: types.TableRef) -> tuple[str, str]:
    """A table as authors have it."""
    return (table.schema, table.name)


def table(name: tuple[str, str], about: Table) -> Any:
    """A table in the contract's words."""
    from wit_world.imports import catalog_types as catalog

    columns = [
        catalog.TableColumn(
            own.name,
            ordinal,
            own.native_type or own.type,
            own.nullable,
            own.default_value,
            own.comment,
            [("data-type", own.type)],
        )
        for ordinal, own in enumerate(about.columns, 1)
    ]
    primary = [catalog.KeyColumn("primary key", at, column) for at, column in enumerate(about.primary_key, 1)]
    foreign = [
        catalog.ForeignKeyColumn(
            key.name or f"foreign key {number}", at, column, types.TableRef(*key.references), referenced
        )
        for number, key in enumerate(about.foreign_keys, 1)
        for at, (column, referenced) in enumerate(zip(key.columns, key.referenced_columns, strict=True), 1)
    ]
    reference = types.TableRef(*name)
    return catalog.Table(reference, about.kind, about.comment, about.row_count, columns, primary, foreign, [])


class Described:
    """What a connection and a source have in common. `self.plugin` is the author's."""

    plugin: Any

    @guarded
    def check(self) -> types.ServerInfo:
        return server_info(self.plugin.check())

    @guarded
    def tables(self) -> list[types.TableRef]:
        return [types.TableRef(*name) for name in self.plugin.tables()]

    @guarded
    def describe_tables(self, tables: list[types.TableRef]) -> list[Any]:
        described = self.plugin.describe_tables([name_of(one) for one in tables])
        return [table(name, about) for name, about in described]
