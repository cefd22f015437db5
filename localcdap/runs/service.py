"""The service of runs: it starts, watches and stops them, and reads their records and logs.

The run itself is another process; this service sends it an order and applies what it reports.
"""

from __future__ import annotations

import threading
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from localcdap.api.errors import StoreError
from localcdap.api.metadata import MetadataEntity
from localcdap.api.security import Authorizer, Permission
from localcdap.engine.messages.spool import RunStatus
from localcdap.pipeline.document.reader import read_document
from localcdap.rpc.methods import non_idempotent
from localcdap.runs.arguments import GIVEN, Arguments, list_arguments
from localcdap.runs.history import PipelineRuns, RunFilter, RunHistory, RunPage
from localcdap.runs.logs import RunReports
from localcdap.runs.model import (
    OF_REQUEST,
    OF_RUN,
    Run,
    RunRequest,
    get_run_entity,
)
from localcdap.runs.retention import RunPruner, RunRetention
from localcdap.runs.startup.profiles import ProfileSummary
from localcdap.security.access import of_namespace, open_to_all, requires, shows_visible

if TYPE_CHECKING:
    from localcdap.messaging.topics import Topics
    from localcdap.metadata.accesses import AccessRecorder
    from localcdap.namespaces.service import NamespaceService
    from localcdap.pipeline.resolver import PipelineResolver
    from localcdap.pipeline.validation.datasets import DatasetPlanner
    from localcdap.processes.identity import ProcessIdentity
    from localcdap.runs.startup.preparation import Origins, RunPreparer
    from localcdap.runs.startup.processes import RunProcess
    from localcdap.runs.startup.provisioners import Provisioners
    from localcdap.runs.watcher import WatchedRun
    from localcdap.store.store import Store


_ATTEMPTS: Final = 3
"""Attempts at applying a message before it is skipped as poisonous."""


