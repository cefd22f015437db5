"""The services of what an instance keeps: namespaces, artifacts, tables, datasets, metadata and lineage.

The plugin folders of namespaces, as a resource that goes with them.

What the services of a host are given, made from the settings and paths of the instance.
"""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Final

from localcdap.api.app.transactions import TransactionLimits
from localcdap.api.errors import DiskFullError
from localcdap.apps.jobs.process import JobLauncher
from localcdap.apps.jobs.service import JobService
from localcdap.apps.platform import AppServices
from localcdap.apps.processes import AppProcesses
from localcdap.apps.storage import AppDeployer
from localcdap.artifacts.catalog import make_change_publisher
from localcdap.artifacts.directories.trash import move_folders_to_trash
from localcdap.artifacts.model import SyncReport
from localcdap.artifacts.service import ArtifactService
from localcdap.datasets.accesses import DatasetAccessLog, DatasetOwners, get_annotation_rules
from localcdap.datasets.file_tables import FileSetTables
from localcdap.datasets.instances import DatasetService
from localcdap.datasets.modules import DatasetModuleService
from localcdap.datasets.planner import PipelineDatasets, RunDatasets
from localcdap.datasets.service import TableService
from localcdap.datasets.sql import SqlService
from localcdap.datasets.statements import StatementService
from localcdap.datasets.transactions import TransactionService
from localcdap.datasets.types import DatasetTypes
from localcdap.home import Home, find_shipped_plugins
from localcdap.messaging.listeners import EventDispatcher
from localcdap.messaging.service import MessagingService
from localcdap.messaging.topics import Topics
from localcdap.metadata.accesses import AccessRecorder, LineageRetention
from localcdap.metadata.audit import AuditLog, AuditService
from localcdap.metadata.emitted import EmittedMetadataListener
from localcdap.metadata.lineage.pipeline_lineage import DesignedLineage
from localcdap.metadata.lineage.service import LineageService
from localcdap.metadata.lineage.store import LineageStore
from localcdap.metadata.service import MetadataService, create_checks
from localcdap.metadata.store import MetadataStore
from localcdap.metadata.system_metadata import SystemMetadataWriter
from localcdap.namespaces.client_documents import ClientDocumentService
from localcdap.namespaces.connections import ConnectionService
from localcdap.namespaces.model import NamespaceResource
from localcdap.namespaces.oauth import OAuthService
from localcdap.namespaces.preferences import PreferenceService
from localcdap.namespaces.secure_keys import FileVault, KeyringVault, SecureKeyService, has_keyring
from localcdap.namespaces.service import NamespaceService
from localcdap.openlineage.destinations import MIB, Destination, EventFile
from localcdap.pipeline.application_rows import ApplicationRows
from localcdap.pipeline.macros.evaluation import Secrets
from localcdap.runs.metadata import StoredRuns
from localcdap.runs.startup.profiles import Profiles, RemoteProfile
from localcdap.sandbox.pool import PluginWorkers
from localcdap.schedules.records import describe_schedules
from localcdap.security.access import AccessChecks
from localcdap.security.authorizer import OwnerPrivileges, PrivilegeAuthorizer, PrivilegeFile
from localcdap.security.privileges import Privileges
from localcdap.security.service import SecurityService
from localcdap.settings import Settings, load_settings
from localcdap.store.store import Store, Transaction
from localcdap.store.structured.admin import StructuredTables
from localcdap.store.transactions.dataset_session import DatasetAccesses

_LOG: Final = logging.getLogger(__name__)


def open_secure_keys(store: Store, namespaces: NamespaceService, home: Home) -> SecureKeyService:
    """Return the service for secure keys; values are in the system's keyring if there is one."""
    keyring, file = KeyringVault(home.path), FileVault(home.secrets_file)

    def choose() -> str:
        return keyring.name if has_keyring() else file.name

    return SecureKeyService(store, namespaces, [keyring, file], choose)


def create_destinations(home: Home, settings: Settings) -> list[Destination]:
    """Return where events of OpenLineage go."""
    found: list[Destination] = []
    if settings.openlineage_file:
        path = home.resolve(settings.openlineage_file)
        size = settings.openlineage_file_mb * MIB
        found.append(EventFile(path, size, settings.openlineage_file_keep))
    if settings.openlineage_url:
        from localcdap.openlineage.http_endpoint import HttpEndpoint

        url, endpoint = settings.openlineage_url, settings.openlineage_endpoint
        key, limit_s = settings.openlineage_api_key, settings.openlineage_timeout_s
        found.append(HttpEndpoint(url, endpoint, key, limit_s))
    return found


def read_privileges(settings: Settings) -> Privileges:
    """Return the privileges of the settings."""
    return Privileges.of(settings.security_enabled, settings.security_privileges)


def read_profiles(settings: Settings) -> Profiles:
    """Return the compute profiles of the settings."""
    remotes = {
        name: RemoteProfile(
            profile.remote, profile.required_capabilities, profile.locations, profile.packages
        )
        for name, profile in settings.profiles.items()
    }

    def of_namespace(namespace: str) -> str | None:
        found = settings.namespaces.get(namespace)
        return found.profile if found is not None else None

    return Profiles(remotes, settings.engine_profile, of_namespace)


def create_app_processes(
    home: Home,
    settings: Settings,
    services: AppServices,
    checks: AccessChecks,
    transactions: Callable[[], TransactionService],
) -> AppProcesses:
    """Return the processes of system applications; none is running yet.

    :param services: those of the host that applications may call.
    :param transactions: creates the transaction service of one process.
    """
    return AppProcesses(
        home.path,
        services,
        checks,
        transactions,
        memory_mb=settings.app_memory_mb,
        idle_s=settings.app_idle_minutes * 60,
    )


def sync_artifacts(artifacts: ArtifactService) -> None:
    """Bring the index up to date; on a full disk, what is stored can be read with the index as it is."""
    try:
        artifacts.sync()
    except DiskFullError as error:
        _LOG.warning("Changes of plugins are not noticed now. %s", error.full_message)


def create_jobs(
    store: Store,
    topics: Topics,
    namespaces: NamespaceService,
    launcher: JobLauncher,
    settings: Settings,
) -> JobService:
    """Return the jobs of system applications."""
    return JobService(
        store,
        topics,
        namespaces,
        launcher,
        at_once=settings.app_jobs_at_once,
        memory_mb=settings.app_job_memory_mb,
    )


def make_artifact_resource(
    artifacts: ArtifactService, directories: Sequence[Path], trash: Path
) -> NamespaceResource:
    """Return the resource that moves the plugin folders of a deleted namespace to the trash."""

    def remove_files(namespace: str, generation: int) -> Sequence[str]:
        kept = move_folders_to_trash(directories, namespace, trash / f"{namespace}-{generation}")
        artifacts.sync()
        return kept

    return NamespaceResource("plugin folders", remove_files=remove_files)


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
