"""The records of runs, with their documents and columns, in the instance's database.

The documents of runs in the instance's database. The orders of runs that have not begun, with their places in
the queue. The columns of runs that lists and statistics read, besides the record itself.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import msgspec

from localcdap.api.errors import EngineError, NotFoundError
from localcdap.decoders import decode_json
from localcdap.engine.messages.orders import WorkOrder, decode_order, encode_order
from localcdap.engine.messages.spool import RunStatus
from localcdap.messaging.topics import Topics
from localcdap.namespaces.service import NamespaceService
from localcdap.processes.identity import ProcessIdentity
from localcdap.runs.history import count_records_read
from localcdap.runs.logs import count_serious
from localcdap.runs.metadata import RunMetadataRecorder, forget_lineage
from localcdap.runs.model import Run, count_records_written
from localcdap.runs.statistics.classification import find_reason
from localcdap.runs.status_events import describe_end, describe_status
from localcdap.store.store import Store, Transaction

if TYPE_CHECKING:
    from localcdap.metadata.accesses import AccessRecorder


def add(tx: Transaction, run: str, order: WorkOrder) -> int:
    """Add a run at the end of the queue, and return its place.

    :param order: without the address of an engine: the run gets that when it is its turn.
    """
    rows = tx.execute(
        "INSERT INTO run_queue VALUES (?, nextval('run_places'), ?) RETURNING place",
        (run, encode_order(order).decode()),
    )
    return int(rows[0][0])


def read(tx: Transaction, run: str) -> WorkOrder | None:
    """Return the order of a run; None when the run is not in the queue.

    :raises EngineError: when it cannot be read.
    """
    rows = tx.execute("SELECT work_order FROM run_queue WHERE run = ?", (run,))
    if not rows:
        return None
    try:
        return decode_order(rows[0][0])
    except msgspec.DecodeError as error:
        raise EngineError(
            f"The order of the run cannot be read: {error}.",
            "Another version of localcdap wrote it. Start the run again.",
        ) from error


def is_waiting(tx: Transaction, run: str) -> bool:
    """Whether no process was started for a run that has not ended."""
    return bool(
        tx.execute("SELECT 1 FROM runs WHERE run = ? AND pid IS NULL AND NOT ended", (run,))
    )


def remove(tx: Transaction, run: str) -> None:
    """Remove a run from the queue: it has begun, or ended."""
    tx.execute("DELETE FROM run_queue WHERE run = ?", (run,))


COLUMNS: Final = (
    "status",
    "begun",
    "finish",
    "username",
    "start_method",
    "application_version",
    "artifact",
    "records_read",
    "records_written",
    "failed_stage",
    "error",
    "reason",
    "category",
    "stage_times",
    "stage_alerts",
)


def build_columns(run: Run) -> tuple[Any, ...]:
    """Return the values of :data:`COLUMNS` for a run."""
    error = run.error
    reason = find_reason(error) if error is not None else None
    times = msgspec.json.encode(run.stage_times).decode() if run.stage_times else None
    alerts = {name: counts.alerts for name, counts in run.stages.items() if counts.alerts}
    return (
        run.status.value,
        run.start,
        run.end,
        run.user,
        run.start_method,
        run.application_version,
        msgspec.json.encode(run.artifact).decode() if run.artifact is not None else None,
        count_records_read(run.stages),
        count_records_written(run),
        error.stage if error is not None else None,
        error.message if error is not None else None,
        reason.text if reason is not None else None,
        reason.category if reason is not None else None,
        times,
        msgspec.json.encode(alerts).decode() if alerts else None,
    )


class RunDocuments:
    """Stores the documents of runs; equal documents of a namespace are stored once, under their digest."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def save(self, tx: Transaction, run: Run, text: str) -> None:
        """Store the document of a run, and set its digest in the run."""
        run.document = hashlib.sha256(text.encode(errors="surrogatepass")).hexdigest()
        tx.execute(
            "INSERT INTO run_documents VALUES (?, ?, ?) ON CONFLICT DO NOTHING",
            (run.namespace, run.document, text),
        )

    def get_text(self, run: Run) -> str:
        """Return the text of the document of a run.

        :raises NotFoundError: when it was not stored, since an older localcdap made the run.
        """
        rows = self._store.read(
            "SELECT document FROM run_documents WHERE namespace = ? AND digest = ?",
            (run.namespace, run.document),
        )
        if not rows:
            raise NotFoundError(
                f"The pipeline of run '{run.run}' was not kept.",
                "It was made by an older localcdap; run the file or the deployed pipeline instead.",
            )
        text: str = rows[0][0]
        return text

    def remove_unused(self, tx: Transaction, namespace: str) -> None:
        """Remove the documents of a namespace that no run has."""
        tx.execute(
            "DELETE FROM run_documents WHERE namespace = ? AND digest NOT IN (SELECT "
            "coalesce(json_extract_string(record, '$.document'), '') FROM runs WHERE namespace = ?)",
            (namespace, namespace),
        )

    def remove_all(self, tx: Transaction, namespace: str) -> None:
        """Remove the documents of all runs of a namespace."""
        tx.execute("DELETE FROM run_documents WHERE namespace = ?", (namespace,))


