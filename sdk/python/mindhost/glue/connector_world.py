"""The world `sql-connector`."""

# componentize-py finds the resources by the name of this module, which must be part of the component.
import connector  # noqa: F401
from shared import MANIFEST, Plugin, guarded, settings
from wit_world import exports
from wit_world.imports import mindhost_plugin_types as types


class Connector(exports.Connector):
    @guarded
    def cancel(self, config: types.Config, key: bytes) -> None:
        Plugin.cancel(settings(config), key)

    def describe(self) -> str:
        return MANIFEST
