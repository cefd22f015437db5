"""The messages that a run process appends to the spool of its run, and the host applies to its database.

Their tags are part of the file format: a host reads the spools of run processes that an older version
started.
"""

from __future__ import annotations

import enum
from typing import Any

import msgspec

from localcdap.api.dataset.definition import PartitionChange
from localcdap.api.errors import ErrorDetails
from localcdap.api.failures import ValidationFailure
from localcdap.api.lineage import StageLineage
from localcdap.api.metadata import MetadataOperation
from localcdap.api.pipeline import StageConnection
from localcdap.engine.messages.dataset_names import DatasetName
from localcdap.engine.messages.host import TableLoad
from localcdap.engine.messages.samples import AlteredValues, SinkProfile, StageSample
from localcdap.expectations.results import RuleResult


class RunStatus(enum.StrEnum):
    """The statuses of CDAP 6 ``ProgramRunStatus`` that a local run can have."""

    PENDING = "PENDING"
    STARTING = "STARTING"
    RUNNING = "RUNNING"
    STOPPING = "STOPPING"
    COMPLETED = "COMPLETED"
    FAILED = "FAILED"
    KILLED = "KILLED"

    @property
    def is_end(self) -> bool:
        """Whether no other status can follow."""
        return self in (RunStatus.COMPLETED, RunStatus.FAILED, RunStatus.KILLED)

    def can_become(self, other: RunStatus) -> bool:
        """Whether the transition is allowed (CDAP 6 ``ProgramRunStatus.canTransitionTo``)."""
        return self is other or other in _NEXT[self]


_ENDS = {RunStatus.COMPLETED, RunStatus.KILLED, RunStatus.FAILED}
_NEXT: dict[RunStatus, set[RunStatus]] = {
    # A run whose process has not reported yet can be stopped too.
    RunStatus.PENDING: {
        RunStatus.STARTING,
        RunStatus.STOPPING,
        RunStatus.KILLED,
        RunStatus.FAILED,
    },
    RunStatus.STARTING: {RunStatus.RUNNING, RunStatus.STOPPING} | _ENDS,
    RunStatus.RUNNING: {RunStatus.STOPPING} | _ENDS,
    RunStatus.STOPPING: set(_ENDS),
    RunStatus.COMPLETED: set(),
    RunStatus.FAILED: set(),
    RunStatus.KILLED: set(),
}


class RecordCounts(msgspec.Struct, rename={"in_": "in"}):
    """The numbers of records of a stage."""

    in_: int = 0
    out: int = 0
    error: int = 0
    alert: int = 0
    groups: int = 0
    """Groups of an aggregator of record grain."""
    ports: dict[str, int] = {}
    """The output records of a splitter by port; ``out`` is their sum."""
    metrics: dict[str, int] = {}
    """The metrics that the plugin counted."""


class StatusChanged(msgspec.Struct, tag="status", tag_field="kind"):
    """The run has a new status. Nothing follows an end status."""

    time: float
    """Seconds since 1970."""
    status: RunStatus


class Progress(msgspec.Struct, tag="progress", tag_field="kind"):
    """The progress of the run; sent at most a few times a second."""

    time: float
    tasks_done: int
    tasks: int
    """The tasks of the Spark stages that are known so far; the number may grow."""
    bytes_read: int
    stages: dict[str, RecordCounts] = {}
    """The records so far of the stages that run in Python workers; other stages are missing."""


class Counted(msgspec.Struct, tag="counts", tag_field="kind"):
    """The exact records of each stage, once the data has been processed."""

    stages: dict[str, RecordCounts]


class ExpectationsChecked(msgspec.Struct, tag="expectations", tag_field="kind"):
    """The results of the expectations of a phase that has ended."""

    results: list[RuleResult]


class SinksProfiled(msgspec.Struct, tag="profiles", tag_field="kind"):
    """The profiles of what the sinks of a phase have written."""

    profiles: list[SinkProfile]


class StagesTimed(msgspec.Struct, tag="times", tag_field="kind"):
    """The time that the code of stages took in the Python workers of a phase that has ended."""

    microseconds: dict[str, int]
    """By stage, the sum over all workers."""


class Alerted(msgspec.Struct, tag="alerts", tag_field="kind"):
    """A stage has emitted alerts in a phase that has ended; the number of all is among its counts."""

    stage: str
    payloads: list[dict[str, str | None]]
    """The first of them."""


class ValuesAltered(msgspec.Struct, tag="altered", tag_field="kind"):
    """Stages have altered values in a phase that has ended."""

    values: list[AlteredValues]


class LogLine(msgspec.Struct, tag="log", tag_field="kind"):
    """A line of the run's log."""

    time: float
    level: str
    """``DEBUG``, ``INFO``, ``WARNING``, ``ERROR``."""
    stage: str | None
    text: str


