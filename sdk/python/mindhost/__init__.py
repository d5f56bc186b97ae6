"""What a plugin in Python uses: a class `Plugin` in plugin.py that is one of the three kinds below.

    from mindhost import Column, Connector, PluginError, Table, http, log
"""

from . import control, http, log, values
from .catalog import Column, ForeignKey, Table
from .errors import PluginError
from .kinds import Connector, Filter, FilterSupport, Model, Row, Scan, Scanner, Statement, TableName
from .messages import Event, Media, Message, Opaque, Part, Request, Text, Tool, ToolCall, ToolResult
from .rows import Tagged

__all__ = [
    "Column",
    "Connector",
    "Event",
    "Filter",
    "FilterSupport",
    "ForeignKey",
    "Media",
    "Message",
    "Model",
    "Opaque",
    "Part",
    "PluginError",
    "Request",
    "Row",
    "Scan",
    "Scanner",
    "Statement",
    "Table",
    "TableName",
    "Tagged",
    "Text",
    "Tool",
    "ToolCall",
    "ToolResult",
    "control",
    "http",
    "log",
    "values",
]
