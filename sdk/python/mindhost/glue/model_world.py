"""The world `model-provider`."""

from model import Completion, request
from shared import MANIFEST, Plugin, guarded, settings
from wit_world import exports
from wit_world.exports import model as wit
from wit_world.imports import mindhost_plugin_types as types


class Model(exports.Model):
    @guarded
    def start(self, config: types.Config, asked: wit.Request) -> Completion:
        return Completion(Plugin(settings(config)).complete(request(asked)))

    @guarded
    def check(self, config: types.Config) -> str:
        return Plugin(settings(config)).check()

    @guarded
    def models(self, config: types.Config) -> list[str]:
        return Plugin(settings(config)).models()

    def describe(self) -> str:
        return MANIFEST