class LogLines(msgspec.Struct, tag="logs", tag_field="kind"):
    """Several log lines in one message, which the host applies much faster than one message each."""

    lines: list[LogLine]


class Move(msgspec.Struct):
    """A directory of a sink, to be renamed."""

    staging: str
    final: str
    identity: str = ""
    """The device and the number of the staging directory, and the number and the name of a file in it, which
    tell whether it was renamed; empty before the commit, and on a cluster."""


class TableLoads(msgspec.Struct, tag="tables", tag_field="kind"):
    """Rows to write into tables, all in one transaction.

    A recovered run may send this again: the ``run_id`` tells whether it has been applied.
    """

    run_id: str
    loads: list[TableLoad]
    partitions: list[PartitionChange] = []
    """The partitions of file sets that come and go with them."""
    moves: list[Move] = []
    """The directories of other sinks that become visible with them."""


class DatasetFlow(msgspec.Struct, frozen=True, order=True):
    """A dataset whose records a run has carried into another one."""

    source: str
    sink: str


class Committed(msgspec.Struct, tag="committed", tag_field="kind"):
    """The files of the sinks are in their final directories."""

    directories: list[str]
    flows: list[DatasetFlow] = []
    """Where the pipeline asks for it, what metadata goes along."""
    has_tables: bool = False
    """Whether the run has written into tables: when their rows could not be written, nothing is visible."""


class Failed(msgspec.Struct, tag="failed", tag_field="kind"):
    """The run failed, for this reason; a message with the status follows."""

    stage: str | None
    message: str
    corrective_action: str | None
    trace: list[str]
    """Stack frames of plugin code, innermost last; empty when no plugin was involved."""
    failures: list[ValidationFailure] = []
    """What makes the pipeline invalid, when it was found to be so after the run had started: with the
    arguments that an action set, or with secure values."""
    details: ErrorDetails | None = None
    """The classification of the error, if its plugin or the engine knows it."""


class MetadataOperations(msgspec.Struct, tag="metadata", tag_field="kind"):
    """Metadata that a stage emits."""

    stage: str
    operations: list[MetadataOperation]


class DatasetAccess(msgspec.Struct, frozen=True):
    """A dataset that a stage reads or writes."""

    stage: str
    dataset: str
    """The reference name of the stage, or the table."""
    is_write: bool
    document: str | None = None
    """The schema of the records, as the stage knows it."""
    names: tuple[DatasetName, ...] = ()
    """Where the data lies, as OpenLineage names it, first as the pipeline knows it; empty: not known."""
    tables: tuple[str, ...] = ()
    """The tables of the instance that hold the data."""
    is_whole: bool = False
    """Whether the records of the stage are those of the dataset: not when it looks records up, or has several
    tables."""
    is_final: bool = False
    """Whether a write has taken effect already; else it does when the run commits."""


class Accessed(msgspec.Struct, tag="accessed", tag_field="kind"):
    """Stages have read datasets, or will have written them when the run commits."""

    accesses: list[DatasetAccess]


class LineageTraced(msgspec.Struct, tag="lineage", tag_field="kind"):
    """The field lineage of the stages of a phase that has ended, which counts when the run commits."""

    stages: list[StageLineage]
    connections: list[StageConnection]


Message = (
    StatusChanged
    | Progress
    | Counted
    | ExpectationsChecked
    | SinksProfiled
    | LogLine
    | LogLines
    | TableLoads
    | Committed
    | Failed
    | MetadataOperations
    | Accessed
    | LineageTraced
    | StagesTimed
    | Alerted
    | ValuesAltered
)
"""The messages of a run."""


class Sampled(msgspec.Struct, tag="sample", tag_field="kind"):
    """The records of a stage of a preview."""

    stage: str
    sample: StageSample


class CaseStarted(msgspec.Struct, tag="case", tag_field="kind"):
    """The messages that follow belong to this case of a pipeline test."""

    case: int
    """The index of the case in the work order."""


class CaseEnded(msgspec.Struct, tag="case-end", tag_field="kind"):
    """The case has ended: no further message belongs to it."""

    case: int
    failed: Failed | None = None


class Explained(msgspec.Struct, tag="explained", tag_field="kind"):
    """The explanation of how the stages would run."""

    stages: dict[str, list[str]]
    """Lines by stage, in the order of the pipeline."""


PreviewMessage = Message | Sampled | CaseStarted | CaseEnded | Explained
"""The messages of a preview."""


class JobReported(msgspec.Struct, tag="report", tag_field="kind"):
    """What a job of an application does at the moment."""

    message: str
    fraction: float | None = None
    """The part that is done, from 0 to 1, if the job says so."""


class JobReturned(msgspec.Struct, tag="result", tag_field="kind"):
    """The result of a job, which completes now."""

    result: Any


JobMessage = Message | JobReported | JobReturned
"""The messages of a job."""
