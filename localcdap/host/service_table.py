"""The services of an instance: for each its name between processes, its class and its attribute.

This is the only place that lists them. The host registers every service under its name, and
:class:`~localcdap.host.cdap.Cdap` offers every service under its attribute, whether it runs in this
process or in another one. The names are part of the protocol between processes and do not change.

A client imports only the classes of the services that it calls: all of them take 0.2 s.
"""

from __future__ import annotations

import importlib
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final, Generic, Self, TypeVar, cast, overload

from localcdap.engine.messages.host import (
    CONNECTIONS,
    OAUTH,
    RUN_DATASETS,
    SECURE_KEYS,
    SECURITY,
    TABLE_EXPORTS,
    TABLE_STATEMENTS,
)
from localcdap.transactions.calls import ADMIN, TRANSACTIONS

if TYPE_CHECKING:
    from localcdap.apps.jobs.service import JobService
    from localcdap.apps.service import AppService
    from localcdap.artifacts.service import ArtifactService
    from localcdap.connectors.service import ConnectorService
    from localcdap.datasets.instances import DatasetService
    from localcdap.datasets.modules import DatasetModuleService
    from localcdap.datasets.planner import RunDatasets
    from localcdap.datasets.service import TableService
    from localcdap.datasets.sql import SqlService
    from localcdap.datasets.statements import StatementService
    from localcdap.datasets.transactions import TransactionService
    from localcdap.messaging.service import MessagingService
    from localcdap.metadata.audit import AuditService
    from localcdap.metadata.lineage.impact_service import ImpactService
    from localcdap.metadata.lineage.service import LineageService
    from localcdap.metadata.service import MetadataService
    from localcdap.namespaces.client_documents import ClientDocumentService
    from localcdap.namespaces.connections import ConnectionService
    from localcdap.namespaces.oauth import OAuthService
    from localcdap.namespaces.preferences import PreferenceService
    from localcdap.namespaces.secure_keys import SecureKeyService
    from localcdap.namespaces.service import NamespaceService
    from localcdap.openlineage.service import OpenLineageService
    from localcdap.pipeline.editing.service import EditingService
    from localcdap.pipeline.library.applications import ApplicationService
    from localcdap.pipeline.library.drafts import DraftService
    from localcdap.pipeline.library.templates import TemplateService
    from localcdap.pipeline.methods import MethodService
    from localcdap.pipeline.paths.service import PathService
    from localcdap.pipeline.recordings.service import RecordingService
    from localcdap.pipeline.service import StudioService
    from localcdap.pipeline_tests.service import PipelineTestService
    from localcdap.runs.debug.service import DebugService
    from localcdap.runs.preview.service import PreviewService
    from localcdap.runs.service import RunService
    from localcdap.runs.statistics.service import RunStatisticsService
    from localcdap.schedules.service import ScheduleService
    from localcdap.security.service import SecurityService
    from localcdap.store.service import DatabaseService
    from localcdap.store.structured.admin import TableAdmin
    from localcdap.sync.service import SyncService

_S = TypeVar("_S")


class ServiceEntry(Generic[_S]):
    """The declaration of one service. Read from an instance of the table, it is the service itself.

    The annotation of the attribute names the class.

    :param module: the module of the class, below ``localcdap``; it is imported at the first use.
    :param name: between processes; "" for that of the attribute.
    """

    def __init__(self, module: str, name: str = "") -> None:
        self.module: Final = f"localcdap.{module}"
        self.name = name
        self.attribute = ""
        self._class = ""

    @cached_property
    def service(self) -> type[_S]:
        """The class of the service."""
        return cast(type[_S], getattr(importlib.import_module(self.module), self._class))

    def __set_name__(self, owner: type, attribute: str) -> None:
        self.attribute = attribute
        self.name = self.name or attribute
        self._class = owner.__annotations__[attribute].partition("[")[2].rstrip("]")

    @overload
    def __get__(self, table: None, owner: type) -> Self: ...
    @overload
    def __get__(self, table: ServiceTable, owner: type) -> _S: ...
    def __get__(self, table: ServiceTable | None, owner: type) -> Self | _S:
        return self if table is None else table.get_service(self)


