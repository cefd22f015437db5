"""The services of an instance: for each its name between processes, its class and its attribute.

This is the only place that lists them. The host registers every service under its name, and
:class:`~localcdap.host.cdap.Cdap` offers every service under its attribute, whether it runs in this
process or in another one. The names are part of the protocol between processes and do not change.

A client imports only the classes of the services that it calls: all of them take 0.2 s.
"""

from __future__ import annotations

import pkgutil
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
    """The declaration of one service. Read from an instance of the table, it is the service itself."""

    def __init__(self, name: str, service: str) -> None:
        """Declare a service.

        :param service: its class, as ``module:Class``; it is imported at the first use.
        """
        self.name: Final = name
        self.attribute = ""
        self._class: Final = service

    @cached_property
    def service(self) -> type[_S]:
        """The class of the service."""
        return cast(type[_S], pkgutil.resolve_name(self._class))

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

    artifacts: ServiceEntry[ArtifactService] = ServiceEntry(
        "artifacts", "localcdap.artifacts.service:ArtifactService"
    )
    studio: ServiceEntry[StudioService] = ServiceEntry(
        "studio", "localcdap.pipeline.service:StudioService"
    )
    editing: ServiceEntry[EditingService] = ServiceEntry(
        "editing", "localcdap.pipeline.editing.service:EditingService"
    )
    applications: ServiceEntry[ApplicationService] = ServiceEntry(
        "applications", "localcdap.pipeline.library.applications:ApplicationService"
    )
    templates: ServiceEntry[TemplateService] = ServiceEntry(
        "templates", "localcdap.pipeline.library.templates:TemplateService"
    )
    drafts: ServiceEntry[DraftService] = ServiceEntry(
        "drafts", "localcdap.pipeline.library.drafts:DraftService"
    )
    runs: ServiceEntry[RunService] = ServiceEntry("runs", "localcdap.runs.service:RunService")
    statistics: ServiceEntry[RunStatisticsService] = ServiceEntry(
        "statistics", "localcdap.runs.statistics.service:RunStatisticsService"
    )
    schedules: ServiceEntry[ScheduleService] = ServiceEntry(
        "schedules", "localcdap.schedules.service:ScheduleService"
    )
    previews: ServiceEntry[PreviewService] = ServiceEntry(
        "previews", "localcdap.runs.preview.service:PreviewService"
    )
    cases: ServiceEntry[PipelineTestService] = ServiceEntry(
        "cases", "localcdap.pipeline_tests.service:PipelineTestService"
    )
    debugging: ServiceEntry[DebugService] = ServiceEntry(
        "debugging", "localcdap.runs.debug.service:DebugService"
    )
    methods: ServiceEntry[MethodService] = ServiceEntry(
        "methods", "localcdap.pipeline.methods:MethodService"
    )
    paths: ServiceEntry[PathService] = ServiceEntry(
        "paths", "localcdap.pipeline.paths.service:PathService"
    )
    recordings: ServiceEntry[RecordingService] = ServiceEntry(
        "recordings", "localcdap.pipeline.recordings.service:RecordingService"
    )
    apps: ServiceEntry[AppService] = ServiceEntry("apps", "localcdap.apps.service:AppService")
    jobs: ServiceEntry[JobService] = ServiceEntry("jobs", "localcdap.apps.jobs.service:JobService")
    datasets: ServiceEntry[DatasetService] = ServiceEntry(
        "datasets", "localcdap.datasets.instances:DatasetService"
    )
    dataset_modules: ServiceEntry[DatasetModuleService] = ServiceEntry(
        "dataset-modules", "localcdap.datasets.modules:DatasetModuleService"
    )
    tables: ServiceEntry[TableService] = ServiceEntry(
        "tables", "localcdap.datasets.service:TableService"
    )
    table_exports: ServiceEntry[TableService] = ServiceEntry(
        TABLE_EXPORTS, "localcdap.datasets.service:TableService"
    )
    table_statements: ServiceEntry[StatementService] = ServiceEntry(
        TABLE_STATEMENTS, "localcdap.datasets.statements:StatementService"
    )
    run_datasets: ServiceEntry[RunDatasets] = ServiceEntry(
        RUN_DATASETS, "localcdap.datasets.planner:RunDatasets"
    )
    sql: ServiceEntry[SqlService] = ServiceEntry("sql", "localcdap.datasets.sql:SqlService")
    structured_tables: ServiceEntry[TableAdmin] = ServiceEntry(
        ADMIN, "localcdap.store.structured.admin:TableAdmin"
    )
    transaction_service: ServiceEntry[TransactionService] = ServiceEntry(
        TRANSACTIONS, "localcdap.datasets.transactions:TransactionService"
    )
    metadata: ServiceEntry[MetadataService] = ServiceEntry(
        "metadata", "localcdap.metadata.service:MetadataService"
    )
    lineage: ServiceEntry[LineageService] = ServiceEntry(
        "lineage", "localcdap.metadata.lineage.service:LineageService"
    )
    impact: ServiceEntry[ImpactService] = ServiceEntry(
        "impact", "localcdap.metadata.lineage.impact_service:ImpactService"
    )
    audit: ServiceEntry[AuditService] = ServiceEntry(
        "audit", "localcdap.metadata.audit:AuditService"
    )
    openlineage: ServiceEntry[OpenLineageService] = ServiceEntry(
        "openlineage", "localcdap.openlineage.service:OpenLineageService"
    )
    database: ServiceEntry[DatabaseService] = ServiceEntry(
        "database", "localcdap.store.service:DatabaseService"
    )
    messaging: ServiceEntry[MessagingService] = ServiceEntry(
        "messaging", "localcdap.messaging.service:MessagingService"
    )
    namespaces: ServiceEntry[NamespaceService] = ServiceEntry(
        "namespaces", "localcdap.namespaces.service:NamespaceService"
    )
    preferences: ServiceEntry[PreferenceService] = ServiceEntry(
        "preferences", "localcdap.namespaces.preferences:PreferenceService"
    )
    connections: ServiceEntry[ConnectionService] = ServiceEntry(
        CONNECTIONS, "localcdap.namespaces.connections:ConnectionService"
    )
    connectors: ServiceEntry[ConnectorService] = ServiceEntry(
        "connectors", "localcdap.connectors.service:ConnectorService"
    )
    secure_keys: ServiceEntry[SecureKeyService] = ServiceEntry(
        SECURE_KEYS, "localcdap.namespaces.secure_keys:SecureKeyService"
    )
    oauth: ServiceEntry[OAuthService] = ServiceEntry(
        OAUTH, "localcdap.namespaces.oauth:OAuthService"
    )
    sync: ServiceEntry[SyncService] = ServiceEntry("sync", "localcdap.sync.service:SyncService")
    client_documents: ServiceEntry[ClientDocumentService] = ServiceEntry(
        "client-documents", "localcdap.namespaces.client_documents:ClientDocumentService"
    )

    security: ServiceEntry[SecurityService] = ServiceEntry(
        SECURITY, "localcdap.security.service:SecurityService"
    )

    def get_service(self, entry: ServiceEntry[_S]) -> _S:
        """Return the service that an entry declares, or a proxy that calls it."""
        raise NotImplementedError


SERVICES: Final[dict[str, ServiceEntry[Any]]] = {
    entry.name: entry for entry in vars(ServiceTable).values() if isinstance(entry, ServiceEntry)
}
"""All entries of the table, by name."""
