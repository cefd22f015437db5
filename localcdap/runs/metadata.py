"""The metadata that runs cause: their accesses to datasets, field lineage, and what stages emit.

Also what lineage asks about runs.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence, Set
from typing import TYPE_CHECKING

import msgspec

from localcdap.api.app.events import MetadataEmitted
from localcdap.api.lineage import StageLineage
from localcdap.api.metadata import PROGRAM_RUN, WORKFLOW, WORKFLOW_NAME, MetadataEntity
from localcdap.api.pipeline import StageConnection
from localcdap.api.security import Authorizer
from localcdap.decoders import decode_json
from localcdap.engine.messages.spool import (
    DatasetAccess,
    DatasetFlow,
    LineageTraced,
    MetadataOperations,
)
from localcdap.messaging.topics import Topics
from localcdap.metadata.accesses import DatasetUse, keep_external_datasets
from localcdap.metadata.lineage.relations import ProgramRunId
from localcdap.metadata.lineage.time_range import TimeRange
from localcdap.runs.model import Run, get_now
from localcdap.store.store import Store, Transaction

if TYPE_CHECKING:
    from localcdap.metadata.accesses import AccessRecorder


class RunMetadataRecorder:
    """Records what runs read, write and emit.

    :param recorder: None records no lineage.
    """

    def __init__(self, topics: Topics, recorder: AccessRecorder | None = None) -> None:
        self._topics = topics
        self._recorder = recorder

    def note_accesses(
        self, transaction: Transaction, run: Run, accesses: Sequence[DatasetAccess]
    ) -> None:
        """Record what stages of a run read or have changed; what sinks write waits for the commit."""
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
                (run.run, each.is_write, not each.is_write, msgspec.json.encode(each).decode())
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
        forget_lineage(transaction, run.run)
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

    def propagate(
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

    def publish(self, transaction: Transaction, run: Run, message: MetadataOperations) -> None:
        """Publish what a stage of a run emitted, for the store of metadata."""
        entity = MetadataEntity.of_program(
            WORKFLOW_NAME, WORKFLOW, run.pipeline, run.namespace
        ).append(PROGRAM_RUN, run.run)
        now = get_now()
        events = [
            MetadataEmitted(entity, message.stage, operation, now, run.user or "")
            for operation in message.operations
        ]
        self._topics.publish_events(transaction, events)

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


def forget_lineage(transaction: Transaction, run: str) -> None:
    """Forget the field lineage of a run that waits for the run to commit."""
    transaction.execute("DELETE FROM pending_lineage WHERE run = ?", (run,))


def list_accesses(transaction: Transaction, run: str) -> list[DatasetAccess]:
    """Return what the stages of a run have read, and what they have written and committed."""
    # No index: among 100,000 accesses this takes 2 ms, and with an index 1 ms, for which each write pays.
    rows = transaction.execute(
        "SELECT DISTINCT access FROM run_accesses WHERE run = ? AND is_committed ORDER BY ALL",
        (run,),
    )
    return [decode_json(access, DatasetAccess) for (access,) in rows]


class StoredRuns:
    """The stored runs as a :class:`localcdap.metadata.lineage.dataset_lineage.LineageRuns`."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def find_running(self, times: TimeRange) -> Set[str]:
        """Return the ids of the runs that were running at any time of a range.

        System applications have no stored runs: what each process of one did counts from its start.
        """
        rows = self._store.read(
            "SELECT run FROM runs WHERE starting <= ? AND "
            "coalesce(CAST(json_extract(record, '$.end') AS BIGINT), ?) >= ? "
            "UNION SELECT DISTINCT run FROM lineage_relations WHERE program_type <> ? AND start <= ?",
            (times.end, times.end, times.start, WORKFLOW, times.end),
        )
        return {run for (run,) in rows}

    def find_workflows(self, runs: Collection[ProgramRunId]) -> Mapping[ProgramRunId, ProgramRunId]:
        """Return no workflows: a pipeline's run is that of its workflow itself."""
        del runs
        return {}

    def list_inner_runs(self, workflow: ProgramRunId) -> Collection[ProgramRunId]:
        """Return no runs: a pipeline's run has no inner ones."""
        del workflow
        return ()
