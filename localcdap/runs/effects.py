"""The effects of a run's messages: on its record, its log, and the tables that it writes."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from msgspec import UNSET

from localcdap.api.errors import LocalcdapError
from localcdap.api.metadata import MetadataEntity
from localcdap.api.security import SYSTEM_PRINCIPAL, Authorizer, Permission, Principal
from localcdap.api.serialization.value_types import unpack
from localcdap.engine.commit import LOCAL, CommitStep, take_step
from localcdap.engine.messages.host import TableLoad
from localcdap.engine.messages.spool import (
    Accessed,
    Alerted,
    Committed,
    Counted,
    DatasetFlow,
    ExpectationsChecked,
    Failed,
    LineageTraced,
    LogLine,
    LogLines,
    Message,
    MetadataOperations,
    Move,
    Progress,
    RecordCounts,
    RunStatus,
    SinksProfiled,
    StagesTimed,
    StatusChanged,
    TableLoads,
    ValuesAltered,
)
from localcdap.messaging.consumer import PoisonMessage
from localcdap.pipeline.validation.datasets import DatasetPlanner, NoDatasets
from localcdap.runs.logs import add_alerts, add_lines, add_profiles, get_newest
from localcdap.runs.model import (
    Run,
    RunError,
    RunProgress,
    StageCounts,
    StoredLogLine,
    get_now,
    to_run_error,
)
from localcdap.runs.records import RunRecords
from localcdap.security.authorizer import ALLOW_ALL
from localcdap.security.principals import act_as
from localcdap.store.store import Store, Transaction
from localcdap.store.tables import NamespaceTables

_LOG: Final = logging.getLogger(__name__)


class RunEffects:
    """Applies the messages of one run.

    :param authorizer: decides which tables the user of the run may write.
    :param datasets: changes the partitions of file sets.
    """

    def __init__(
        self,
        store: Store,
        records: RunRecords,
        run: str,
        authorizer: Authorizer = ALLOW_ALL,
        datasets: DatasetPlanner = NoDatasets(),  # noqa: B008 - it has no state
    ) -> None:
        self._authorizer = authorizer
        self._datasets = datasets
        self._store = store
        self._records = records
        self._tables = NamespaceTables(store)
        self._id = run

    def apply(self, transaction: Transaction, message: Message) -> None:
        """Apply a message; called again when the transaction is rolled back and repeated."""
        match message:
            case LogLine():
                self._log(transaction, [message])
            case LogLines():
                self._log(transaction, message.lines)
            case TableLoads():
                self._load(transaction, message)
            case Accessed():
                run = self._records.get_in(transaction, self._id)
                self._records.metadata.note_accesses(transaction, run, message.accesses)
            case SinksProfiled():
                add_profiles(transaction, self._id, message.profiles)
            case Alerted():
                add_alerts(transaction, self._id, message)
            case LineageTraced():
                self._records.metadata.note_lineage(transaction, self._id, message)
            case MetadataOperations():
                run = self._records.get_in(transaction, self._id)
                self._records.metadata.publish(transaction, run, message)
            case _:
                self._change(transaction, message)

    def fail_on_poison(self, poison: PoisonMessage) -> None:
        """Record that a message could not be applied: the run cannot complete any more."""
        error = poison.error
        reason, action = poison.reason, "See the log, and run it again."
        if isinstance(error, LocalcdapError):
            reason, action = error.message, error.corrective_action or action
        message = f"The run's messages could not be applied: {reason}"
        if poison.payload:
            lost = unpack(poison.payload, Message)
            if isinstance(lost, TableLoads):
                LOCAL.remove([move.staging for move in lost.moves])
                names = {load.name for load in lost.loads} | {
                    each.dataset for each in lost.partitions
                }
                message = f"The rows for {', '.join(sorted(names))} could not be written: {reason}"
        with self._store.transaction() as transaction:
            run = self._records.get_in(transaction, self._id)
            run.error = run.error or RunError(message, action)
            self._note(transaction, message, level="ERROR")
            self._records.change(transaction, run)

    def refuse_run(self, error: LocalcdapError) -> None:
        """Record that the run could not be started."""
        with self._store.transaction() as transaction:
            run = self._records.get_in(transaction, self._id)
            run.status, run.end = RunStatus.FAILED, get_now()
            run.error = RunError(error.message, error.corrective_action)
            for line in (*error.message.splitlines(), error.corrective_action):
                if line:
                    self._note(transaction, line, level="ERROR")
            self._records.change(transaction, run)

    def stop_waiting(self, transaction: Transaction) -> None:
        """Record that the run was stopped before it was its turn."""
        run = self._records.get_in(transaction, self._id)
        run.status, run.end = RunStatus.KILLED, get_now()
        self._note(transaction, "The run was stopped while it was in the queue.", level="INFO")
        self._records.change(transaction, run)

    def _commit(self, transaction: Transaction, run: Run, message: Committed) -> None:
        if message.has_tables and not self._records.has_loaded(transaction, run.run):
            return  # nothing of it is visible
        take_step(CommitStep.RECORD_COMMIT, run.run)
        run.written += [each for each in message.directories if each not in run.written]
        for warning in self._records.metadata.record_writes(transaction, run):
            self._note(transaction, warning)
        for problem in self._propagate(transaction, run, message.flows):
            self._note(transaction, problem)

    def _change(
        self,
        transaction: Transaction,
        message: StatusChanged
        | Counted
        | ExpectationsChecked
        | Failed
        | Progress
        | Committed
        | StagesTimed
        | ValuesAltered,
    ) -> None:
        run = self._records.get_in(transaction, self._id)
        match message:
            case StatusChanged():
                self._set_status(transaction, run, message)
            case Counted():
                for name, counts in message.stages.items():
                    run.stages[name] = _to_stage_counts(counts)
            case ExpectationsChecked():
                run.expectations += message.results
            case ValuesAltered():
                run.altered += message.values
            case StagesTimed():
                _add_times(run, message)
            case Progress():
                stages = {name: _to_stage_counts(counts) for name, counts in message.stages.items()}
                run.progress = RunProgress(
                    message.tasks_done, message.tasks, message.bytes_read, stages
                )
            case Committed():
                self._commit(transaction, run, message)
            case Failed():
                run.error = to_run_error(message)
        self._records.change(transaction, run)

    def _set_status(self, transaction: Transaction, run: Run, message: StatusChanged) -> None:
        has_ended = run.status.is_end
        _set_status(run, message)
        if run.status is RunStatus.COMPLETED and not has_ended:
            self._note(transaction, f"Pipeline '{run.pipeline}' succeeded", level="INFO")

    def _propagate(
        self, transaction: Transaction, run: Run, flows: Sequence[DatasetFlow]
    ) -> Sequence[str]:
        with act_as(Principal(run.user) if run.user else SYSTEM_PRINCIPAL):
            return self._records.metadata.propagate(transaction, run, flows, self._authorizer)

    def _load(self, transaction: Transaction, message: TableLoads) -> None:
        loads, partitions = message.loads, message.partitions
        if not (loads or partitions) or not self._records.mark_loaded(transaction, self._id):
            return
        run = self._records.get_in(transaction, self._id)
        principal = Principal(run.user) if run.user else SYSTEM_PRINCIPAL
        written = {(each.namespace, each.name) for each in loads}
        written |= {(each.namespace, each.dataset) for each in partitions}
        for namespace, name in sorted(written):
            dataset = MetadataEntity.of_dataset(name, namespace)
            self._authorizer.enforce(principal, dataset, [Permission.WRITE])
        with act_as(principal):
            self._write_tables(transaction, loads)
            if partitions:
                take_step(CommitStep.CHANGE_PARTITIONS, run.run)
            self._datasets.change_partitions(transaction, partitions)
        # The directories become visible last: what is left is to commit, or to undo all of it.
        transaction.on_rollback(lambda: self._move_back(message.moves))
        LOCAL.move(message.moves)
        run.tables += [load.name for load in loads if load.name not in run.tables]
        self._records.change(transaction, run)

    def _move_back(self, moves: Sequence[Move]) -> None:
        """Take the directories back that were renamed in a transaction that rolls back."""
        for move in LOCAL.move_back(moves):
            _LOG.error("%s: '%s' could not be taken back; remove it.", self._id, move.final)

    def _write_tables(self, transaction: Transaction, loads: Sequence[TableLoad]) -> None:
        for load in loads:
            take_step(CommitStep.LOAD_ROWS, load.name)
            files = sorted(Path(load.directory).glob("*.parquet"))
            target = (transaction, load.namespace, load.name, load.schema)
            if load.key is None:
                self._tables.write_parquet(*target, load.how, files)
            else:
                self._tables.upsert_parquet(*target, load.key, files)

    def _log(self, transaction: Transaction, lines: Sequence[LogLine]) -> None:
        number = get_newest(transaction, self._id)
        numbered = [
            StoredLogLine(number + place, int(line.time * 1000), line.level, line.text, line.stage)
            for place, line in enumerate(lines, start=1)
        ]
        add_lines(transaction, self._id, numbered)

    def _note(self, transaction: Transaction, text: str, level: str = "WARNING") -> None:
        self._log(transaction, [LogLine(get_now() / 1000, level, None, text)])


def merge_messages(first: Message, second: Message) -> Message | None:
    """Return one message for two that follow each other, where that saves transactions many statements.

    A stage emits metadata operation by operation.
    """
    if not isinstance(first, MetadataOperations) or not isinstance(second, MetadataOperations):
        return None
    if first.stage != second.stage:
        return None
    return MetadataOperations(first.stage, [*first.operations, *second.operations])


def _set_status(run: Run, message: StatusChanged) -> None:
    """Set a status, unless the run has ended or has a later status."""
    if not run.status.can_become(message.status):
        return
    status = message.status
    if status is RunStatus.COMPLETED and run.error is not None:
        status = RunStatus.FAILED
    if status is RunStatus.FAILED and run.status is RunStatus.STOPPING:
        # The process was killed because it did not stop by itself.
        status, run.error = RunStatus.KILLED, None
    run.status = status
    moment = int(message.time * 1000)
    if run.status is RunStatus.RUNNING:
        run.start = moment
    if run.status.is_end:
        _keep_progress(run)
        run.end, run.progress = moment, None


def _add_times(run: Run, message: StagesTimed) -> None:
    """Add the times of a phase. The record has milliseconds: what took none is left out."""
    for stage, spent in message.microseconds.items():
        took = run.stage_times.get(stage, 0) + spent // 1000
        if took:
            run.stage_times[stage] = took


def _keep_progress(run: Run) -> None:
    """Keep the counts so far of stages without exact counts: the run failed or was stopped before."""
    if run.progress is not None and run.status is not RunStatus.COMPLETED:
        for stage, counts in run.progress.stages.items():
            if stage in run.stages and run.stages[stage].records_out is None:
                run.stages[stage] = counts


def _to_stage_counts(counts: RecordCounts) -> StageCounts:
    metrics, alerts = counts.metrics or UNSET, counts.alert or UNSET
    return StageCounts(counts.in_, counts.out, counts.error, metrics, alerts)
