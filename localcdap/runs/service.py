"""The service of runs: it starts, watches and stops them, and reads their records and logs.

The run itself is another process; this service sends it an order and applies what it reports.
"""

from __future__ import annotations

import shutil
import threading
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import msgspec

from localcdap.api.errors import ConflictError, LocalcdapError, StoreError
from localcdap.api.metadata import MetadataEntity
from localcdap.api.security import Authorizer, Permission
from localcdap.engine.messages.spool import RunStatus
from localcdap.messaging.topics import Topics
from localcdap.namespaces.service import NamespaceService
from localcdap.pipeline.document.reader import read_document
from localcdap.pipeline.environment import NamespaceEnvironment, RecordedDocument
from localcdap.pipeline.resolver import PipelineResolver
from localcdap.pipeline.validation.datasets import DatasetPlanner, NoDatasets
from localcdap.pipeline.validation.resolution import ResolvedPipeline
from localcdap.rpc.methods import non_idempotent
from localcdap.runs.access import OF_REQUEST, OF_RUN, get_run_entity
from localcdap.runs.arguments import GIVEN, Arguments, list_arguments
from localcdap.runs.deployed import explain_lost_artifacts, pin_plugins
from localcdap.runs.effects import RunEffects
from localcdap.runs.history import PipelineRuns, RunFilter, RunHistory, RunPage
from localcdap.runs.launcher import RunLauncher
from localcdap.runs.logs import RunLogs
from localcdap.runs.model import Run, RunRequest
from localcdap.runs.new_run import (
    build_request,
    build_run,
    create_error_for_caller,
    create_error_for_run,
    has_lost_plugins,
    prepare_datasets,
    record_run,
    refuse_stand_ins,
)
from localcdap.runs.processes import RunProcess, has_order, remove_process
from localcdap.runs.profiles import ProfileSummary
from localcdap.runs.provisioners import Provisioners
from localcdap.runs.records import ProcessIdentity, RunRecords
from localcdap.runs.reports import RunReports
from localcdap.runs.retention import RunPruner, RunRetention
from localcdap.runs.watcher import RunWatcher, WatchedRun, create_run_resource
from localcdap.security.access import of_namespace, open_to_all, requires, shows_visible
from localcdap.security.authorizer import ALLOW_ALL
from localcdap.store.store import Store

if TYPE_CHECKING:
    from localcdap.metadata.accesses import AccessRecorder

Origins = Callable[[str, str | None], Mapping[str, str]]
"""The level of preferences that each macro value comes from, by namespace and pipeline name."""

_ATTEMPTS: Final = 3
"""Attempts at applying a message before it is skipped as poisonous."""


class RunReport(NamedTuple):
    """What runs report of their records."""

    counts: bool
    """The records of each stage, and the metrics of plugins."""
    profiles: bool
    """The profiles of what reaches the sinks."""


