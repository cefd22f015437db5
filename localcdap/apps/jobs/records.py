"""The records of jobs in the instance's database."""

from __future__ import annotations

from typing import Final

import msgspec

from localcdap.api.app.events import JobEnded
from localcdap.api.app.jobs import JobDetail, JobLogLine
from localcdap.api.errors import NotFoundError
from localcdap.decoders import decode_json
from localcdap.engine.messages.spool import LogLine
from localcdap.messaging.topics import Topics
from localcdap.namespaces.service import NamespaceService
from localcdap.processes.identity import ProcessIdentity
from localcdap.runs.model import get_now
from localcdap.store.store import Store, Transaction

KEPT: Final = 200
"""The ended jobs of an application and namespace that are kept, with their logs: the newest ones."""
_MOST_LOG_LINES: Final = 100_000


class StoredJob(msgspec.Struct):
    """A job as it is stored."""

    detail: JobDetail
    generation: int
    """That of the namespace."""
    memory_mb: int
    document: str
    """The pipeline of its input, JSON text; empty for a job without one."""
    user: str = ""
    """Who submitted it, through the application; empty for localcdap itself."""


class QueuedJob(msgspec.Struct):
    """A job that has not ended."""

    job: StoredJob
    process: ProcessIdentity | None
    """None while it waits in the queue."""


