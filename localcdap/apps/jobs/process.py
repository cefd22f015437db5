"""The process of a job, as the host sees it: what its messages change, and whether it has ended."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Final

from localcdap.api.app.jobs import JobProgress
from localcdap.api.errors import LocalcdapError
from localcdap.apps.jobs.records import JobRecords, StoredJob
from localcdap.engine.messages.orders import SPOOL
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
from localcdap.processes.identity import ProcessIdentity
from localcdap.runs.model import get_now
from localcdap.runs.startup.processes import OUTPUT_FILE
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
