"""What a plugin in Python uses: a class `Plugin` in plugin.py that is one of the three kinds below.

    from mindhost import Column, Connector, PluginError, Table, http, log
"""

from . import control, http, log
from .catalog import Column, ForeignKey, Table
from .errors import PluginError
from .kinds import Connector, Model, Scanner, Statement
from .rows import Tagged

__all__ = [
    "Column",
    "Connector",
    "ForeignKey",
    "Model",
    "PluginError",
    "Scanner",
    "Statement",
    "Table",
    "Tagged",
    "control",
    "http",
    "log",
]