class RunService(RunReports):
    """The runs of an instance. Threads may share it.

    :param provisioners: where runs take place.
    :param home: what relative paths in pipelines are relative to.
    :param directory: of the sub-directories of runs.
    :param report: what runs report of their records.
    :param engine: directory of the local engine.
    :param origins: of the values of macros that arguments do not define.
    :param authorizer: decides which tables the users of runs may write.
    :param recorder: records the datasets that runs read and write.
    :param datasets: says whether datasets can hold what sinks write, and changes them on request.
    :param updates_datasets: whether every run requests that.
    :param records_on_clusters: whether runs with recordings may take place on clusters.
    :param spare: a run process without an order, started ahead for the next run.
    """

    def __init__(
        self,
        store: Store,
        topics: Topics,
        namespaces: NamespaceService,
        resolver: PipelineResolver,
        provisioners: Provisioners,
        *,
        home: Path,
        directory: Path,
        report: RunReport,
        engine: Path,
        origins: Origins = lambda _, __: {},
        spare: RunProcess | None = None,
        authorizer: Authorizer = ALLOW_ALL,
        recorder: AccessRecorder | None = None,
        retention: RunRetention = RunRetention(),  # noqa: B008 - frozen
        datasets: DatasetPlanner = NoDatasets(),  # noqa: B008 - it has no state
        updates_datasets: bool = False,
        records_on_clusters: bool = False,
    ) -> None:
        self._store = store
        self._datasets = datasets
        self._updates_datasets = updates_datasets
        self._records_on_clusters = records_on_clusters
        self._authorizer = authorizer
        super().__init__(RunRecords(store, topics, namespaces, recorder), RunLogs(store))
        self._history = RunHistory(store)
        self._origins = origins
        self._namespaces = namespaces
        self._resolver = resolver
        self._provisioners = provisioners
        self._directory = directory
        self._engine = engine
        self._spare = spare
        self._watch: RunWatcher[WatchedRun] = RunWatcher()
        self._pruner = RunPruner(store, self._records, directory, retention, self._watch.find)
        namespaces.register_resource(
            create_run_resource(store, self._records, self._watch, directory, self.stop)
        )
        self._changed = threading.Condition()
        self._launcher = RunLauncher(
            provisioners,
            home,
            counts=report.counts,
            profiles=report.profiles,
            watch=self._watch_run,
            wait=self.wait,
            announce=self._announce,
            on_launch=self._pruner.apply_settings,
        )

    @requires(OF_REQUEST, Permission.EXECUTE)
    @non_idempotent
    def start(self, request: RunRequest) -> Run:
        """Validate a pipeline and start its run.

        Returns at once; see :meth:`wait` for how it goes on. A pipeline with a plugin that is not capable
        of what the run's profile requires has FAILED already, and nothing was started for it.

        :raises DocumentError: when the document is not a pipeline.
        :raises InvalidPipelineError: when it has failures; nothing is started then. The run of a deployed
            pipeline whose plugins are not found any more is recorded as FAILED all the same.
        :raises NotFoundError: when there is no such namespace or profile.
        :raises ConflictError: when the run of the request exists already.
        """
        environment = self._resolver.environments.create(request.namespace)
        document = read_document(request.document, request.file)
        name = request.application or document.name or request.name
        given = request.arguments
        request = msgspec.structs.replace(
            request, arguments=environment.merge_arguments(name, given)
        )
        profile = self._provisioners.profiles.choose_profile(
            request.namespace,
            arguments=given,
            asked=request.profile,
            preferences=request.arguments,
        )
        process = self._take_process(request.run)
        try:
            recorded = record_run(document, environment, request, name, process.directory)
            resolved = self._resolve(recorded, environment, request)
            is_remote = self._provisioners.profiles.get_remote(profile) is not None
            if is_remote and not self._records_on_clusters:
                refuse_stand_ins(resolved, profile)
            run = build_run(process.run, request, name, profile, resolved)
            run.origins = {
                **self._origins(run.namespace, run.pipeline),
                **dict.fromkeys(given, GIVEN),
            }
            self._records.add(run, process.identity, document.to_json())
        except BaseException:
            process.cancel()
            raise
        if resolved.errors:
            process.cancel()
            self._refuse_run(run, create_error_for_run(resolved))
            raise create_error_for_caller(resolved)
        try:
            self._launcher.launch(run, process, recorded.document, resolved, environment)
        except LocalcdapError as error:
            process.cancel()
            return self._refuse_run(run, error)
        return run

    @requires(of_namespace(), Permission.EXECUTE)
    def warm_up(self, namespace: str) -> bool:
        """Start the local Spark server in the background if runs of a namespace use it by default.

        :returns: whether it is being started; False when it runs, or the settings switch that off.
        """
        environment = self._resolver.environments.create(namespace)
        preferences = environment.merge_arguments(None, {})
        profile = self._provisioners.profiles.choose_profile(
            namespace, arguments={}, asked=None, preferences=preferences
        )
        is_local = self._provisioners.profiles.get_remote(profile) is None
        return is_local and self._provisioners.warm_up()

    @requires(of_namespace())
    def list_profiles(self, namespace: str) -> list[ProfileSummary]:
        """Return the compute profiles for runs of a namespace, with its default marked."""
        environment = self._resolver.environments.create(namespace)
        preferences = environment.merge_arguments(None, {})
        return self._provisioners.profiles.list_summaries(namespace, preferences)

    @open_to_all("it names the entity of other checks")
    def get_entity(self, run: str, namespace: str | None = None) -> MetadataEntity:
        """Return the application of a run; with a namespace, ``run`` is as for :meth:`get`."""
        return get_run_entity(self.get(namespace, run) if namespace else self._records.get(run))

    @requires(OF_RUN)
    def get(self, namespace: str, run: str) -> Run:
        """Return a run by its id, the beginning of its id, or ``last``.

        :raises NotFoundError: when there is none, or several.
        """
        self._namespaces.require(namespace)
        return self._records.find(namespace, run)

    @requires(OF_RUN)
    def wait(self, run: str, version: int, timeout_s: float) -> Run:
        """Return the run as soon as it differs from ``version``, or unchanged after the timeout."""

        def differs() -> bool:
            return self._records.get(run).version != version

        with self._changed:
            self._changed.wait_for(differs, timeout_s)
        return self._records.get(run)

    @requires(of_namespace())
    @shows_visible(get_run_entity)
    def list_runs(self, namespace: str, pipeline: str | None = None, limit: int = 0) -> list[Run]:
        """Return the runs of a namespace, newest first; at most ``limit``, 0 for all."""
        self._namespaces.require(namespace)
        return self._records.list_newest(namespace, pipeline, limit)

    @requires(of_namespace(), Permission.READ)
    def list_page(
        self, namespace: str, filter: RunFilter, after: str | None = None, limit: int = 100
    ) -> RunPage:
        """Return the runs of a namespace that match a filter, newest first.

        :param after: the id of the last run of the page before; None for the newest.
        :param limit: up to :data:`localcdap.runs.history.LONGEST_PAGE`.
        """
        self._namespaces.require(namespace)
        return self._history.read_page(namespace, filter, after, limit)

    @requires(of_namespace(), Permission.READ)
    def list_by_pipeline(self, namespace: str, recent: int = 40) -> list[PipelineRuns]:
        """Return the pipelines that were run, the one with the newest run first.

        :param recent: the number of recent runs in each answer.
        """
        self._namespaces.require(namespace)
        return self._history.group_by_pipeline(namespace, recent)

    @requires(of_namespace(), Permission.ADMIN)
    @non_idempotent
    def prune(
        self,
        namespace: str,
        retention: RunRetention,
        pipeline: str | None = None,
        *,
        only_list: bool = False,
    ) -> list[str]:
        """Remove ended runs, with their logs and files; see :meth:`RunPruner.prune`.

        :raises NotFoundError: when there is no such namespace.
        """
        self._namespaces.require(namespace)
        return self._pruner.prune(namespace, retention, pipeline, only_list=only_list)

    @requires(OF_RUN)
    def get_document(self, run: str) -> str:
        """Return the document of a run, with plugin templates as they are named in it.

        :raises NotFoundError: when there is no such run, or its document was not kept.
        """
        return self._records.read_document_text(run)

    @requires(of_namespace())
    def get_arguments(
        self,
        namespace: str,
        document: Any,
        pipeline: str | None = None,
        given: dict[str, str] = {},  # noqa: B006
    ) -> Arguments:
        """Return the arguments that a run of a document needs, with their values as far as they are known.

        :param pipeline: the name of the pipeline; by default the name in the document.
        :param given: runtime arguments, which override preferences.
        :raises DocumentError: when the document is not a pipeline.
        :raises NotFoundError: when there is no such namespace.
        """
        environment = self._resolver.environments.create(namespace)
        read = read_document(document)
        name = pipeline or read.name
        origins = {**self._origins(namespace, name), **dict.fromkeys(given, GIVEN)}
        return list_arguments(read, environment.merge_arguments(name, given), origins)

    @requires(OF_RUN)
    def wait_for_log(self, run: str, newest: int, timeout_s: float) -> int:
        """Wait for lines after ``newest``, the end of the run, or the timeout; return the last number."""

        def goes_on() -> bool:
            return self._logs.get_newest(run) <= newest and not self._records.get(run).status.is_end

        with self._changed:
            self._changed.wait_for(lambda: not goes_on(), timeout_s)
        return self._logs.get_newest(run)

    @requires(OF_RUN)
    def drain_spool(self, run: str) -> None:
        """Apply everything that an active run has reported so far; it would be applied a moment later anyway.

        :raises StoreError: when the database cannot take it.
        """
        watched = self._watch.find(run)
        if watched is None:
            return
        for left in reversed(range(_ATTEMPTS)):
            try:
                watched.drain_spool()
                break
            except StoreError:
                if not left:
                    raise
        error = self._records.get(run).error
        if error is not None:
            raise StoreError(error.message, error.corrective_action)

    @requires(OF_RUN, Permission.EXECUTE)
    def stop(self, run: str) -> Run:
        """Stop a run and wait until it has ended; do nothing for a run that has ended.

        :raises NotFoundError: when there is no such run.
        """
        record = self._records.get(run)
        watched = self._watch.find(run)
        if record.status.is_end or watched is None:
            return record
        with self._store.transaction() as transaction:
            record = self._records.get_in(transaction, run)
            if record.status.can_become(RunStatus.STOPPING):
                record.status = RunStatus.STOPPING
                self._records.change(transaction, record)
        watched.stop()
        while not record.status.is_end:
            record = self.wait(run, record.version, timeout_s=1.0)
        return record

    def resume(self) -> None:
        """Watch the runs that an earlier host left behind, and start those that had no order yet."""
        for run, process in self._records.list_active():
            if run.status is RunStatus.PENDING and not has_order(self._directory / run.run):
                self._start_again(run, process)
            else:
                self._watch_run(run, process)
        for namespace in self._namespaces.list_namespaces():
            self._pruner.apply_settings(namespace.name)

    def list_active(self, namespace: str, pipeline: str) -> list[str]:
        """Return the ids of the active runs of a pipeline."""
        with self._store.snapshot() as tx:
            active = self._records.list_active_in(tx, namespace)
        return [run for run, name in active if name == pipeline]

    def are_active(self) -> bool:
        """Whether a run has not ended."""
        return bool(self._records.list_active())

    def are_starting(self) -> bool:
        """Whether a run waits for its engine: it would end with this process."""
        return self._launcher.threads.are_active()

    def finish_starting(self) -> None:
        """Wait until no run waits for its engine."""
        self._launcher.threads.finish()

    def close(self) -> None:
        """Stop watching; runs go on, and a run that is being started is waited for."""
        self.finish_starting()
        if self._spare is not None:
            self._spare.cancel()
        self._watch.close()

    def _resolve(
        self, recorded: RecordedDocument, environment: NamespaceEnvironment, request: RunRequest
    ) -> ResolvedPipeline:
        """Return the resolved pipeline. That of a deployed pipeline which lost plugins has failures.

        :raises InvalidPipelineError: when any other pipeline has failures.
        """
        resolved = self._resolver.resolve_for_run(
            pin_plugins(self._store, request, recorded.document),
            environment,
            request.arguments,
            use_suggested=request.use_suggested,
        )
        found = recorded.replacements
        resolved.add_stand_ins(found.stand_ins, found.failures)
        resolved.errors = explain_lost_artifacts(request, resolved.errors)
        updates = request.update_datasets or self._updates_datasets
        prepare_datasets(self._store, self._datasets, request.namespace, resolved, updates=updates)
        if resolved.errors and not has_lost_plugins(request, resolved):
            raise create_error_for_caller(resolved)
        return resolved

    def _take_process(self, run: str | None) -> RunProcess:
        """Return a process for a new run: the spare one, or one for a run whose id is known already.

        What a killed host has left of an earlier attempt at that run is removed.
        """
        if run is None:
            process, self._spare = self._spare or RunProcess(self._directory, self._engine), None
            return process
        with self._store.snapshot() as tx:
            if self._records.find_in(tx, run) is not None:
                raise ConflictError(f"There is a run '{run}' already.")
        shutil.rmtree(self._directory / run, ignore_errors=True)
        return RunProcess(self._directory, self._engine, run)

    def _refuse_run(self, run: Run, error: LocalcdapError) -> Run:
        """Record that a run failed before anything was started for it."""
        RunEffects(self._store, self._records, run.run).refuse_run(error)
        self._announce()
        return self._records.get(run.run)

    def _watch_run(self, run: Run, process: ProcessIdentity) -> WatchedRun:
        watched = WatchedRun(
            self._store,
            self._records,
            run,
            process,
            self._directory / run.run,
            self._announce,
            self._authorizer,
            self._datasets,
        )
        self._watch.add(watched)
        return watched

    def _start_again(self, run: Run, waiting: ProcessIdentity) -> None:
        """Start a run whose host was killed before it gave an order to the run's process.

        Without an order nothing of the run has begun, and only the host writes it: no other process can start
        the run too.

        :param waiting: the process without an order.
        """
        directory = self._directory / run.run
        remove_process(waiting, directory)
        try:
            request = build_request(run, self._records.read_document_text(run.run))
            environment = self._resolver.environments.create(run.namespace)
            document = read_document(request.document)
            process = RunProcess(self._directory, self._engine, run.run)
        except LocalcdapError as error:
            self._refuse_run(run, error)
            return
        try:
            recorded = record_run(document, environment, request, run.pipeline, process.directory)
            resolved = self._resolve(recorded, environment, request)
            if resolved.errors:
                raise create_error_for_run(resolved)
            self._records.set_process(run.run, process.identity)
            self._launcher.launch(run, process, recorded.document, resolved, environment)
        except LocalcdapError as error:
            process.cancel()
            self._refuse_run(run, error)

    def _announce(self) -> None:
        with self._changed:
            self._changed.notify_all()