class JobRecords:
    """Reads and writes jobs, and publishes the end of each together with it. Threads may share it."""

    def __init__(self, store: Store, topics: Topics, namespaces: NamespaceService) -> None:
        self._store = store
        self._topics = topics
        self._namespaces = namespaces

    def add(self, job: StoredJob) -> None:
        """Add a job at the end of the queue.

        :raises NotFoundError: when its namespace does not exist (any more).
        """
        detail = job.detail
        with self._store.transaction() as tx:
            self._namespaces.require_in_transaction(tx, detail.namespace)
            tx.execute(
                "INSERT INTO app_jobs VALUES (?, nextval('app_job_places'), ?, ?, false, NULL, NULL, ?)",
                (detail.id, detail.application, detail.namespace, _encode(job)),
            )

    def get(self, tx: Transaction, id: str) -> StoredJob:
        """Return a job.

        :raises NotFoundError: when there is none of this id.
        """
        rows = tx.execute("SELECT record FROM app_jobs WHERE id = ?", (id,))
        if not rows:
            raise NotFoundError(f"There is no job '{id}'.")
        return _decode(rows[0][0])

    def find(self, id: str) -> StoredJob | None:
        """Return a job; None when there is none of this id (any more)."""
        rows = self._store.read("SELECT record FROM app_jobs WHERE id = ?", (id,))
        return _decode(rows[0][0]) if rows else None

    def list_details(
        self, namespace: str | None, application: str | None = None
    ) -> list[JobDetail]:
        """Return jobs, newest first, with their places in the queue.

        :param namespace: None for all.
        """
        rows = self._store.read(
            "SELECT record, CASE WHEN NOT ended AND pid IS NULL THEN (SELECT count(*) FROM app_jobs o "
            "WHERE NOT o.ended AND o.pid IS NULL AND o.place <= app_jobs.place) ELSE 0 END FROM app_jobs "
            "WHERE (? IS NULL OR namespace = ?) AND (? IS NULL OR application = ?) ORDER BY place DESC",
            (namespace, namespace, application, application),
        )
        return [
            msgspec.structs.replace(_decode(record).detail, position=place)
            for record, place in rows
        ]

    def list_active(self) -> list[QueuedJob]:
        """Return the jobs that have not ended, in the order of the queue."""
        rows = self._store.read(
            "SELECT record, pid, pid_created FROM app_jobs WHERE NOT ended ORDER BY place"
        )
        return [
            QueuedJob(_decode(record), None if pid is None else ProcessIdentity(pid, created))
            for record, pid, created in rows
        ]

    def list_active_in(self, tx: Transaction, namespace: str) -> list[tuple[str, str]]:
        """Return the id and the application of each job for a namespace that has not ended."""
        rows = tx.execute(
            "SELECT id, application FROM app_jobs WHERE NOT ended AND namespace = ? ORDER BY place",
            (namespace,),
        )
        return [(id, application) for id, application in rows]

    def set_process(self, id: str, process: ProcessIdentity | None) -> bool:
        """Set the process of a job, or put it back into the queue.

        :returns: False when the job has ended meanwhile; nothing is changed then.
        """
        pid, created = (process.pid, process.created) if process is not None else (None, None)
        with self._store.transaction() as tx:
            changed = tx.execute(
                "UPDATE app_jobs SET pid = ?, pid_created = ? WHERE id = ? AND NOT ended RETURNING id",
                (pid, created, id),
            )
        return bool(changed)

    def change(self, tx: Transaction, job: StoredJob) -> None:
        """Store a changed job; when it has ended now, publish that."""
        detail = job.detail
        was_ended = tx.execute("SELECT ended FROM app_jobs WHERE id = ?", (detail.id,))[0][0]
        tx.execute(
            "UPDATE app_jobs SET record = ?, ended = ? WHERE id = ?",
            (_encode(job), detail.has_ended, detail.id),
        )
        if detail.has_ended and not was_ended:
            self._publish_end(tx, job)
            self._prune(tx, detail.application, detail.namespace)

    def add_log(self, tx: Transaction, id: str, lines: list[LogLine]) -> None:
        """Append lines to the log of a job; a log that is too long takes no more."""
        last = tx.execute("SELECT max(number) FROM run_logs WHERE run = ?", (id,))[0][0] or 0
        tx.execute_many(
            "INSERT INTO run_logs VALUES (?, ?, ?, ?, ?, ?)",
            [
                (id, last + place, int(line.time * 1000), line.level, line.stage, line.text)
                for place, line in enumerate(lines[: max(0, _MOST_LOG_LINES - last)], start=1)
            ],
        )

    def read_log(self, id: str, after: int) -> list[JobLogLine]:
        """Return the lines of the log of a job after a line."""
        rows = self._store.read(
            "SELECT number, time, level, text FROM run_logs WHERE run = ? AND number > ? ORDER BY number",
            (id, after),
        )
        return [JobLogLine(*row) for row in rows]

    def remove_all(self, tx: Transaction, namespace: str) -> None:
        """Remove the jobs of a deleted namespace, with their logs."""
        of_namespace = "IN (SELECT id FROM app_jobs WHERE namespace = ?)"
        tx.execute(f"DELETE FROM run_logs WHERE run {of_namespace}", (namespace,))  # noqa: S608
        tx.execute(f"DELETE FROM spool_offsets WHERE spool {of_namespace}", (namespace,))  # noqa: S608
        tx.execute("DELETE FROM app_jobs WHERE namespace = ?", (namespace,))

    def _publish_end(self, tx: Transaction, job: StoredJob) -> None:
        detail = job.detail
        event = JobEnded(
            detail.application,
            detail.job,
            detail.id,
            detail.namespace,
            job.generation,
            detail.status,
            detail.ended or get_now(),
            detail.arguments,
            detail.error,
        )
        self._topics.publish_event(tx, event)

    def _prune(self, tx: Transaction, application: str, namespace: str) -> None:
        """Remove the oldest ended jobs."""
        old = tx.execute(
            "SELECT id FROM app_jobs WHERE ended AND application = ? AND namespace = ? "
            "ORDER BY place DESC OFFSET ?",
            (application, namespace, KEPT),
        )
        for (id,) in old:
            tx.execute("DELETE FROM run_logs WHERE run = ?", (id,))
            tx.execute("DELETE FROM app_jobs WHERE id = ?", (id,))


def _encode(job: StoredJob) -> str:
    return msgspec.json.encode(job).decode()


def _decode(text: str) -> StoredJob:
    return decode_json(text, type=StoredJob)
