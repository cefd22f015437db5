"""What the run service takes and answers."""

from __future__ import annotations

import enum
from typing import Any

import msgspec

from localcdap.api.failures import ArtifactId


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


class StageCounts(msgspec.Struct, rename={"records_in": "in", "records_out": "out"}):
    """Records of one stage. None where they are not counted."""

    records_in: int | None = None
    records_out: int | None = None
    errors: int | None = None


class RunError(msgspec.Struct, rename="camel", omit_defaults=True):
    """Why a run failed."""

    message: str
    corrective_action: str | None = None
    stage: str | None = None
    trace: list[str] = []
    """The plugin's own frames, innermost last."""


class RunRequest(msgspec.Struct, rename="camel"):
    """A pipeline to run."""

    document: Any
    """The pipeline document, decoded JSON or its text."""
    namespace: str = "default"
    name: str | None = None
    """What to call the pipeline when the document has no name, for instance the file's name."""
    arguments: dict[str, str] = {}
    profile: str | None = None
    use_suggested: bool = False
    """Take the suggested artifact where the one named in the document is not there."""


class Run(msgspec.Struct, rename="camel"):
    """A run, as it stands."""

    run: str
    """The run's id, a time-based UUID."""
    namespace: str
    pipeline: str
    status: RunStatus
    arguments: dict[str, str]
    profile: str
    starting: int
    """Milliseconds since 1970 at which the run was asked for."""
    start: int | None
    """Milliseconds since 1970 at which the first record could be read."""
    end: int | None
    stages: dict[str, StageCounts]
    """By stage, in topological order."""
    error: RunError | None
    version: int
    """Grows with every change; see ``RunService.wait``."""
    repairs: list[Repair] = []
    """Artifacts that were replaced by the suggested ones."""


class Repair(msgspec.Struct):
    """A stage whose artifact was replaced."""

    stage: str
    artifact: ArtifactId
    """The artifact that was used."""


class LogLine(msgspec.Struct, omit_defaults=True):
    """One line of a run's log."""

    number: int
    """1-based, in order."""
    time: int
    """Milliseconds since 1970."""
    level: str
    text: str
    stage: str | None = None
