"""What a run says about itself: the messages that its process appends to the run's spool."""

from __future__ import annotations

import enum

import msgspec

from localcdap.engine.driver.tables import TableLoad
from localcdap.engine.plan.counting import StageCounts


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
        """Whether nothing follows this status."""
        return self in (RunStatus.COMPLETED, RunStatus.FAILED, RunStatus.KILLED)

    def may_become(self, other: RunStatus) -> bool:
        """Whether the transition is allowed (CDAP 6 ``ProgramRunStatus.canTransitionTo``)."""
        return self is other or other in _NEXT[self]


_ENDS = {RunStatus.COMPLETED, RunStatus.KILLED, RunStatus.FAILED}
_NEXT: dict[RunStatus, set[RunStatus]] = {
    RunStatus.PENDING: {RunStatus.STARTING, RunStatus.KILLED, RunStatus.FAILED},
    RunStatus.STARTING: {RunStatus.RUNNING, RunStatus.STOPPING} | _ENDS,
    RunStatus.RUNNING: {RunStatus.STOPPING} | _ENDS,
    RunStatus.STOPPING: set(_ENDS),
    RunStatus.COMPLETED: set(),
    RunStatus.FAILED: set(),
    RunStatus.KILLED: set(),
}


class StatusChanged(msgspec.Struct, tag="status", tag_field="kind"):
    """The run is in another state now. After an end state nothing follows."""

    time: float
    """Seconds since 1970."""
    status: RunStatus


class Progress(msgspec.Struct, tag="progress", tag_field="kind"):
    """How far the run is; sent a few times a second at the most."""

    time: float
    tasks_done: int
    tasks: int
    """Of the Spark stages known so far; it may grow."""
    bytes_read: int
    stages: dict[str, StageCounts] = {}
    """The records so far of the stages that run in Python workers; no other stage is in it."""


class Counted(msgspec.Struct, tag="counts", tag_field="kind"):
    """The records of each stage, exact, once the data was processed."""

    stages: dict[str, StageCounts]


class LogLine(msgspec.Struct, tag="log", tag_field="kind"):
    """A line of the run's log."""

    time: float
    level: str
    """``DEBUG``, ``INFO``, ``WARNING``, ``ERROR``."""
    stage: str | None
    text: str


class LogLines(msgspec.Struct, tag="logs", tag_field="kind"):
    """Many lines at once, which take effect many times as fast as one by one."""

    lines: list[LogLine]


class TableLoads(msgspec.Struct, tag="tables", tag_field="kind"):
    """Rows to upsert into tables, all in one transaction.

    A run that is recovered may send this again: its ``run_id`` says whether it was applied already.
    """

    run_id: str
    loads: list[TableLoad]


class Committed(msgspec.Struct, tag="committed", tag_field="kind"):
    """The files of the sinks are in place."""

    directories: list[str]


class Failed(msgspec.Struct, tag="failed", tag_field="kind"):
    """Why the run failed; the status follows."""

    stage: str | None
    message: str
    corrective_action: str | None
    trace: list[str]
    """Frames of plugin code, innermost last; empty where none was involved."""


Message = StatusChanged | Progress | Counted | LogLine | LogLines | TableLoads | Committed | Failed
