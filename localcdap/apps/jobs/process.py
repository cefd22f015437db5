"""The process of a job, as the host sees it: its start, what its messages change, and whether it has ended.

Jobs get their processes and orders in a thread each: Spark may take long to start.
"""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Final

from localcdap.api.app.jobs import JobProgress
from localcdap.api.app.namespaces import NamespaceSummary
from localcdap.api.errors import LocalcdapError, NotFoundError
from localcdap.apps.jobs.records import JobRecords, StoredJob
from localcdap.apps.storage import AppFiles
from localcdap.artifacts.model import ApplicationRef, PluginRef
from localcdap.artifacts.service import ArtifactService
from localcdap.engine.messages.orders import SPOOL, JobOrder, WorkOrder
from localcdap.engine.messages.spool import (
    Failed,
    JobMessage,
    JobReported,
    JobReturned,
    LogLine,
    LogLines,
    Progress,
    RunStatus,
    StatusChanged,
)
from localcdap.messaging.consumer import PoisonMessage, SpoolConsumer
from localcdap.namespaces.service import NamespaceService
from localcdap.pipeline.document.model import PipelineDocument
from localcdap.pipeline.document.reader import read_document
from localcdap.pipeline.resolver import PipelineResolver
from localcdap.pipeline.validation.resolution import ResolvedPipeline
from localcdap.processes.identity import ProcessIdentity, is_alive
from localcdap.runs.model import get_now
from localcdap.runs.startup.new_run import create_error_for_run
from localcdap.runs.startup.processes import OUTPUT_FILE, RunProcess
from localcdap.runs.startup.provisioners import Provisioners
from localcdap.runs.startup.starter import OrderThreads, send_order
from localcdap.runs.watcher import WatchedProcess
from localcdap.store.store import Store, Transaction

_PRINTED: Final = 100
"""The last lines that a process has printed, which are kept."""


class JobEffects:
    """Applies the messages of one job."""

    def __init__(self, store: Store, records: JobRecords, id: str) -> None:
        self._store: Final = store
        self._records: Final = records
        self._id: Final = id

    def apply(self, tx: Transaction, message: JobMessage) -> None:
        """Apply a message; called again when the transaction is rolled back and repeated."""
        match message:
            case LogLine():
                self._records.add_log(tx, self._id, [message])
            case LogLines():
                self._records.add_log(tx, self._id, message.lines)
            case _:
                job = self._records.get(tx, self._id)
                _change(job, message)
                self._records.change(tx, job)

    def fail_on_poison(self, poison: PoisonMessage) -> None:
        """Record that a message could not be applied: what the job says about itself may be incomplete."""
        with self._store.transaction() as tx:
            text = f"A message of the job could not be applied: {poison.reason}"
            self._records.add_log(tx, self._id, [LogLine(get_now() / 1000, "ERROR", None, text)])

    def end(self, status: RunStatus, error: LocalcdapError | None = None) -> bool:
        """Record that a job has ended that had no process, or no order.

        :returns: False when it had ended before.
        """
        with self._store.transaction() as tx:
            job = self._records.get(tx, self._id)
            if job.detail.has_ended:
                return False
            if error is not None:
                job.detail.error, job.detail.corrective_action = (
                    error.message,
                    error.corrective_action,
                )
            _end(job, status, get_now())
            self._records.change(tx, job)
        return True

    def mark_stopping(self) -> None:
        """Record that a job with a process was asked to stop."""
        with self._store.transaction() as tx:
            job = self._records.get(tx, self._id)
            if RunStatus(job.detail.status).can_become(RunStatus.STOPPING):
                job.detail.status = RunStatus.STOPPING
                self._records.change(tx, job)


class WatchedJob(WatchedProcess):
    """A job and its process.

    :param on_change: called when the job has changed.
    """

    def __init__(
        self,
        store: Store,
        records: JobRecords,
        id: str,
        process: ProcessIdentity,
        directory: Path,
        on_change: Callable[[], None],
    ) -> None:
        self.effects: Final = JobEffects(store, records, id)
        self._records = records
        consumer: SpoolConsumer[JobMessage] = SpoolConsumer(
            store,
            directory / SPOOL,
            id,
            JobMessage,
            self.effects.apply,
            self.effects.fail_on_poison,
            lambda _: on_change(),
        )
        super().__init__(store, id, process, directory, consumer)

    def _remove_files(self) -> None:
        """Remove the files of the job; what its process has printed goes to its log."""
        printed = self.directory / OUTPUT_FILE
        lines = printed.read_text(errors="replace").splitlines() if printed.exists() else []
        with self._store.transaction() as tx:
            self._consumer.forget(tx)
            now = get_now() / 1000
            kept = [LogLine(now, "INFO", None, line) for line in lines[-_PRINTED:] if line]
            if kept and self._records.find(self.run) is not None:
                self._records.add_log(tx, self.run, kept)
        shutil.rmtree(self.directory, ignore_errors=True)

    def _has_ended(self) -> bool:
        job = self._records.find(self.run)
        return job is None or job.detail.has_ended


def _change(job: StoredJob, message: JobMessage) -> None:
    detail = job.detail
    match message:
        case StatusChanged():
            _set_status(job, message)
        case Progress():
            detail.progress.tasks_done, detail.progress.tasks = message.tasks_done, message.tasks
        case JobReported():
            detail.progress.message, detail.progress.fraction = message.message, message.fraction
        case JobReturned():
            detail.result = message.result
        case Failed():
            detail.error, detail.corrective_action = message.message, message.corrective_action