LAST: Final = "last"
"""Stands for the newest run of a namespace."""
_ALL: Final = 2**62
_GIVEN: Final = ", ".join(COLUMNS)
_MARKS: Final = ", ?" * len(COLUMNS)
_INSERT: Final = (
    "INSERT INTO runs (run, namespace, pipeline, starting, pid, pid_created, record, ended, "  # noqa: S608
    f"tables_loaded, {_GIVEN}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, false{_MARKS})"
)
_CHANGES: Final = ", ".join(f"{name} = ?" for name in COLUMNS)
_UPDATE: Final = f"UPDATE runs SET record = ?, ended = ?, {_CHANGES} WHERE run = ?"  # noqa: S608
_TABLES: Final = (
    ("spool_offsets", "spool"),
    *((table, "run") for table in ("run_logs", "run_accesses", "run_profiles", "run_alerts")),
)
"""The tables of what a run leaves, each with its column of the run's id."""


class ActiveRun(NamedTuple):
    """A run that has not ended."""

    run: Run
    process: ProcessIdentity | None
    """None while the run waits."""
    place: int
    """In the queue; 0 when the run has begun."""


class RunRecords:
    """Reads and writes runs, and publishes each change of a status together with it.

    A removed run takes its log and all else that it left with it.
    """

    def __init__(
        self,
        store: Store,
        topics: Topics,
        namespaces: NamespaceService,
        recorder: AccessRecorder | None = None,
    ) -> None:
        self._store = store
        self._namespaces = namespaces
        self._topics = topics
        self._documents = RunDocuments(store)
        self.metadata: Final = RunMetadataRecorder(topics, recorder)

    def add(
        self,
        run: Run,
        process: ProcessIdentity | None,
        document: str,
        order: WorkOrder | None = None,
    ) -> int:
        """Add a run with its document.

        :param process: None for a run that waits, or has ended already.
        :param order: what the process is to do, kept until the run begins.
        :returns: its place in the queue; 0 without an order.
        :raises NotFoundError: when the namespace of the run does not exist (any more).
        """
        with self._store.transaction() as transaction:
            self._namespaces.require_in_transaction(transaction, run.namespace)
            self._documents.save(transaction, run, document)
            transaction.execute(
                _INSERT,
                (
                    run.run,
                    run.namespace,
                    run.pipeline,
                    run.starting,
                    process.pid if process is not None else None,
                    process.created if process is not None else None,
                    _encode_run(run),
                    run.status.is_end,
                    *build_columns(run),
                ),
            )
            self._publish_status(transaction, run)
            return add(transaction, run.run, order) if order is not None else 0

    def get(self, run: str) -> Run:
        """Return a run by its id.

        :raises NotFoundError: when there is no run with this id.
        """
        rows = self._store.read("SELECT record FROM runs WHERE run = ?", (run,))
        if not rows:
            raise NotFoundError(f"There is no run '{run}'.", "See 'localcdap runs'.")
        return _decode_run(rows[0][0])

    def get_in(self, transaction: Transaction, run: str) -> Run:
        """Return a run by its id, as a transaction sees it."""
        rows = transaction.execute("SELECT record FROM runs WHERE run = ?", (run,))
        return _decode_run(rows[0][0])

    def find_in(self, transaction: Transaction, run: str) -> Run | None:
        """Return a run by its id, as a transaction sees it; None when it was removed."""
        rows = transaction.execute("SELECT record FROM runs WHERE run = ?", (run,))
        return _decode_run(rows[0][0]) if rows else None

    def find(self, namespace: str, text: str) -> Run:
        """Return the run whose id is, or begins with, ``text``; ``last`` is the newest run.

        :raises NotFoundError: when no run, or more than one, matches.
        """
        if text == LAST:
            newest = self.list_newest(namespace, limit=1)
            if newest:
                return newest[0]
            raise NotFoundError(
                f"There are no runs in namespace '{namespace}'.", "Start one: localcdap run FILE."
            )
        # A whole id is in the index; among many runs its prefix is not found as fast.
        rows = self._store.read(
            "SELECT record FROM runs WHERE run = ? AND namespace = ?", (text, namespace)
        ) or self._store.read(
            "SELECT record FROM runs WHERE namespace = ? AND starts_with(run, ?) ORDER BY starting DESC",
            (namespace, text),
        )
        if len(rows) == 1:
            return _decode_run(rows[0][0])
        problem = f"{len(rows)} runs begin with" if rows else "There is no run"
        raise NotFoundError(
            f"{problem} '{text}' in namespace '{namespace}'.", "See 'localcdap runs'."
        )

    def list_newest(self, namespace: str, pipeline: str | None = None, limit: int = 0) -> list[Run]:
        """Return the runs of a namespace, newest first.

        :param limit: the most to return; 0 for all.
        """
        rows = self._store.read(
            "SELECT record FROM runs WHERE namespace = ? AND (? IS NULL OR pipeline = ?) "
            "ORDER BY starting DESC, run DESC LIMIT ?",
            (namespace, pipeline, pipeline, limit or _ALL),
        )
        return [_decode_run(record) for (record,) in rows]

    def list_oldest(
        self, transaction: Transaction, namespace: str, after: str | None, limit: int
    ) -> list[Run]:
        """Return the runs of a namespace that were asked for after another one, or all; oldest first.

        :param after: the id of a run.
        :param limit: the most to return.
        """
        rows = transaction.execute(
            "SELECT record FROM runs WHERE namespace = ? AND (? IS NULL OR (starting, run) > "
            "(SELECT (starting, run) FROM runs WHERE run = ?)) ORDER BY starting, run LIMIT ?",
            (namespace, after, after, limit),
        )
        return [_decode_run(record) for (record,) in rows]

    def read_document_text(self, run: str) -> str:
        """Return the text of the document of a run.

        :raises NotFoundError: when there is no such run, or its document was not kept.
        """
        return self._documents.get_text(self.get(run))

    def list_active(self) -> list[ActiveRun]:
        """Return the runs whose last known status is active, those first that were asked for first."""
        rows = self._store.read(
            "SELECT record, pid, pid_created, place FROM runs LEFT JOIN run_queue USING (run) "
            "WHERE NOT ended ORDER BY place, starting, run"
        )
        return [
            ActiveRun(
                _decode_run(record),
                None if pid is None else ProcessIdentity(pid, created),
                place or 0,
            )
            for record, pid, created, place in rows
        ]

    def change(self, transaction: Transaction, run: Run) -> None:
        """Store a changed run, and increase its version."""
        before = self.get_in(transaction, run.run).status
        if before is not run.status:
            self._publish_status(transaction, run)
            if before is RunStatus.PENDING:
                remove(transaction, run.run)
        run.version += 1
        transaction.execute(
            _UPDATE, (_encode_run(run), run.status.is_end, *build_columns(run), run.run)
        )

    def set_process(self, run: str, process: ProcessIdentity | None) -> bool:
        """Store the process that is to carry out a run, or that the run waits for one.

        :returns: False when the run is not PENDING any more; nothing is changed then.
        """
        pid, created = (process.pid, process.created) if process is not None else (None, None)
        with self._store.transaction() as transaction:
            changed = transaction.execute(
                "UPDATE runs SET pid = ?, pid_created = ? WHERE run = ? AND status = ? RETURNING run",
                (pid, created, run, RunStatus.PENDING.value),
            )
        return bool(changed)

    def list_active_in(self, transaction: Transaction, namespace: str) -> Sequence[tuple[str, str]]:
        """Return id and pipeline of the active runs of a namespace."""
        rows = transaction.execute(
            "SELECT run, pipeline FROM runs WHERE namespace = ? AND NOT ended ORDER BY starting",
            (namespace,),
        )
        return [(run, pipeline) for run, pipeline in rows]

    def list_ids(self, namespace: str) -> list[str]:
        """Return the ids of all runs of a namespace."""
        rows = self._store.read("SELECT run FROM runs WHERE namespace = ?", (namespace,))
        return [run for (run,) in rows]

    def remove_all(self, transaction: Transaction, namespace: str) -> None:
        """Remove the runs of a namespace, their logs and documents, and the offsets of their spools."""
        self._documents.remove_all(transaction, namespace)
        of_namespace = "IN (SELECT run FROM runs WHERE namespace = ?)"
        for table, key in (*_TABLES, ("run_queue", "run"), ("runs", "run")):
            transaction.execute(f"DELETE FROM {table} WHERE {key} {of_namespace}", (namespace,))  # noqa: S608

    def remove(self, transaction: Transaction, namespace: str, runs: Sequence[str]) -> None:
        """Remove ended runs of a namespace, their logs, and the documents that no other run has."""
        for table, key in (*_TABLES, ("runs", "run")):
            transaction.execute(
                f"DELETE FROM {table} WHERE {key} IN (SELECT unnest(?))",  # noqa: S608
                (list(runs),),
            )
        self._documents.remove_unused(transaction, namespace)

    def has_loaded(self, transaction: Transaction, run: str) -> bool:
        """Return whether the rows of a run were loaded into their tables."""
        rows = transaction.execute("SELECT tables_loaded FROM runs WHERE run = ?", (run,))
        return bool(rows[0][0])

    def mark_loaded(self, transaction: Transaction, run: str) -> bool:
        """Record that the rows of a run were loaded into their tables. Return whether they were not
        before.
        """
        if self.has_loaded(transaction, run):
            return False
        transaction.execute("UPDATE runs SET tables_loaded = true WHERE run = ?", (run,))
        return True

    def _publish_status(self, transaction: Transaction, run: Run) -> None:
        event = describe_status(run)
        if run.status.is_end:
            forget_lineage(transaction, run.run)
            event = describe_end(run, event, *count_serious(transaction, run.run))
        self._topics.publish_event(transaction, event)


def _encode_run(run: Run) -> str:
    return msgspec.json.encode(run).decode()


def _decode_run(record: str) -> Run:
    return decode_json(record, type=Run)