class RunService(RunReports):
    """The runs of an instance. Threads may share it.

    :param preparer: makes records and orders of requests.
    :param provisioners: where runs take place.
    :param directory: of the sub-directories of runs.
    :param engine: directory of the local engine.
    :param parallel: the most runs that have a process; the others wait.
    :param datasets: changes the partitions of file sets.
    :param origins: of the values of macros that arguments do not define.
    :param authorizer: decides which tables the users of runs may write.
    :param recorder: records the datasets that runs read and write.
    :param spare: a run process without an order, started ahead for the next run.
    """

    def __init__(
        self,
        store: Store,
        topics: Topics,
        namespaces: NamespaceService,
        resolver: PipelineResolver,
        preparer: RunPreparer,
        provisioners: Provisioners,
        *,
        directory: Path,
        engine: Path,
        parallel: int,
        datasets: DatasetPlanner,
        origins: Origins,
        spare: RunProcess | None,
        authorizer: Authorizer,
        recorder: AccessRecorder,
        retention: RunRetention,
    ) -> None:
        # Clients import this class for its methods; what the host alone needs would take each command 30 ms.
        from localcdap.runs.records import RunRecords
        from localcdap.runs.startup.starter import RunLauncher, RunStarter
        from localcdap.runs.watcher import RunWatcher, create_run_resource

        self._store = store
        self._datasets = datasets
        self._authorizer = authorizer
        super().__init__(store)
        self._records = RunRecords(store, topics, namespaces, recorder)
        self._history = RunHistory(store)
        self._origins = origins
        self._namespaces = namespaces
        self._resolver = resolver
        self._provisioners = provisioners
        self._directory = directory
        self._watch: RunWatcher[WatchedRun] = RunWatcher(self._note_end)
        self._pruner = RunPruner(store, self._records, directory, retention, self._watch.find)
        namespaces.register_resource(
            create_run_resource(store, self._records, self._watch, directory, self.stop)
        )
        self._changed = threading.Condition()
        launcher = RunLauncher(
            provisioners,
            wait=self.wait,
            announce=self._announce,
            on_launch=self._pruner.apply_settings,
        )
        self._starter = RunStarter(
            store,
            self._records,
            preparer,
            launcher,
            limit=parallel,
            directory=directory,
            engine=engine,
            spare=spare,
            watch=self._watch_run,
            announce=self._announce,
        )

    @requires(OF_REQUEST, Permission.EXECUTE)
    @non_idempotent
    def start(self, request: RunRequest) -> Run:
        """Validate a pipeline and start its run, or let it wait until fewer runs have a process.

        Returns at once, when the record of the run can be read; see :meth:`wait` for how it goes on. A
        pipeline with a plugin that is not capable of what the run's profile requires has FAILED already, and
        nothing was started for it.

        :raises DocumentError: when the document is not a pipeline.
        :raises InvalidPipelineError: when it has failures; nothing is started then. The run of a deployed
            pipeline whose plugins are not found any more is recorded as FAILED all the same.
        :raises NotFoundError: when there is no such namespace or profile.
        :raises ConflictError: when the run of the request exists already.
        """
        return self._place(self._starter.start(request))

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
        return self._place(self._records.find(namespace, run))

    @requires(OF_RUN)
    def wait(self, run: str, version: int, timeout_s: float) -> Run:
        """Return the run as soon as it differs from ``version`` or moves up in the queue, or unchanged
        after the timeout.
        """
        position = self._starter.queue.get_position(run)

        def differs() -> bool:
            moved = self._starter.queue.get_position(run) != position
            return moved or self._records.get(run).version != version

        with self._changed:
            self._changed.wait_for(differs, timeout_s)
        return self._place(self._records.get(run))

    @requires(OF_RUN)
    def wait_for_end(self, run: str, timeout_s: float) -> Run:
        """Return the run as soon as it has ended, or as it is after the timeout."""
        with self._changed:
            self._changed.wait_for(lambda: self._records.get(run).status.is_end, timeout_s)
        return self._place(self._records.get(run))

    @requires(of_namespace())
    @shows_visible(get_run_entity)
    def list_runs(self, namespace: str, pipeline: str | None = None, limit: int = 0) -> list[Run]:
        """Return the runs of a namespace, newest first; at most ``limit``, 0 for all."""
        self._namespaces.require(namespace)
        return self._place_all(self._records.list_newest(namespace, pipeline, limit))

    @requires(of_namespace(), Permission.READ)
    def list_page(
        self, namespace: str, filter: RunFilter, after: str | None = None, limit: int = 100
    ) -> RunPage:
        """Return the runs of a namespace that match a filter, newest first.

        :param after: the id of the last run of the page before; None for the newest.
        :param limit: up to :data:`localcdap.runs.history.LONGEST_PAGE`.
        """
        self._namespaces.require(namespace)
        page = self._history.read_page(namespace, filter, after, limit)
        self._place_all(page.runs)
        return page

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
            return self._get_newest_line(run) <= newest and not self._records.get(run).status.is_end

        with self._changed:
            self._changed.wait_for(lambda: not goes_on(), timeout_s)
        return self._get_newest_line(run)

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
        if self._starter.stop_waiting(run):
            return self._records.get(run)
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
        """Watch the runs that an earlier host left behind, and let those wait that had no order yet."""
        self._starter.resume()
        for namespace in self._namespaces.list_namespaces():
            self._pruner.apply_settings(namespace.name)

    def list_active(self, namespace: str, pipeline: str) -> list[str]:
        """Return the ids of the active runs of a pipeline."""
        with self._store.separate_reads() as tx:
            active = self._records.list_active_in(tx, namespace)
        return [run for run, name in active if name == pipeline]

    def are_active(self) -> bool:
        """Whether a run has not ended."""
        return bool(self._records.list_active())

    def are_starting(self) -> bool:
        """Whether a run waits for its engine: it would end with this process."""
        return self._starter.are_starting()

    def finish_starting(self) -> None:
        """Start no more runs, and wait until no run waits for its engine. Those in the queue stay there."""
        self._starter.finish()

    def close(self) -> None:
        """Stop watching; runs go on, a run that is being started is waited for, and the queue is kept."""
        self._starter.close()
        self._watch.close()

    def _note_end(self, run: str) -> None:
        """Let the next run begin: the process of this one has ended."""
        self._starter.queue.leave(run)

    def _place(self, run: Run) -> Run:
        """Set the position of a run in the queue."""
        run.position = self._starter.queue.get_position(run.run)
        return run

    def _place_all(self, runs: list[Run]) -> list[Run]:
        positions = self._starter.queue.list_positions()
        for run in runs if positions else ():
            run.position = positions.get(run.run, 0)
        return runs

    def _watch_run(self, run: Run, process: ProcessIdentity) -> WatchedRun:
        from localcdap.runs.watcher import WatchedRun

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

    def _announce(self) -> None:
        with self._changed:
            self._changed.notify_all()