def _set_status(job: StoredJob, message: StatusChanged) -> None:
    """Set a status, unless the job has ended or has a later status."""
    detail, status, moment = job.detail, message.status, int(message.time * 1000)
    current = RunStatus(detail.status)
    if not current.can_become(status):
        return
    if status is RunStatus.FAILED and current is RunStatus.STOPPING:
        # The process was killed because it did not stop by itself.
        status, detail.error, detail.corrective_action = RunStatus.KILLED, None, None
    detail.status = status
    if status is RunStatus.RUNNING:
        detail.started = moment
    if status.is_end:
        _end(job, status, moment)


def _end(job: StoredJob, status: RunStatus, moment: int) -> None:
    job.detail.status, job.detail.ended, job.detail.progress = status, moment, JobProgress()


_POLL_S: Final = 0.05


class JobLauncher:
    """Launches jobs. Threads may share it.

    :param home: the instance's folder.
    :param directory: of the sub-directories of jobs.
    :param engine: directory of the local engine.
    """

    def __init__(
        self,
        namespaces: NamespaceService,
        artifacts: ArtifactService,
        resolver: PipelineResolver,
        provisioners: Provisioners,
        files: AppFiles,
        *,
        home: Path,
        directory: Path,
        engine: Path,
    ) -> None:
        self._namespaces = namespaces
        self._artifacts = artifacts
        self._resolver = resolver
        self._provisioners = provisioners
        self._files = files
        self._home = home
        self._directory = directory
        self._engine = engine
        self.threads: Final = OrderThreads()

    def choose_profile(self, namespace: str, asked: str | None) -> str:
        """Return the compute profile of a job.

        :raises NotFoundError: when there is no such profile.
        """
        environment = self._resolver.environments.create(namespace)
        preferences = environment.merge_arguments(None, {})
        return self._provisioners.profiles.choose_profile(
            namespace, arguments={}, asked=asked, preferences=preferences
        )

    def resolve(self, namespace: str, document: PipelineDocument) -> ResolvedPipeline:
        """Validate the pipeline of a job's input."""
        environment = self._resolver.environments.create(namespace)
        arguments = environment.merge_arguments(None, {})
        return self._resolver.resolve_for_run(document, environment, arguments)

    def get_directory(self, id: str) -> Path:
        """Return the directory of the process of a job."""
        return self._directory / id

    def make_process(self, id: str) -> RunProcess:
        """Start the process of a job, which waits for its order."""
        return RunProcess(self._directory, self._engine, id)

    def launch(
        self,
        job: StoredJob,
        process: RunProcess,
        watched: WatchedJob,
        has_begun: Callable[[str], bool],
    ) -> None:
        """Let a thread send the order of a job to its process."""
        self.threads.start(partial(self._send_order, job, process, watched, has_begun))

    def _send_order(
        self,
        job: StoredJob,
        process: RunProcess,
        watched: WatchedJob,
        has_begun: Callable[[str], bool],
    ) -> None:
        def wait_for_lease(id: str, process: RunProcess) -> None:
            while not has_begun(id) and is_alive(process.identity):
                time.sleep(_POLL_S)

        try:
            order = self._create_order(job)
            send_order(process, order, self._provisioners.get(job.detail.profile), wait_for_lease)
        except LocalcdapError as error:
            watched.effects.end(RunStatus.FAILED, error)
            process.cancel()
        except FileNotFoundError:  # the job was stopped meanwhile, and its directory removed
            process.cancel()

    def _create_order(self, job: StoredJob) -> WorkOrder:
        """Return the order of a job, in which the engine's address is missing.

        :raises LocalcdapError: when what it needs is not there any more.
        """
        detail = job.detail
        namespace = self._namespaces.describe(detail.namespace)
        summary = NamespaceSummary(namespace.name, namespace.description, namespace.generation)
        text, plugins = self._write_out(detail.namespace, job.document)
        return WorkOrder(
            run_id=detail.id,
            namespace=detail.namespace,
            pipeline=detail.title,
            document=text,
            plugins=plugins,
            arguments=self._resolver.environments.create(detail.namespace).merge_arguments(
                None, {}
            ),
            logical_start_ms=get_now(),
            engine_url="",
            base_directory=str(self._home),
            host_directory=str(self._home),
            job=JobOrder(
                self._find_application(detail.application),
                detail.job,
                detail.arguments,
                job.memory_mb,
                str(self._files.open_folder(detail.application, detail.namespace)),
                summary,
                job.user,
            ),
        )

    def _write_out(self, namespace: str, text: str) -> tuple[str, dict[str, PluginRef]]:
        """Return the document of the input without plugin templates, and its plugins."""
        if not text:
            return "", {}
        document = read_document(text)
        resolved = self.resolve(namespace, document)
        if resolved.errors:
            raise create_error_for_run(resolved)
        written, _ = self._resolver.environments.create(namespace).write_out_templates(document)
        return written, resolved.plugins

    def _find_application(self, name: str) -> ApplicationRef:
        for each in self._artifacts.list_applications():
            if each.application.name == name:
                return each
        raise NotFoundError(f"There is no application '{name}' any more.")
