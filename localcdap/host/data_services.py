"""The services of what an instance keeps: namespaces, artifacts, tables, datasets, metadata and lineage."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

from localcdap.api.app.timeouts import TransactionLimits
from localcdap.apps.deployer import AppDeployer
from localcdap.artifacts.changes import make_change_publisher
from localcdap.artifacts.model import SyncReport
from localcdap.artifacts.service import ArtifactService
from localcdap.datasets.accesses import DatasetAccessLog, get_annotation_rules
from localcdap.datasets.file_tables import FileSetTables
from localcdap.datasets.instances import DatasetService
from localcdap.datasets.modules import DatasetModuleService
from localcdap.datasets.owners import DatasetOwners
from localcdap.datasets.planner import PipelineDatasets, RunDatasets
from localcdap.datasets.service import TableService
from localcdap.datasets.sql import SqlService
from localcdap.datasets.statements import StatementService
from localcdap.datasets.transactions import TransactionService
from localcdap.datasets.types import DatasetTypes
from localcdap.home import Home, find_shipped_plugins
from localcdap.host.artifact_folders import make_artifact_resource
from localcdap.host.configured_parts import (
    open_secure_keys,
    read_privileges,
)
from localcdap.messaging.listeners import EventDispatcher
from localcdap.messaging.service import MessagingService
from localcdap.messaging.topics import Topics
from localcdap.metadata.accesses import AccessRecorder
from localcdap.metadata.audit import AuditLog, AuditService
from localcdap.metadata.emitted import EmittedMetadataListener
from localcdap.metadata.existence import create_checks
from localcdap.metadata.lineage.designed import DesignedLineage
from localcdap.metadata.lineage.service import LineageService
from localcdap.metadata.lineage.store import LineageStore
from localcdap.metadata.lineage_retention import LineageRetention
from localcdap.metadata.service import MetadataService
from localcdap.metadata.store import MetadataStore
from localcdap.metadata.system_metadata import SystemMetadataWriter
from localcdap.namespaces.client_documents import ClientDocumentService
from localcdap.namespaces.connections import ConnectionService
from localcdap.namespaces.oauth import OAuthService
from localcdap.namespaces.preferences import PreferenceService
from localcdap.namespaces.resources import NamespaceResource
from localcdap.namespaces.service import NamespaceService
from localcdap.pipeline.application_rows import ApplicationRows
from localcdap.pipeline.macros.secrets import Secrets
from localcdap.runs.lineage_runs import StoredRuns
from localcdap.sandbox.pool import PluginWorkers
from localcdap.schedules.records import describe_schedules
from localcdap.security.access import AccessChecks
from localcdap.security.authorizer import PrivilegeAuthorizer, PrivilegeFile
from localcdap.security.owners import OwnerPrivileges
from localcdap.security.service import SecurityService
from localcdap.settings import Settings, load_settings
from localcdap.store.store import Store, Transaction
from localcdap.store.structured.tables import StructuredTables
from localcdap.store.transactions.dataset_session import DatasetAccesses


class DataServices:
    """Builds these services, which know nothing of pipelines that are edited or run.

    Each method needs what the ones before it have built.
    """

    def _open_security(self, home: Home) -> None:
        """Build what decides on the calls of front ends and runs."""
        path = home.settings_file
        file = PrivilegeFile(path, lambda: read_privileges(load_settings(path)))
        self._owner_privileges = OwnerPrivileges(file.read)
        self._authorizer = PrivilegeAuthorizer(self._owner_privileges.read)
        self.checks = AccessChecks(self._authorizer)
        self.security = SecurityService(self._authorizer, file)

    def _open_namespaces(self, store: Store, home: Home, undo: contextlib.ExitStack) -> None:
        """Build messaging, the namespaces, and their preferences and secure keys."""
        self._topics = Topics(store)
        self._delivery = EventDispatcher(store, self._topics)
        undo.callback(self._delivery.close)
        self.namespaces = NamespaceService(store, self._topics)
        self.preferences = PreferenceService(store, self.namespaces)
        self.secure_keys = open_secure_keys(store, self.namespaces, home)
        self.client_documents = ClientDocumentService(store, self.namespaces, home.client_files)
        self.oauth = OAuthService(self.client_documents, self.secure_keys)
        self.messaging = MessagingService(
            store, self._topics, self._delivery, self.namespaces.require
        )
        topics = NamespaceResource("topics", remove=self._topics.delete_all)
        self.namespaces.register_resource(topics)

    def _open_structured_tables(
        self, store: Store, settings: Settings, undo: contextlib.ExitStack
    ) -> StructuredTables:
        """Build the transactions on structured tables and datasets, and the connections, which are in one."""
        tables = StructuredTables(store, self.namespaces.require_generation, self._open_accesses)
        undo.callback(tables.close)
        self.structured_tables = tables.admin
        self._rows = ApplicationRows(tables.transactions, self._get_generation)
        self.connections = ConnectionService(tables.transactions, self.namespaces, self.secure_keys)
        limits = TransactionLimits(settings.data_tx_timeout, settings.data_tx_max_timeout)
        self.transaction_service = TransactionService(tables, limits=limits)
        undo.callback(self.transaction_service.close)
        return tables

    def _get_generation(self, namespace: str) -> int:
        return self.namespaces.describe(namespace).generation

    def _open_accesses(self, accessor: object) -> DatasetAccesses:
        """Return what checks and records the accesses of a program to datasets."""
        return self._dataset_accesses.open(accessor)

    def _open_artifacts(
        self,
        store: Store,
        worker: PluginWorkers,
        home: Home,
        directories: Sequence[Path],
        settings: Settings,
        on_commit: Callable[[], None],
    ) -> None:
        """Build the index of artifacts.

        :param on_commit: called after each change of it.
        """
        announce = make_change_publisher(self._topics)

        def publish_change(tx: Transaction, report: SyncReport) -> None:
            announce(tx, report)
            tx.on_commit(on_commit)

        self.artifacts = ArtifactService(
            store,
            worker,
            system_directory=find_shipped_plugins(),
            plugin_directories=directories,
            cache=home.artifact_cache,
            required_capabilities=settings.plugin_required_capabilities,
            known_capabilities=settings.plugin_capabilities_known,
            on_change=publish_change,
            namespaces=self.namespaces,
            deployer=AppDeployer(self.structured_tables),
            trash=home.trash / "artifacts",
        )
        self.namespaces.register_resource(
            make_artifact_resource(self.artifacts, directories, home.trash)
        )

    def _open_tables(self, store: Store, structured: StructuredTables, home: Home) -> None:
        """Build the services of tables and SQL."""
        namespaces, files = self.namespaces, FileSetTables(home.file_sets)
        self.tables = self.table_exports = TableService(store, namespaces, self._topics, files)
        self.table_statements = StatementService(store, namespaces, self._authorizer, files)
        self.sql = SqlService(store, namespaces, structured.admin, self._authorizer, files)

    def _open_lineage(self, store: Store, worker: PluginWorkers, days: float) -> None:
        """Build what runs need of metadata: its store, the audit log, lineage."""
        self._audit_log = AuditLog(self._topics)
        self._metadata = MetadataStore(store, self._audit_log.note_changes)
        lineage = LineageStore(store, StoredRuns(store), self._metadata.list_fields)
        self._lineage_store = lineage
        self._designed = DesignedLineage(lineage, worker, self.tables.read_shapes)
        retention = LineageRetention(lineage, days)
        with store.transaction() as tx:
            retention.apply(tx)
        self._recorder = AccessRecorder(lineage, self._metadata, self._audit_log, retention)
        self.lineage = LineageService(lineage, self.namespaces, self._authorizer)
        stored = NamespaceResource("lineage", remove=lineage.remove_namespace)
        self.namespaces.register_resource(stored)

    def _open_datasets(
        self, store: Store, worker: PluginWorkers, home: Home, settings: Settings
    ) -> None:
        """Build the services of datasets and of their types, and what checks and records their use."""
        folder = home.file_sets
        types = DatasetTypes(store, folder, self.artifacts, worker)
        owners = DatasetOwners(store, self.namespaces, self._authorizer)
        self._owner_privileges.use(owners.list_owned)
        publish = self._topics.publish_event
        self._planner = PipelineDatasets(store, folder, self._authorizer, types, owners, publish)
        self.run_datasets = RunDatasets(store, folder, self._planner)
        self.datasets = DatasetService(
            store, self.namespaces, self._topics, self._audit_log, folder, types, owners
        )
        self.dataset_modules = DatasetModuleService(store, self.artifacts)
        rules = get_annotation_rules(settings.datasets_shipped_annotations)
        self._dataset_accesses = DatasetAccessLog(
            store, self._authorizer, self._recorder, folder, rules, publish
        )

    def _open_metadata(self, store: Store) -> None:
        self.audit, log, metadata = AuditService(store), self._audit_log, self._metadata
        self.metadata = MetadataService(
            store, metadata, self.namespaces, create_checks(self.artifacts), self._authorizer
        )
        self._delivery.add(EmittedMetadataListener(self.metadata))
        writer = SystemMetadataWriter(metadata, describe_schedules)
        self._topics.add_observer(log.observe)
        self._topics.add_observer(writer.observe)
        with store.snapshot() as tx:
            is_filled = writer.is_filled(tx)
        if not is_filled:
            with store.transaction() as tx:
                writer.fill(tx)

    def _get_secrets(self, namespace: str) -> Secrets:
        return Secrets(
            partial(self.secure_keys.get, namespace),
            partial(self.connections.get_properties, namespace),
            self.oauth.get_recent_token,
        )
