"""Building the services of an instance from its settings. Only this module builds them."""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Mapping
from functools import partial
from typing import Final

from localcdap.api.errors import StoreError
from localcdap.api.locations import Locations
from localcdap.apps.jobs.process import JobLauncher
from localcdap.apps.listeners import AppListeners
from localcdap.apps.platform import AppPlatform, AppServices
from localcdap.apps.service import AppService, RequestedInstances
from localcdap.apps.storage import AppFiles
from localcdap.artifacts.directories.watcher import FolderWatcher
from localcdap.connectors.service import ConnectorService
from localcdap.connectors.stage_rows import InstanceRows, StageRows
from localcdap.datasets.file_tables import open_tables
from localcdap.datasets.listeners import DeletedNamespaceCleanup, create_structured_rows_resource
from localcdap.datasets.transactions import TransactionService
from localcdap.engine.local.server import EngineServer
from localcdap.home import Home
from localcdap.host.data_services import (
    DataServices,
    create_app_processes,
    create_destinations,
    create_jobs,
    read_profiles,
    sync_artifacts,
)
from localcdap.host.engine_server import make_engine_server
from localcdap.host.service_table import SERVICES
from localcdap.metadata.lineage.impact_service import ImpactService
from localcdap.openlineage.builder import EventBuilder
from localcdap.openlineage.delivery import Deliveries, read_destinations
from localcdap.openlineage.service import OpenLineageListener, OpenLineageService
from localcdap.pipeline.editing.service import EditingService
from localcdap.pipeline.environment import EnvironmentFactory
from localcdap.pipeline.library.applications import ApplicationService
from localcdap.pipeline.library.drafts import DraftService
from localcdap.pipeline.library.earlier_versions import keep_earlier_versions
from localcdap.pipeline.library.templates import TemplateService, read_templates
from localcdap.pipeline.methods import MethodService
from localcdap.pipeline.paths.service import PathService
from localcdap.pipeline.recordings.service import RecordingService, read_rules
from localcdap.pipeline.resolver import PipelineResolver
from localcdap.pipeline.service import StudioService
from localcdap.pipeline_tests.service import PipelineTestService
from localcdap.runs.debug.service import DebugService
from localcdap.runs.preview.process import PreviewProcesses
from localcdap.runs.preview.service import PreviewService
from localcdap.runs.records import RunRecords
from localcdap.runs.retention import RunRetention
from localcdap.runs.service import RunService
from localcdap.runs.startup.preparation import RunPreparer, RunReport
from localcdap.runs.startup.processes import RunProcess, count_parallel_runs
from localcdap.runs.startup.profiles import NATIVE
from localcdap.runs.startup.provisioners import Provisioners
from localcdap.runs.statistics.service import RunStatisticsService
from localcdap.sandbox.pool import PluginWorkers
from localcdap.schedules.changes import (
    DeploymentObserver,
    EarlierPipelines,
    ScheduleChanges,
    ScheduleListener,
)
from localcdap.schedules.scheduler import Launcher, Scheduler
from localcdap.schedules.service import ScheduleService
from localcdap.schedules.times import StoredPlans
from localcdap.settings import Settings, load_settings
from localcdap.store.service import DatabaseService
from localcdap.store.store import Store
from localcdap.store.structured.admin import StructuredTables
from localcdap.sync.kind_table import create_kinds
from localcdap.sync.service import SyncService

_LOG: Final = logging.getLogger(__name__)


