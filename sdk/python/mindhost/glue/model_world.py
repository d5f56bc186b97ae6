"""The world `model-provider`."""

import mindhost.http  # noqa: F401
from model import Completion
from shared import MANIFEST, Plugin, guarded, settings
from wit_world import exports
from wit_world.exports import model as wit
from wit_world.imports import mindhost_plugin_types as types


class Model(exports.Model):
    @guarded
    def start(self, config: types.Config, request: wit.Request) -> Completion:
        return Completion(iter(Plugin(settings(config)).complete(request)))

    @guarded
    def check(self, config: types.Config) -> str:
        return Plugin(settings(config)).check()

    @guarded
    def models(self, config: types.Config) -> list[str]:
        return Plugin(settings(config)).models()

    def describe(self) -> str:
        return MANIFEST
