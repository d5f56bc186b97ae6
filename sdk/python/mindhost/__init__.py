"""What a plugin in Python uses: a class `Plugin` in plugin.py that is one of the three kinds below.

    from mindhost import Column, Connector, PluginError, Table, http, log
"""

from . import control, http, log, values
from .catalog import Column, ColumnStatistics, DataType, ForeignKey, StatisticsOptions, Table
from .errors import ErrorKind, PluginError
from .kinds import Connector, Filter, FilterSupport, Model, Operator, Row, Scan, Scanner, Statement, TableName
from .messages import (
    CalledTool,
    Event,
    Kept,
    Media,
    Message,
    Opaque,
    OpaqueEvent,
    Part,
    Request,
    Role,
    StopEvent,
    Text,
    TextEvent,
    Tool,
    ToolCall,
    ToolCallEvent,
    ToolResult,
    Usage,
    UsageEvent,
)
from .rows import Tagged

__all__ = [
    "CalledTool",
    "Column",
    "ColumnStatistics",
    "Connector",
    "DataType",
    "ErrorKind",
    "Event",
    "Filter",
    "FilterSupport",
    "ForeignKey",
    "Kept",
    "Media",
    "Message",
    "Model",
    "Opaque",
    "OpaqueEvent",
    "Operator",
    "Part",
    "PluginError",
    "Request",
    "Role",
    "Row",
    "Scan",
    "Scanner",
    "Statement",
    "StatisticsOptions",
    "StopEvent",
    "Table",
    "TableName",
    "Tagged",
    "Text",
    "TextEvent",
    "Tool",
    "ToolCall",
    "ToolCallEvent",
    "ToolResult",
    "Usage",
    "UsageEvent",
    "control",
    "http",
    "log",
    "values",
]
