"""The services of an instance: for each its name between processes, its class and its attribute.

This is the only place that lists them. The host registers every service under its name, and
:class:`~localcdap.host.cdap.Cdap` offers every service under its attribute, whether it runs in this
process or in another one. The names are part of the protocol between processes and do not change.
"""

from __future__ import annotations

from typing import Any, Final, Generic, Self, TypeVar, overload

from localcdap.apps.service import AppService
from localcdap.artifacts.service import ArtifactService
from localcdap.datasets.service import TableService
from localcdap.datasets.sql import SqlService
from localcdap.datasets.statements import StatementService
from localcdap.datasets.transactions import ADMIN, TRANSACTIONS, TransactionService
from localcdap.engine.messages.host import CONNECTIONS, SECURE_KEYS, TABLE_EXPORTS, TABLE_STATEMENTS
from localcdap.messaging.service import MessagingService
from localcdap.namespaces.connections import ConnectionService
from localcdap.namespaces.preferences import PreferenceService
from localcdap.namespaces.secure_keys import SecureKeyService
from localcdap.namespaces.service import NamespaceService
from localcdap.pipeline.editing.service import EditingService
from localcdap.pipeline.library.applications import ApplicationService
from localcdap.pipeline.library.drafts import DraftService
from localcdap.pipeline.library.templates import TemplateService
from localcdap.pipeline.methods import MethodService
from localcdap.pipeline.service import StudioService
from localcdap.pipeline_tests.service import PipelineTestService
from localcdap.runs.debug.service import DebugService
from localcdap.runs.preview.service import PreviewService
from localcdap.runs.service import RunService
from localcdap.store.service import DatabaseService
from localcdap.store.structured.admin import TableAdmin

_S = TypeVar("_S")


class ServiceEntry(Generic[_S]):
    """The declaration of one service. Read from an instance of the table, it is the service itself."""

    def __init__(self, name: str, service: type[_S]) -> None:
        self.name: Final = name
        self.service: Final = service
        self.attribute = ""

    def __set_name__(self, owner: type, attribute: str) -> None:
        self.attribute = attribute

    @overload
    def __get__(self, table: None, owner: type) -> Self: ...
    @overload
    def __get__(self, table: ServiceTable, owner: type) -> _S: ...
    def __get__(self, table: ServiceTable | None, owner: type) -> Self | _S:
        return self if table is None else table.get_service(self)


class ServiceTable:
    """The services as typed attributes; a subclass says where they are."""

    artifacts = ServiceEntry("artifacts", ArtifactService)
    studio = ServiceEntry("studio", StudioService)
    editing = ServiceEntry("editing", EditingService)
    applications = ServiceEntry("applications", ApplicationService)
    templates = ServiceEntry("templates", TemplateService)
    drafts = ServiceEntry("drafts", DraftService)
    runs = ServiceEntry("runs", RunService)
    previews = ServiceEntry("previews", PreviewService)
    cases = ServiceEntry("cases", PipelineTestService)
    debugging = ServiceEntry("debugging", DebugService)
    methods = ServiceEntry("methods", MethodService)
    apps = ServiceEntry("apps", AppService)
    tables = ServiceEntry("tables", TableService)
    table_exports = ServiceEntry(TABLE_EXPORTS, TableService)
    table_statements = ServiceEntry(TABLE_STATEMENTS, StatementService)
    sql = ServiceEntry("sql", SqlService)
    structured_tables = ServiceEntry(ADMIN, TableAdmin)
    transaction_service = ServiceEntry(TRANSACTIONS, TransactionService)
    database = ServiceEntry("database", DatabaseService)
    messaging = ServiceEntry("messaging", MessagingService)
    namespaces = ServiceEntry("namespaces", NamespaceService)
    preferences = ServiceEntry("preferences", PreferenceService)
    connections = ServiceEntry(CONNECTIONS, ConnectionService)
    secure_keys = ServiceEntry(SECURE_KEYS, SecureKeyService)

    def get_service(self, entry: ServiceEntry[_S]) -> _S:
        """Return the service that an entry declares, or a proxy that calls it."""
        raise NotImplementedError


SERVICES: Final[dict[str, ServiceEntry[Any]]] = {
    entry.name: entry for entry in vars(ServiceTable).values() if isinstance(entry, ServiceEntry)
}
"""All entries of the table, by name."""