class ServiceTable:
    """The services as typed attributes; a subclass says where they are."""

    artifacts: ServiceEntry[ArtifactService] = ServiceEntry("artifacts.service")
    studio: ServiceEntry[StudioService] = ServiceEntry("pipeline.service")
    editing: ServiceEntry[EditingService] = ServiceEntry("pipeline.editing.service")
    applications: ServiceEntry[ApplicationService] = ServiceEntry("pipeline.library.applications")
    templates: ServiceEntry[TemplateService] = ServiceEntry("pipeline.library.templates")
    drafts: ServiceEntry[DraftService] = ServiceEntry("pipeline.library.drafts")
    runs: ServiceEntry[RunService] = ServiceEntry("runs.service")
    statistics: ServiceEntry[RunStatisticsService] = ServiceEntry("runs.statistics.service")
    schedules: ServiceEntry[ScheduleService] = ServiceEntry("schedules.service")
    previews: ServiceEntry[PreviewService] = ServiceEntry("runs.preview.service")
    cases: ServiceEntry[PipelineTestService] = ServiceEntry("pipeline_tests.service")
    debugging: ServiceEntry[DebugService] = ServiceEntry("runs.debug.service")
    methods: ServiceEntry[MethodService] = ServiceEntry("pipeline.methods")
    paths: ServiceEntry[PathService] = ServiceEntry("pipeline.paths.service")
    recordings: ServiceEntry[RecordingService] = ServiceEntry("pipeline.recordings.service")
    apps: ServiceEntry[AppService] = ServiceEntry("apps.service")
    jobs: ServiceEntry[JobService] = ServiceEntry("apps.jobs.service")
    datasets: ServiceEntry[DatasetService] = ServiceEntry("datasets.instances")
    dataset_modules: ServiceEntry[DatasetModuleService] = ServiceEntry(
        "datasets.modules", "dataset-modules"
    )
    tables: ServiceEntry[TableService] = ServiceEntry("datasets.service")
    table_exports: ServiceEntry[TableService] = ServiceEntry("datasets.service", TABLE_EXPORTS)
    table_statements: ServiceEntry[StatementService] = ServiceEntry(
        "datasets.statements", TABLE_STATEMENTS
    )
    run_datasets: ServiceEntry[RunDatasets] = ServiceEntry("datasets.planner", RUN_DATASETS)
    sql: ServiceEntry[SqlService] = ServiceEntry("datasets.sql")
    structured_tables: ServiceEntry[TableAdmin] = ServiceEntry("store.structured.admin", ADMIN)
    transaction_service: ServiceEntry[TransactionService] = ServiceEntry(
        "datasets.transactions", TRANSACTIONS
    )
    metadata: ServiceEntry[MetadataService] = ServiceEntry("metadata.service")
    lineage: ServiceEntry[LineageService] = ServiceEntry("metadata.lineage.service")
    impact: ServiceEntry[ImpactService] = ServiceEntry("metadata.lineage.impact_service")
    audit: ServiceEntry[AuditService] = ServiceEntry("metadata.audit")
    openlineage: ServiceEntry[OpenLineageService] = ServiceEntry("openlineage.service")
    database: ServiceEntry[DatabaseService] = ServiceEntry("store.service")
    messaging: ServiceEntry[MessagingService] = ServiceEntry("messaging.service")
    namespaces: ServiceEntry[NamespaceService] = ServiceEntry("namespaces.service")
    preferences: ServiceEntry[PreferenceService] = ServiceEntry("namespaces.preferences")
    connections: ServiceEntry[ConnectionService] = ServiceEntry(
        "namespaces.connections", CONNECTIONS
    )
    connectors: ServiceEntry[ConnectorService] = ServiceEntry("connectors.service")
    secure_keys: ServiceEntry[SecureKeyService] = ServiceEntry(
        "namespaces.secure_keys", SECURE_KEYS
    )
    oauth: ServiceEntry[OAuthService] = ServiceEntry("namespaces.oauth", OAUTH)
    sync: ServiceEntry[SyncService] = ServiceEntry("sync.service")
    client_documents: ServiceEntry[ClientDocumentService] = ServiceEntry(
        "namespaces.client_documents", "client-documents"
    )
    security: ServiceEntry[SecurityService] = ServiceEntry("security.service", SECURITY)

    def get_service(self, entry: ServiceEntry[_S]) -> _S:
        """Return the service that an entry declares, or a proxy that calls it."""
        raise NotImplementedError


SERVICES: Final[dict[str, ServiceEntry[Any]]] = {
    entry.name: entry for entry in vars(ServiceTable).values() if isinstance(entry, ServiceEntry)
}
"""All entries of the table, by name."""
