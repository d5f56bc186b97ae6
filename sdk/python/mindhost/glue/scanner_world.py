"""The world `scanner-connector`."""

# componentize-py finds the resources by the name of this module, which must be part of the component.
import scanner  # noqa: F401
from shared import MANIFEST
from wit_world import exports


class Scanner(exports.Scanner):
    def describe(self) -> str:
        return MANIFEST
