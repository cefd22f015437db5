"""Building the services of an instance from its settings. Only this module builds them."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path

from localcdap.api.app.timeouts import TransactionLimits
from localcdap.api.locations import Locations
from localcdap.apps.child import CONNECTIONS, MESSAGING, PLATFORM
from localcdap.apps.connections import AppConnections
from localcdap.apps.data import AppData
from localcdap.apps.deployer import AppDeployer
from localcdap.apps.files import AppFiles
from localcdap.apps.instances import RequestedInstances
from localcdap.apps.jobs.launcher import JobLauncher
from localcdap.apps.listeners import AppListeners
from localcdap.apps.metadata import AppMetadata
from localcdap.apps.platform import AppPlatform
from localcdap.apps.service import AppService
from localcdap.artifacts.changes import make_change_publisher
from localcdap.artifacts.directories.watcher import FolderWatcher
from localcdap.artifacts.model import SyncReport
from localcdap.artifacts.service import ArtifactService
from localcdap.connectors.instance_rows import InstanceRows
from localcdap.connectors.service import ConnectorService
from localcdap.datasets.accesses import DatasetAccessLog, get_annotation_rules
from localcdap.datasets.file_tables import FileSetTables
from localcdap.datasets.instances import DatasetService
from localcdap.datasets.listeners import DeletedNamespaceCleanup, create_structured_rows_resource
from localcdap.datasets.modules import DatasetModuleService
from localcdap.datasets.owners import DatasetOwners
from localcdap.datasets.planner import PipelineDatasets, RunDatasets
from localcdap.datasets.service import TableService
from localcdap.datasets.sql import SqlService
from localcdap.datasets.statements import StatementService
from localcdap.datasets.transactions import TransactionService
from localcdap.datasets.types import DatasetTypes
from localcdap.engine.local.server import EngineServer
from localcdap.home import Home, find_shipped_plugins
from localcdap.host.artifact_folders import make_artifact_resource
from localcdap.host.configured_parts import (
    create_app_processes,
    create_destinations,
    create_jobs,
    open_secure_keys,
    read_privileges,
    read_profiles,
    sync_artifacts,
)
from localcdap.host.engine_server import make_engine_server
from localcdap.host.service_table import SERVICES
from localcdap.messaging.listeners import EventDispatcher
from localcdap.messaging.service import MessagingService
from localcdap.messaging.topics import Topics
from localcdap.metadata.accesses import AccessRecorder
from localcdap.metadata.audit import AuditLog, AuditService
from localcdap.metadata.emitted import EmittedMetadataListener
from localcdap.metadata.existence import create_checks
from localcdap.metadata.lineage.designed import DesignedLineage
from localcdap.metadata.lineage.impact_service import ImpactService
from localcdap.metadata.lineage.service import LineageService
from localcdap.metadata.lineage.store import LineageStore
from localcdap.metadata.lineage_retention import LineageRetention
from localcdap.metadata.service import MetadataService
from localcdap.metadata.store import MetadataStore
from localcdap.metadata.system_metadata import SystemMetadataWriter
from localcdap.namespaces.connections import ConnectionService
from localcdap.namespaces.preferences import PreferenceService
from localcdap.namespaces.resources import NamespaceResource
from localcdap.namespaces.service import NamespaceService
from localcdap.openlineage.builder import EventBuilder
from localcdap.openlineage.delivery import Deliveries, read_destinations
from localcdap.openlineage.listener import OpenLineageListener
from localcdap.openlineage.service import OpenLineageService
from localcdap.pipeline.editing.service import EditingService
from localcdap.pipeline.environment import EnvironmentFactory
from localcdap.pipeline.library.applications import ApplicationService
from localcdap.pipeline.library.drafts import DraftService
from localcdap.pipeline.library.templates import TemplateService, read_templates
from localcdap.pipeline.macros.secrets import Secrets
from localcdap.pipeline.methods import MethodService
from localcdap.pipeline.paths.service import PathService
from localcdap.pipeline.resolver import PipelineResolver
from localcdap.pipeline.service import StudioService
from localcdap.pipeline_tests.service import PipelineTestService
from localcdap.runs.debug.service import DebugService
from localcdap.runs.lineage_runs import StoredRuns
from localcdap.runs.preview.process import PreviewProcesses
from localcdap.runs.preview.service import PreviewService
from localcdap.runs.processes import RunProcess
from localcdap.runs.profiles import NATIVE
from localcdap.runs.provisioners import Provisioners
from localcdap.runs.records import RunRecords
from localcdap.runs.retention import RunRetention
from localcdap.runs.service import RunReport, RunService
from localcdap.runs.statistics.service import RunStatisticsService
from localcdap.sandbox.pool import PluginWorkers
from localcdap.security.access import AccessChecks
from localcdap.security.authorizer import PrivilegeAuthorizer, PrivilegeFile
from localcdap.security.owners import OwnerPrivileges
from localcdap.security.service import SecurityService
from localcdap.settings import Settings, load_settings
from localcdap.store.rows.session import DatasetAccesses
from localcdap.store.service import DatabaseService
from localcdap.store.store import Store, Transaction
from localcdap.store.structured.tables import StructuredTables
from localcdap.transactions.names import ADMIN


class HostServices:
    """The services of an instance, in the process that has its database open.

    Attributes have the names of :class:`~localcdap.host.service_table.ServiceTable`. Services are closed in
    the reverse order of their construction.

    :param expects_run: whether a run will start soon, so that its process can load its libraries already.
    :raises SettingsError: when the settings are wrong.
    :raises StoreError: when the database cannot be used.
    """

    def __init__(self, home: Home, *, expects_run: bool = False) -> None:
        with contextlib.ExitStack() as undo, contextlib.ExitStack() as unowned:
            settings = load_settings(home.settings_file)
            self._open_security(home)
            engine = make_engine_server(home, settings)
            spare = RunProcess(home.runs, engine.directory) if expects_run else None
            if spare is not None:
                unowned.callback(spare.cancel)
            worker = PluginWorkers(settings.plugin_time_limit_s, settings.plugin_memory_mb)
            undo.callback(worker.close)
            worker.start()
            store = Store(home.database, backups=home.backups)
            undo.callback(store.close)
            self._open_namespaces(store, home, undo)
            structured = self._open_structured_tables(store, settings, undo)
            self._delivery.add(DeletedNamespaceCleanup(structured.admin))
            self.namespaces.register_resource(create_structured_rows_resource(structured))
            plugin_directories = [home.resolve(each) for each in settings.plugin_directories]
            self.artifacts = self._open_artifacts(store, worker, home, plugin_directories, settings)
            self._open_tables(store, structured, home)
            self._open_lineage(store, worker, settings.lineage_retention_days)
            self._open_datasets(store, worker, home, settings)
            self._open_studio(store, worker, Locations(settings.locations, str(home.path)))
            profiles, warms_up = read_profiles(settings), settings.engine_warm_up
            provisioners = Provisioners(profiles, engine, settings.locations, warms_up=warms_up)
            self.runs = self._open_runs(store, home, settings, provisioners, engine, spare)
            undo.callback(self.runs.close)
            self.statistics = RunStatisticsService(store, self._topics, self.namespaces)
            unowned.pop_all()
            self._open_library(store)
            native = provisioners.get(NATIVE)
            processes = PreviewProcesses(home.previews, engine.directory, native)
            self._open_previews(processes, worker, home, settings.preview_records)
            undo.callback(self.previews.close)
            undo.callback(self.cases.close)
            self._open_connectors(worker, settings)
            self._open_metadata(store)
            self._open_openlineage(store, home, settings, undo)
            self.database = DatabaseService(store, home.backups)
            sync_artifacts(self.artifacts)
            self._app_files = AppFiles(home.app_files, self.namespaces)
            launcher = JobLauncher(
                *(self.namespaces, self.artifacts, self._resolver, provisioners, self._app_files),
                home=home.path,
                directory=home.jobs,
                engine=engine.directory,
            )
            self.jobs = create_jobs(store, self._topics, self.namespaces, launcher, settings)
            undo.callback(self.jobs.close)
            self._open_apps(store, structured, worker, home, settings, undo)
            watcher = FolderWatcher(plugin_directories, self.artifacts, worker.close)
            undo.callback(watcher.close)
            watcher.start()
            self.runs.resume()
            self.jobs.resume()
            self.namespaces.resume()
            self._undo = undo.pop_all()

    def _open_structured_tables(
        self, store: Store, settings: Settings, undo: contextlib.ExitStack
    ) -> StructuredTables:
        """Build the transactions on structured tables and datasets, and the connections, which are in one."""
        tables = StructuredTables(store, self.namespaces.require_generation, self._open_accesses)
        undo.callback(tables.close)
        self.structured_tables = tables.admin
        self.connections = ConnectionService(tables.transactions, self.namespaces, self.secure_keys)
        limits = TransactionLimits(settings.data_tx_timeout, settings.data_tx_max_timeout)
        self.transaction_service = TransactionService(tables, limits=limits)
        undo.callback(self.transaction_service.close)
        return tables

    def _open_accesses(self, accessor: object) -> DatasetAccesses:
        """Return what checks and records the accesses of a program to datasets."""
        return self._dataset_accesses.open(accessor)

    def _open_security(self, home: Home) -> None:
        """Build what decides on the calls of front ends and runs."""
        path = home.settings_file
        file = PrivilegeFile(path, lambda: read_privileges(load_settings(path)))
        self._owner_privileges = OwnerPrivileges(file.read)
        self._authorizer = PrivilegeAuthorizer(self._owner_privileges.read)
        self.checks = AccessChecks(self._authorizer)
        self.security = SecurityService(self._authorizer, file)

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

    def _open_namespaces(self, store: Store, home: Home, undo: contextlib.ExitStack) -> None:
        """Build messaging, the namespaces, and their preferences and secure keys."""
        self._topics = Topics(store)
        self._delivery = EventDispatcher(store, self._topics)
        undo.callback(self._delivery.close)
        self.namespaces = NamespaceService(store, self._topics)
        self.preferences = PreferenceService(store, self.namespaces)
        self.secure_keys = open_secure_keys(store, self.namespaces, home)
        self.messaging = MessagingService(
            store, self._topics, self._delivery, self.namespaces.require
        )
        topics = NamespaceResource("topics", remove=self._topics.delete_all)
        self.namespaces.register_resource(topics)

    def _open_studio(self, store: Store, worker: PluginWorkers, locations: Locations) -> None:
        self.templates = TemplateService(store, self.namespaces, self.artifacts)
        environments = EnvironmentFactory(
            self.artifacts,
            locations=locations,
            check_namespace=self.namespaces.require,
            preferences=self.preferences.resolve_for_pipeline,
            secrets=self._get_secrets,
            templates=partial(read_templates, store),
            tables=self.tables.read_shapes,
        )
        self._resolver = PipelineResolver(environments, worker.configure, worker.find_connected)
        self.studio = StudioService(self._resolver, self._designed.check, self._planner)
        self.editing = EditingService(environments, worker, self._planner)
        self._environments = environments
        self.methods = MethodService(environments, worker)
        self.paths = PathService(environments)

    def _open_library(self, store: Store) -> None:
        """Build the services for deployed pipelines and drafts."""
        self.applications = ApplicationService(
            store,
            self._topics,
            self.namespaces,
            self._resolver,
            self.runs.list_active,
            self._designed.trace,
            self._planner,
        )
        designed, lineage = self._designed, self._lineage_store
        self.impact = ImpactService(
            self._resolver, designed, lineage, self.applications, self._authorizer
        )
        self.drafts = DraftService(store, self._topics, self.namespaces)

    def _open_metadata(self, store: Store) -> None:
        self.audit, log, metadata = AuditService(store), self._audit_log, self._metadata
        self.metadata = MetadataService(
            store, metadata, self.namespaces, create_checks(self.artifacts), self._authorizer
        )
        self._delivery.add(EmittedMetadataListener(self.metadata))
        writer = SystemMetadataWriter(metadata)
        self._topics.add_observer(log.observe)
        self._topics.add_observer(writer.observe)
        with store.snapshot() as tx:
            is_filled = writer.is_filled(tx)
        if not is_filled:
            with store.transaction() as tx:
                writer.fill(tx)

    def _open_openlineage(
        self, store: Store, home: Home, settings: Settings, undo: contextlib.ExitStack
    ) -> None:
        """Build what sends events of OpenLineage; without destinations no events are made."""
        records = RunRecords(store, self._topics, self.namespaces)
        builder = EventBuilder(
            records,
            self._metadata,
            settings.openlineage_instance or home.path.name,
            home.database,
            Locations(settings.locations, str(home.path)),
        )
        destinations = create_destinations(home, settings)
        if not destinations and read_destinations(store):
            self._delivery.forget(OpenLineageListener.name)
        self._deliveries = Deliveries(store, destinations)
        undo.callback(self._deliveries.close)
        self.openlineage = OpenLineageService(
            store, records, self.namespaces, builder, self._deliveries
        )
        if destinations:
            most = settings.openlineage_keep_events
            self._delivery.add_from_now(OpenLineageListener(builder, self._deliveries, most))

    def _open_tables(self, store: Store, structured: StructuredTables, home: Home) -> None:
        """Build the services of tables and SQL."""
        namespaces, files = self.namespaces, FileSetTables(home.file_sets)
        self.tables = self.table_exports = TableService(store, namespaces, self._topics, files)
        self.table_statements = StatementService(store, namespaces, self._authorizer, files)
        self.sql = SqlService(store, namespaces, structured.admin, self._authorizer, files)

    def _open_datasets(
        self, store: Store, worker: PluginWorkers, home: Home, settings: Settings
    ) -> None:
        """Build the services of datasets and of their types, and what checks and records their use."""
        folder = home.file_sets
        types = DatasetTypes(store, folder, self.artifacts, worker)
        owners = DatasetOwners(store, self.namespaces, self._authorizer)
        self._owner_privileges.use(owners.list_owned)
        self._planner = PipelineDatasets(store, folder, self._authorizer, types, owners)
        self.run_datasets = RunDatasets(store, folder, self._planner)
        self.datasets = DatasetService(
            store, self.namespaces, self._topics, self._audit_log, folder, types, owners
        )
        self.dataset_modules = DatasetModuleService(store, self.artifacts)
        rules = get_annotation_rules(settings.datasets_shipped_annotations)
        self._dataset_accesses = DatasetAccessLog(
            store, self._authorizer, self._recorder, folder, rules
        )

    def _open_previews(
        self, processes: PreviewProcesses, workers: PluginWorkers, home: Home, records: int
    ) -> None:
        """Build the services that run pipelines and stages on a few records."""
        self.previews = PreviewService(
            self.namespaces, self._resolver, processes, home=home.path, records=records
        )
        self.cases = PipelineTestService(self._resolver, processes, home=home.path)
        self.debugging = DebugService(self._resolver, workers, processes, home=home.path)

    def _open_connectors(self, worker: PluginWorkers, settings: Settings) -> None:
        """Build what looks into connections."""
        self.connectors = ConnectorService(
            self.connections,
            self.artifacts,
            self._environments,
            worker,
            InstanceRows(self.sql, self.previews, self.checks),
            settings.plugin_time_limit_s,
        )

    def _open_apps(
        self,
        store: Store,
        structured: StructuredTables,
        worker: PluginWorkers,
        home: Home,
        settings: Settings,
        undo: contextlib.ExitStack,
    ) -> None:
        """Build the services of system applications, and start their listeners."""
        platform = AppPlatform(
            self.namespaces,
            self.artifacts,
            self.preferences,
            self._get_secrets,
            self.messaging,
            worker,
            self.methods,
            self._app_files,
            AppMetadata(store, self._topics, self.metadata),
            AppData(store, structured.admin),
            self.datasets,
            self._authorizer,
            self.jobs,
        )
        processes = create_app_processes(
            home,
            settings,
            {
                PLATFORM: platform,
                MESSAGING: self.messaging,
                ADMIN: structured.admin,
                CONNECTIONS: AppConnections(self.connections, self.connectors, self.checks),
            },
            lambda: TransactionService(structured, limits=self.transaction_service.get_limits()),
        )
        limit_s = settings.app_time_limit_s
        self._app_listeners = AppListeners(
            self._topics,
            self.messaging,
            self.artifacts,
            processes,
            structured.transactions,
            structured.admin,
            limit_s,
        )
        self.apps = AppService(
            self.artifacts, processes, self._app_listeners, RequestedInstances(store), limit_s
        )
        undo.callback(self._app_listeners.close)
        undo.callback(processes.close)
        self._app_listeners.start()

    def _open_runs(
        self,
        store: Store,
        home: Home,
        settings: Settings,
        provisioners: Provisioners,
        engine: EngineServer,
        spare: RunProcess | None,
    ) -> RunService:
        return RunService(
            store,
            self._topics,
            self.namespaces,
            self._resolver,
            provisioners,
            home=home.path,
            directory=home.runs,
            report=RunReport(settings.engine_counts, settings.engine_profiles),
            engine=engine.directory,
            origins=self.preferences.find_origins,
            spare=spare,
            authorizer=self._authorizer,
            recorder=self._recorder,
            retention=RunRetention(settings.runs_keep_days, settings.runs_keep_newest),
            datasets=self._planner,
            updates_datasets=settings.runs_update_datasets,
        )

    def _open_artifacts(
        self,
        store: Store,
        worker: PluginWorkers,
        home: Home,
        directories: Sequence[Path],
        settings: Settings,
    ) -> ArtifactService:
        announce = make_change_publisher(self._topics)

        def publish_change(tx: Transaction, report: SyncReport) -> None:
            announce(tx, report)
            tx.on_commit(self.editing.refresh_soon)

        artifacts = ArtifactService(
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
            make_artifact_resource(artifacts, directories, home.trash)
        )
        return artifacts

    @property
    def by_name(self) -> Mapping[str, object]:
        """The services by the names under which other processes call them."""
        return {name: getattr(self, entry.attribute) for name, entry in SERVICES.items()}

    def _get_secrets(self, namespace: str) -> Secrets:
        return Secrets(
            partial(self.secure_keys.get, namespace),
            partial(self.connections.get_properties, namespace),
        )

    def list_work(self, *, with_runs: bool = True) -> list[str]:
        """Return what is in progress, whether or not a client waits for it.

        :param with_runs: whether runs and jobs count that have begun: they outlive the host.
        """
        found = {
            "active runs": with_runs and self.runs.are_active(),
            "runs that are being started": self.runs.are_starting(),
            "jobs": self.jobs.are_waiting() or (with_runs and self.jobs.are_active()),
            "previews": self.previews.are_active(),
            "tests of pipelines": self.cases.are_active(),
            "events for applications": self._app_listeners.is_busy(),
        }
        return [what for what, is_in_progress in found.items() if is_in_progress]

    def are_sending(self) -> bool:
        """Whether events are being sent to other systems. A later host would send them too."""
        return self._deliveries.are_active()

    def finish_starting_runs(self) -> None:
        """Wait until every run that is being started has its order."""
        self.runs.finish_starting()

    def end_waiting(self) -> None:
        """End the waits of all callers that wait for messages or changes."""
        self._topics.close()
        self.editing.close_all()

    def close(self) -> None:
        """Stop the services, the newest first. Active runs continue."""
        self.end_waiting()
        self._undo.close()
