"""System applications: everything that the author of an application imports.

>>> from localcdap.api.app import *
>>> FIELDS = {"id": FieldType.LONG, "text": FieldType.STRING}
>>> NOTES = namespaced_table("notes", fields=FIELDS, primary_key=["id"])
>>> class Notes(SystemService):
...     tables = [NOTES]
...
...     @put("/contexts/{context}/notes/{id}")
...     def write(self, context: NamespaceSummary, id: int, body: str) -> None:
...         row = context.key | {"id": id, "text": body}
...         self.context.transactions.run(lambda tx: tx.table("notes").upsert(row))
>>> @application(name="notebook", description="Keeps notes.")
... class Notebook(SystemApplication):
...     services = [Notes]
"""

from localcdap.api.app.application import (
    SparkService,
    SystemApplication,
    SystemService,
    application,
)
from localcdap.api.app.connections import (
    CONNECTIONS,
    Connection,
    ConnectionPlugin,
    Connections,
    ConnectionSample,
    ConnectionType,
    ConnectorDetail,
)
from localcdap.api.app.context import (
    ArtifactSummary,
    ConfiguredPlugin,
    EmittedError,
    KnownRun,
    Message,
    SystemContext,
    TransformedRecords,
    UserPlugin,
)
from localcdap.api.app.events import (
    ArtifactsChanged,
    BatchListener,
    EntityCreated,
    EntityDeleted,
    EntityUpdated,
    JobEnded,
    PartitionsAdded,
    RunStatusChanged,
    SystemEventListener,
)
from localcdap.api.app.jobs import (
    JobContext,
    JobDetail,
    JobLogLine,
    JobProgress,
    JobRequest,
    SystemJob,
)
from localcdap.api.app.namespaces import NamespaceSummary, namespaced_table
from localcdap.api.app.routes import (
    AnswerError,
    Header,
    QueryParameter,
    decode_body,
    delete,
    get,
    post,
    put,
)
from localcdap.api.app.table import (
    Bound,
    ExportedRows,
    ExportRequest,
    FieldCondition,
    FieldType,
    Grouping,
    Measure,
    QueryOption,
    Range,
    RowGroup,
    SortOrder,
    StructuredRow,
    StructuredRows,
    StructuredTable,
    StructuredTableSpecification,
)
from localcdap.api.app.transactions import (
    StructuredTableAdmin,
    TransactionContext,
    TransactionKind,
    TransactionRunner,
)
from localcdap.api.errors import (
    BadRequestError,
    ConflictError,
    IncompatibleTableError,
    InvalidTableFieldError,
    NotFoundError,
    TableUsageError,
    TransactionConflictError,
    TransactionError,
    TransactionTimeoutError,
)
from localcdap.api.metadata import MetadataEntity
from localcdap.api.security import Permission, Principal
from localcdap.decoders import decode_json
from localcdap.moved import build_getattr

__all__ = [
    "CONNECTIONS",
    "AnswerError",
    "ArtifactSummary",
    "ArtifactsChanged",
    "BadRequestError",
    "BatchListener",
    "Bound",
    "ConfiguredPlugin",
    "ConflictError",
    "Connection",
    "ConnectionPlugin",
    "ConnectionSample",
    "ConnectionType",
    "Connections",
    "ConnectorDetail",
    "EmittedError",
    "EntityCreated",
    "EntityDeleted",
    "EntityUpdated",
    "ExportRequest",
    "ExportedRows",
    "FieldCondition",
    "FieldType",
    "Grouping",
    "Header",
    "IncompatibleTableError",
    "InvalidTableFieldError",
    "JobContext",
    "JobDetail",
    "JobEnded",
    "JobLogLine",
    "JobProgress",
    "JobRequest",
    "KnownRun",
    "Measure",
    "Message",
    "MetadataEntity",
    "NamespaceSummary",
    "NotFoundError",
    "PartitionsAdded",
    "Permission",
    "Principal",
    "QueryOption",
    "QueryParameter",
    "Range",
    "RowGroup",
    "RunStatusChanged",
    "SortOrder",
    "SparkService",
    "StructuredRow",
    "StructuredRows",
    "StructuredTable",
    "StructuredTableAdmin",
    "StructuredTableSpecification",
    "SystemApplication",
    "SystemContext",
    "SystemEventListener",
    "SystemJob",
    "SystemService",
    "TableUsageError",
    "TransactionConflictError",
    "TransactionContext",
    "TransactionError",
    "TransactionKind",
    "TransactionRunner",
    "TransactionTimeoutError",
    "TransformedRecords",
    "UserPlugin",
    "application",
    "decode_body",
    "decode_json",
    "delete",
    "get",
    "namespaced_table",
    "post",
    "put",
]

__getattr__ = build_getattr(__name__)
