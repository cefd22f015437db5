"""The public interface of localcdap: everything that authors of plugins and applications import.

>>> from localcdap.api import Emitter, PluginConfig, Record, StageConfigurer, Transform
>>> from localcdap.api import capability, field, plugin

:mod:`localcdap.api.directive` is for authors of directives, :mod:`localcdap.api.app` for authors of system
applications, :mod:`localcdap.api.client` for programs that use an instance. The Structs of pipelines and
failures, and the errors, are here too: all packages exchange them. It imports no other package of localcdap.
"""

import sys

from localcdap.api.alerts import Alert, AlertContext, AlertPublisher
from localcdap.api.capability import SYSTEM_CAPABILITIES, Capabilities, capability
from localcdap.api.config import NamedPlugins, PluginConfig, field
from localcdap.api.connector import (
    BrowseDetail,
    BrowseEntity,
    BrowseProperty,
    BrowseRequest,
    Connector,
    ConnectorContext,
    ConnectorSpec,
    PageRequest,
    PositionedRecords,
    RecordStream,
    RelatedPlugin,
    SampleRequest,
    SampleType,
    SpecificationRequest,
    Unreadable,
)
from localcdap.api.control import (
    Action,
    ActionContext,
    Condition,
    ControlContext,
    PostAction,
    PostActionConfig,
    PostActionContext,
    SparkProgram,
    SparkProgramContext,
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
from localcdap.api.formats import (
    FormatContext,
    InputFile,
    InputFormat,
    OutputFormat,
    SparkFormat,
)
from localcdap.api.join import (
    AutoJoiner,
    AutoJoinerContext,
    JoinDefinition,
    JoinDistribution,
    JoinField,
    JoinKey,
    JoinOnExpression,
    JoinOnKeys,
    JoinPart,
    JoinStage,
)
from localcdap.api.lineage import (
    EdgeKind,
    EndPoint,
    FieldEdge,
    FieldOperation,
    FieldReadOperation,
    FieldTransformOperation,
    FieldWriteOperation,
)
from localcdap.api.lineage_recorder import LineageRecorder
from localcdap.api.metadata import Metadata, MetadataEntity, MetadataScope
from localcdap.api.methods import plugin_method
from localcdap.api.plugin import (
    BatchAggregator,
    BatchJoiner,
    BatchReducibleAggregator,
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
from localcdap.api.schema_context import SchemaContext
from localcdap.api.stage import (
    Emitter,
    ErrorRecord,
    FinishContext,
    PortEmitter,
    PrepareContext,
    Record,
    SinkContext,
    SinkSampleContext,
    SourceContext,
    SourceSampleContext,
    SparkContext,
    StageConfigurer,
    StageContext,
)
from localcdap.api.tables import Lookup, TableShape
from localcdap.moved import MovedModules

__all__ = [
    "SYSTEM_CAPABILITIES",
    "Action",
    "ActionContext",
    "Alert",
    "AlertContext",
    "AlertPublisher",
    "AutoJoiner",
    "AutoJoinerContext",
    "BatchAggregator",
    "BatchJoiner",
    "BatchReducibleAggregator",
    "BatchSink",
    "BatchSource",
    "BrowseDetail",
    "BrowseEntity",
    "BrowseProperty",
    "BrowseRequest",
    "Capabilities",
    "Condition",
    "Connector",
    "ConnectorContext",
    "ConnectorSpec",
    "ControlContext",
    "EdgeKind",
    "Emitter",
    "EndPoint",
    "ErrorRecord",
    "ErrorTransform",
    "FailureBuilder",
    "FailureCollector",
    "Field",
    "FieldEdge",
    "FieldOperation",
    "FieldReadOperation",
    "FieldTransformOperation",
    "FieldWriteOperation",
    "FinishContext",
    "FormatContext",
    "InputFile",
    "InputFormat",
    "InvalidFieldError",
    "InvalidStageError",
    "JoinDefinition",
    "JoinDistribution",
    "JoinField",
    "JoinKey",
    "JoinOnExpression",
    "JoinOnKeys",
    "JoinPart",
    "JoinStage",
    "LineageRecorder",
    "LocalcdapError",
    "LogicalType",
    "Lookup",
    "Metadata",
    "MetadataEntity",
    "MetadataScope",
    "NamedPlugins",
    "NotFoundError",
    "OutputFormat",
    "PageRequest",
    "Plugin",
    "PluginConfig",
    "PortEmitter",
    "PositionedRecords",
    "PostAction",
    "PostActionConfig",
    "PostActionContext",
    "PrepareContext",
    "Record",
    "RecordStream",
    "RelatedPlugin",
    "SampleRequest",
    "SampleType",
    "Schema",
    "SchemaContext",
    "SchemaError",
    "SinkContext",
    "SinkSampleContext",
    "SourceContext",
    "SourceSampleContext",
    "SparkCompute",
    "SparkContext",
    "SparkFormat",
    "SparkProgram",
    "SparkProgramContext",
    "SparkSink",
    "SpecificationRequest",
    "SplitterTransform",
    "StageConfigurer",
    "StageContext",
    "StageError",
    "StageStatistics",
    "TableShape",
    "Transform",
    "Type",
    "Unreadable",
    "ValidationFailure",
    "capability",
    "field",
    "plugin",
    "plugin_method",
]

sys.meta_path.append(
    MovedModules(
        {
            "localcdap.api.argument": "localcdap.api.directive.argument",
            "localcdap.api.lookup": "localcdap.api.tables",
            "localcdap.api.rows": "localcdap.api.directive.rows",
            "localcdap.api.table_writes": "localcdap.api.tables",
        }
    )
)
