"""Values and columns of the contract, in the place of those that tests see."""

from typing import Any

from mindhost.rows import TAGS, WIRE
from wit_world.imports import mindhost_plugin_types as types


def _column(name: str, type: str, native_type: str, nullable: bool, extra: list[tuple[str, str]]) -> types.Column:
    return types.Column(name, types.DataType[type.upper().replace("-", "_")], native_type, nullable, extra)


def _value(tag: str) -> Any:
    """The class of a value: `Value_TimestampUtc`."""
    return getattr(types, "Value_" + "".join(word.capitalize() for word in tag.split("-")))


WIRE.make = {tag: _value(tag) for tag in TAGS}
WIRE.null = types.Value_Null
WIRE.column = _column
WIRE.batch = types.Batch_Rows
