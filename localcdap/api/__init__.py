"""What the authors of plugins import. This package imports nothing else of localcdap.

>>> from localcdap.api import Emitter, PluginConfig, Record, StageConfigurer, Transform
>>> from localcdap.api import capability, field, plugin
"""

from localcdap.api.capability import SYSTEM_CAPABILITIES, Capabilities, capability
from localcdap.api.config import PluginConfig, field
from localcdap.api.control import (
    Action,
    ActionContext,
    Condition,
    ControlContext,
    PostAction,
    PostActionConfig,
    PostActionContext,
    StageStatistics,
)
from localcdap.api.errors import (
    InvalidFieldError,
    InvalidStageError,
    LocalcdapError,
    NotFoundError,
    SchemaError,
    StageError,
)
from localcdap.api.failures import FailureBuilder, FailureCollector, ValidationFailure
from localcdap.api.lookup import Lookup, TableShape
from localcdap.api.methods import plugin_method
from localcdap.api.plugin import (
    BatchAggregator,
    BatchJoiner,
    BatchSink,
    BatchSource,
    ErrorTransform,
    Plugin,
    SparkCompute,
    SparkSink,
    SplitterTransform,
    Transform,
    plugin,
)
from localcdap.api.schema import Field, LogicalType, Schema, Type
from localcdap.api.stage import (
    Emitter,
    ErrorRecord,
    PortEmitter,
    Record,
    SinkContext,
    SourceContext,
    SparkContext,
    StageConfigurer,
    StageContext,
)

__all__ = [
    "SYSTEM_CAPABILITIES",
    "Action",
    "ActionContext",
    "BatchAggregator",
    "BatchJoiner",
    "BatchSink",
    "BatchSource",
    "Capabilities",
    "Condition",
    "ControlContext",
    "Emitter",
    "ErrorRecord",
    "ErrorTransform",
    "FailureBuilder",
    "FailureCollector",
    "Field",
    "InvalidFieldError",
    "InvalidStageError",
    "LocalcdapError",
    "LogicalType",
    "Lookup",
    "NotFoundError",
    "Plugin",
    "PluginConfig",
    "PortEmitter",
    "PostAction",
    "PostActionConfig",
    "PostActionContext",
    "Record",
    "Schema",
    "SchemaError",
    "SinkContext",
    "SourceContext",
    "SparkCompute",
    "SparkContext",
    "SparkSink",
    "SplitterTransform",
    "StageConfigurer",
    "StageContext",
    "StageError",
    "StageStatistics",
    "TableShape",
    "Transform",
    "Type",
    "ValidationFailure",
    "capability",
    "field",
    "plugin",
    "plugin_method",
]
