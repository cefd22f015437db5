"""The records of runs, their logs and their documents in the instance's database."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final, NamedTuple

import msgspec

from localcdap.api.app.events import MetadataEmitted
from localcdap.api.errors import NotFoundError
from localcdap.api.lineage import StageLineage
from localcdap.api.metadata import PROGRAM_RUN, WORKFLOW, WORKFLOW_NAME, MetadataEntity
from localcdap.api.pipeline import StageConnection
from localcdap.api.security import Authorizer
from localcdap.decoders import decode_json
from localcdap.engine.messages.orders import WorkOrder
from localcdap.engine.messages.profiles import SinkProfile
from localcdap.engine.messages.spool import (
    Alerted,
    DatasetAccess,
    DatasetFlow,
    LineageTraced,
    MetadataOperations,
    RunStatus,
)
from localcdap.messaging.topics import Topics
from localcdap.metadata.external_datasets import DatasetUse, keep_external_datasets
from localcdap.namespaces.service import NamespaceService
from localcdap.runs import queued_orders
from localcdap.runs.documents import RunDocuments
from localcdap.runs.model import Run, StoredAlert, StoredLogLine, get_now
from localcdap.runs.statistics.columns import COLUMNS, build_columns
from localcdap.runs.status_events import describe_end, describe_status
from localcdap.store.store import Store, Transaction

if TYPE_CHECKING:
    from localcdap.metadata.accesses import AccessRecorder

LAST: Final = "last"
"""Stands for the newest run of a namespace."""
_ALL: Final = 2**62
_MOST_LOG_LINES: Final = 1_000_000
"""The most lines of a run that are kept. Later lines are kept only if they are errors."""
_SERIOUS: Final = ("ERROR", "CRITICAL")
_COUNT_SERIOUS: Final = (
    "SELECT count(*) FILTER (level = 'WARNING'), count(*) FILTER (list_contains(?, level)) "
    "FROM run_logs WHERE run = ?"
)


_GIVEN: Final = ", ".join(COLUMNS)
_MARKS: Final = ", ?" * len(COLUMNS)
_INSERT: Final = (
    "INSERT INTO runs (run, namespace, pipeline, starting, pid, pid_created, record, ended, "  # noqa: S608
    f"tables_loaded, {_GIVEN}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, false{_MARKS})"
)
_CHANGES: Final = ", ".join(f"{name} = ?" for name in COLUMNS)
_UPDATE: Final = f"UPDATE runs SET record = ?, ended = ?, {_CHANGES} WHERE run = ?"  # noqa: S608


class ProcessIdentity(msgspec.Struct, frozen=True):
    """A process, distinguished from a later process with the same id."""

    pid: int
    created: float
    """Seconds since 1970 at which the process started, as the system says."""


class ActiveRun(NamedTuple):
    """A run that has not ended."""

    run: Run
    process: ProcessIdentity | None
    """None while the run waits."""
    place: int
    """In the queue; 0 when the run has begun."""


class RunRecords:
    """Reads and writes runs and their logs, and publishes each change of a status together with it."""

    def __init__(
        self,
        store: Store,
        topics: Topics,
        namespaces: NamespaceService,
        recorder: AccessRecorder | None = None,
    ) -> None:
        self._recorder = recorder
        self._store = store
        self._namespaces = namespaces
        self._topics = topics
        self._documents = RunDocuments(store)

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
            return queued_orders.add(transaction, run.run, order) if order is not None else 0

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

    def list_accesses(self, transaction: Transaction, run: str) -> list[DatasetAccess]:
        """Return what the stages of a run have read, and what they have written and committed."""
        # No index: among 100,000 accesses this takes 2 ms, and with an index 1 ms, for which each write pays.
        rows = transaction.execute(
            "SELECT DISTINCT access FROM run_accesses WHERE run = ? AND is_committed ORDER BY ALL",
            (run,),
        )
        return [decode_json(access, DatasetAccess) for (access,) in rows]

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
                queued_orders.remove(transaction, run.run)
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
        transaction.execute(f"DELETE FROM run_logs WHERE run {of_namespace}", (namespace,))  # noqa: S608
        transaction.execute(f"DELETE FROM spool_offsets WHERE spool {of_namespace}", (namespace,))  # noqa: S608
        transaction.execute(f"DELETE FROM run_accesses WHERE run {of_namespace}", (namespace,))  # noqa: S608
        transaction.execute(f"DELETE FROM run_profiles WHERE run {of_namespace}", (namespace,))  # noqa: S608
        transaction.execute(f"DELETE FROM run_alerts WHERE run {of_namespace}", (namespace,))  # noqa: S608
        transaction.execute(f"DELETE FROM run_queue WHERE run {of_namespace}", (namespace,))  # noqa: S608
        transaction.execute("DELETE FROM runs WHERE namespace = ?", (namespace,))

    def remove(self, transaction: Transaction, namespace: str, runs: Sequence[str]) -> None:
        """Remove ended runs of a namespace, their logs, and the documents that no other run has."""
        reported = ("run_logs", "run_accesses", "run_profiles", "run_alerts", "runs")
        for table, key in (("spool_offsets", "spool"), *((each, "run") for each in reported)):
            transaction.execute(
                f"DELETE FROM {table} WHERE {key} IN (SELECT unnest(?))",  # noqa: S608
                (list(runs),),
            )
        self._documents.remove_unused(transaction, namespace)

    def mark_loaded(self, transaction: Transaction, run: str) -> bool:
        """Record that the rows of a run were loaded into their tables. Return whether they were not
        before.
        """
        rows = transaction.execute("SELECT tables_loaded FROM runs WHERE run = ?", (run,))
        if rows[0][0]:
            return False
        transaction.execute("UPDATE runs SET tables_loaded = true WHERE run = ?", (run,))
        return True

    def add_log(self, transaction: Transaction, run: str, lines: Sequence[StoredLogLine]) -> None:
        """Append numbered lines to the log of a run."""
        transaction.execute_many(
            "INSERT INTO run_logs VALUES (?, ?, ?, ?, ?, ?)",
            [
                (run, line.number, line.time, line.level, line.stage, line.text)
                for line in lines
                if line.number <= _MOST_LOG_LINES or line.level in _SERIOUS
            ],
        )

    def add_profiles(
        self, transaction: Transaction, run: str, profiles: Sequence[SinkProfile]
    ) -> None:
        """Store the profiles of what a run has written."""
        transaction.execute_many(
            "INSERT INTO run_profiles VALUES (?, ?, ?)",
            [(run, each.stage, msgspec.json.encode(each).decode()) for each in profiles],
        )

    def read_profiles(self, run: str) -> list[SinkProfile]:
        """Return the profiles of what a run has written, in the order of its phases and sinks."""
        rows = self._store.read(
            "SELECT profile FROM run_profiles WHERE run = ? ORDER BY rowid", (run,)
        )
        return [decode_json(profile, SinkProfile) for (profile,) in rows]

    def add_alerts(self, transaction: Transaction, run: str, alerted: Alerted) -> None:
        """Store alerts of a stage."""
        transaction.execute_many(
            "INSERT INTO run_alerts VALUES (?, ?, ?)",
            [(run, alerted.stage, msgspec.json.encode(each).decode()) for each in alerted.payloads],
        )

    def read_alerts(self, run: str, limit: int) -> list[StoredAlert]:
        """Return the first alerts of a run that are kept, in the order of its phases.

        :param limit: the most to return; 0 for all.
        """
        rows = self._store.read(
            "SELECT stage, payload FROM run_alerts WHERE run = ? ORDER BY rowid LIMIT ?",
            (run, limit or _ALL),
        )
        return [
            StoredAlert(stage, decode_json(payload, dict[str, str | None]))
            for stage, payload in rows
        ]

    def get_log_length(self, transaction: Transaction, run: str) -> int:
        """Return the number of the last line of a run's log; 0 when it is empty."""
        rows = transaction.execute("SELECT max(number) FROM run_logs WHERE run = ?", (run,))
        return rows[0][0] or 0

    def read_log(self, run: str, after: int, limit: int) -> list[StoredLogLine]:
        """Return the lines of a run's log with a number above ``after``, in order.

        :param limit: the most to return; 0 for all.
        """
        rows = self._store.read(
            "SELECT number, time, level, text, stage FROM run_logs WHERE run = ? AND number > ? "
            "ORDER BY number LIMIT ?",
            (run, after, limit or _ALL),
        )
        return [StoredLogLine(*row) for row in rows]

    def _publish_status(self, transaction: Transaction, run: Run) -> None:
        event = describe_status(run)
        if run.status.is_end:
            self._forget_writes(transaction, run)
            warnings, errors = transaction.execute(_COUNT_SERIOUS, (list(_SERIOUS), run.run))[0]
            event = describe_end(run, event, warnings, errors)
        self._topics.publish_event(transaction, event)

    def note_accesses(
        self, transaction: Transaction, run_id: str, accesses: Sequence[DatasetAccess]
    ) -> None:
        """Record what stages of a run read or have changed; what sinks write waits for the commit."""
        run = self.get_in(transaction, run_id)
        for is_write in (False, True):
            done = [
                each
                for each in accesses
                if each.is_write is is_write and (each.is_final or not is_write)
            ]
            self._record(transaction, run, done, is_write)
        transaction.execute_many(
            "INSERT INTO run_accesses VALUES (?, ?, ?, ?)",
            [
                (run_id, each.is_write, not each.is_write, msgspec.json.encode(each).decode())
                for each in accesses
            ],
        )

    def note_lineage(self, transaction: Transaction, run_id: str, message: LineageTraced) -> None:
        """Keep the field lineage of a phase of a run until the run commits."""
        stages, connections = (
            msgspec.json.encode(each).decode() for each in (message.stages, message.connections)
        )
        transaction.execute(
            "INSERT INTO pending_lineage VALUES (?, ?, ?)", (run_id, stages, connections)
        )

    def record_writes(self, transaction: Transaction, run: Run) -> list[str]:
        """Record what a run has written with its field lineage, once.

        :returns: what is wrong with the field lineage.
        """
        rows = transaction.execute(
            "SELECT DISTINCT access FROM run_accesses WHERE run = ? AND is_write AND NOT is_committed "
            "ORDER BY ALL",
            (run.run,),
        )
        written = [decode_json(access, DatasetAccess) for (access,) in rows]
        self._record(transaction, run, [each for each in written if not each.is_final], True)
        warnings = self._record_lineage(transaction, run)
        transaction.execute(
            "UPDATE run_accesses SET is_committed = true WHERE run = ? AND is_write", (run.run,)
        )
        self._forget_writes(transaction, run)
        return warnings

    def _record_lineage(self, transaction: Transaction, run: Run) -> list[str]:
        rows = transaction.execute(
            "SELECT stages, connections FROM pending_lineage WHERE run = ? ORDER BY rowid",
            (run.run,),
        )
        if not rows or self._recorder is None:
            return []
        stages: dict[str, StageLineage] = {}
        connections: dict[StageConnection, None] = {}
        for encoded, connected in rows:
            for stage in decode_json(encoded, type=list[StageLineage]):
                stages.setdefault(stage.stage, stage)
            connections |= dict.fromkeys(decode_json(connected, type=list[StageConnection]))
        return self._recorder.record_fields(
            transaction, run.namespace, run.pipeline, run.run, list(stages.values()), connections
        )

    def propagate_metadata(
        self,
        transaction: Transaction,
        run: Run,
        flows: Sequence[DatasetFlow],
        authorizer: Authorizer,
    ) -> Sequence[str]:
        """Carry USER metadata along with the records of a run, for the user who acts; return problems."""
        if not flows or self._recorder is None:
            return ()
        pairs = [(each.source, each.sink) for each in flows]
        return self._recorder.propagate(transaction, run.namespace, run.pipeline, pairs, authorizer)

    def _forget_writes(self, transaction: Transaction, run: Run) -> None:
        transaction.execute("DELETE FROM pending_lineage WHERE run = ?", (run.run,))

    def _record(
        self,
        transaction: Transaction,
        run: Run,
        accesses: Sequence[DatasetAccess],
        is_write: bool,
    ) -> None:
        if not accesses or self._recorder is None:
            return
        uses = [DatasetUse(each.dataset, is_write, each.document, each.tables) for each in accesses]
        changes = keep_external_datasets(transaction, run.namespace, uses)
        self._topics.publish_entity_events(
            transaction,
            [(kind, MetadataEntity.of_dataset(name, run.namespace)) for kind, name in changes],
        )
        self._recorder.record(transaction, run.namespace, run.pipeline, run.run, run.user, uses)

    def publish_metadata(
        self, transaction: Transaction, run_id: str, message: MetadataOperations
    ) -> None:
        """Publish what a stage of a run emitted, for the store of metadata."""
        run = self.get_in(transaction, run_id)
        entity = MetadataEntity.of_program(
            WORKFLOW_NAME, WORKFLOW, run.pipeline, run.namespace
        ).append(PROGRAM_RUN, run_id)
        now = get_now()
        events = [
            MetadataEmitted(entity, message.stage, operation, now, run.user or "")
            for operation in message.operations
        ]
        self._topics.publish_events(transaction, events)


def _encode_run(run: Run) -> str:
    return msgspec.json.encode(run).decode()


def _decode_run(record: str) -> Run:
    return decode_json(record, type=Run)