class HostServices(DataServices):
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
            folders = [home.resolve(each) for each in settings.plugin_directories]
            self._open_artifacts(store, worker, home, folders, settings, self._refresh_sessions)
            self._open_tables(store, structured, home)
            self._open_lineage(store, worker, settings.lineage_retention_days)
            self._open_datasets(store, worker, home, settings)
            self._open_studio(store, worker, home, settings)
            profiles, warms_up = read_profiles(settings), settings.engine_warm_up
            provisioners = Provisioners(profiles, engine, settings.locations, warms_up=warms_up)
            self.runs = self._open_runs(store, home, settings, provisioners, engine, spare)
            undo.callback(self.runs.close)
            unowned.pop_all()
            self._open_library(store)
            native = provisioners.get(NATIVE)
            processes = PreviewProcesses(home.previews, engine.directory, native)
            self._open_previews(processes, worker, home, settings.preview_records)
            undo.callback(self.previews.close)
            undo.callback(self.cases.close)
            self._open_connectors(worker, settings)
            self._open_metadata(store)
            scheduler = self._open_schedules(store, settings, undo)
            self._open_openlineage(store, home, settings, undo)
            self._open_sync(store)
            self._open_backups(store, home, settings)
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
            watcher = FolderWatcher(folders, self.artifacts, worker.close)
            undo.callback(watcher.close)
            watcher.start()
            self.runs.resume()
            self.jobs.resume()
            self.namespaces.resume()
            scheduler.start()
            self._earlier_pipelines.start()
            self._undo = undo.pop_all()

    def _open_studio(
        self, store: Store, worker: PluginWorkers, home: Home, settings: Settings
    ) -> None:
        keep_earlier_versions(store)
        self.recordings = RecordingService(store, self.namespaces, settings.recordings)
        self.templates = TemplateService(store, self.namespaces, self.artifacts)
        environments = EnvironmentFactory(
            self.artifacts,
            locations=Locations(settings.locations, str(home.path)),
            check_namespace=self.namespaces.require,
            preferences=self.preferences.resolve_for_pipeline,
            secrets=self._get_secrets,
            templates=partial(read_templates, store),
            tables=self.tables.read_shapes,
            configurer=worker.configure,
            rules=partial(read_rules, store, settings.recordings),
            read_rows=self.sql.read_rows,
        )
        self._resolver = PipelineResolver(environments, worker.configure, worker.find_connected)
        self.studio = StudioService(self._resolver, self._designed.check, self._planner)
        self.editing = EditingService(environments, worker, self._planner)
        self._environments = environments
        self.methods = MethodService(
            environments,
            worker,
            self._rows.fetch,
            partial(open_tables, self.tables, self.sql),
            settings.plugin_session_memory_mb,
        )
        self.paths = PathService(environments)

    def _refresh_sessions(self) -> None:
        self.editing.refresh_soon()

    def _open_library(self, store: Store) -> None:
        """Build the services for deployed pipelines and drafts, and for what is known of their runs."""
        planned = StoredPlans(store)
        self.statistics = RunStatisticsService(store, self._topics, self.namespaces, planned)
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

    def _open_sync(self, store: Store) -> None:
        """Build what synchronizes namespaces with folders."""
        kinds = create_kinds(
            self.applications,
            self.drafts,
            self.connections,
            self.preferences,
            self.schedules,
            self.metadata,
            self.artifacts,
        )
        self.sync = SyncService(store, self.namespaces, kinds)

    def _open_schedules(
        self, store: Store, settings: Settings, undo: contextlib.ExitStack
    ) -> Scheduler:
        """Build the schedules, and what makes them act."""
        run_records = RunRecords(store, self._topics, self.namespaces)
        launcher = Launcher(
            lambda request: self.checks.perform(self.runs, "start", {"request": request}),
            run_records.get,
            run_records.read_document_text,
            self._find_pipeline,
        )
        scheduler = Scheduler(store, launcher, catches_up=settings.schedules_catch_up)
        undo.callback(scheduler.close)
        changes = ScheduleChanges(self._topics, scheduler.note_change)
        self.schedules = ScheduleService(store, self.namespaces, changes, self._authorizer)
        deployments = DeploymentObserver(changes)
        self._topics.add_observer(deployments.observe)
        self._earlier_pipelines = EarlierPipelines(store, deployments)
        undo.callback(self._earlier_pipelines.close)
        self._delivery.add_from_now(ScheduleListener(scheduler.note_change))
        return scheduler

    def _find_pipeline(self, namespace: str, name: str) -> tuple[str, str]:
        """Return the latest version of a deployed pipeline, and its document."""
        found = self.applications.find(namespace, name)
        return found.version, self.applications.export(namespace, name, found.version)

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
            InstanceRows(
                self.sql,
                self.previews,
                self.checks,
                StageRows(self.applications, self.runs, self.previews, self.checks),
            ),
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
            store,
            self._topics,
            self.namespaces,
            self.artifacts,
            self._get_secrets,
            self.methods.caller,
            self._app_files,
            structured.admin,
            self.jobs,
            self._authorizer,
        )
        services = AppServices(
            platform,
            self.namespaces,
            self.preferences,
            self.datasets,
            self.metadata,
            self.messaging,
            structured.admin,
            self.jobs,
            worker,
            self.connections,
            self.connectors,
        )
        processes = create_app_processes(
            home,
            settings,
            services,
            self.checks,
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
        preparer = RunPreparer(
            store,
            self._resolver,
            provisioners,
            self._planner,
            home=home.path,
            report=RunReport(settings.engine_counts, settings.engine_profiles),
            origins=self.preferences.find_origins,
            updates_datasets=settings.runs_update_datasets,
            records_on_clusters=settings.runs_recorded_on_clusters,
        )
        return RunService(
            store,
            self._topics,
            self.namespaces,
            self._resolver,
            preparer,
            provisioners,
            directory=home.runs,
            engine=engine.directory,
            parallel=settings.runs_parallel or count_parallel_runs(settings.engine_memory),
            origins=self.preferences.find_origins,
            spare=spare,
            authorizer=self._authorizer,
            recorder=self._recorder,
            retention=RunRetention(settings.runs_keep_days, settings.runs_keep_newest),
            datasets=self._planner,
        )

    @property
    def by_name(self) -> Mapping[str, object]:
        """The services by the names under which other processes call them."""
        return {name: getattr(self, entry.attribute) for name, entry in SERVICES.items()}

    def _open_backups(self, store: Store, home: Home, settings: Settings) -> None:
        self.database = DatabaseService(store, home.backups)
        self._back_up_daily = store.back_up_daily if settings.backups_daily else lambda: None

    def list_work(self, *, with_runs: bool = True) -> list[str]:
        """Return what is in progress, whether or not a client waits for it.

        :param with_runs: whether runs and jobs count that have begun: they outlive the host.
        """
        found = {
            "active runs": with_runs and self.runs.are_active(),
            "runs that are being started": self.runs.are_starting(),
            "jobs": self.jobs.are_waiting() or (with_runs and self.jobs.are_active()),
            "schedules": self.schedules.are_active(),
            "previews": self.previews.are_active(),
            "tests of pipelines": self.cases.are_active(),
            "events for applications": self._app_listeners.is_busy(),
        }
        return [what for what, is_in_progress in found.items() if is_in_progress]

    def back_up_daily(self) -> None:
        """Make a backup when nothing is in progress, and the last one is older than a day."""
        if self.list_work():
            return
        try:
            self._back_up_daily()
        except StoreError as error:
            _LOG.warning("No backup was made: %s", error.full_message)

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
