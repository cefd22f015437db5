"""What the run service takes and answers."""

from __future__ import annotations

import time
from typing import Any

import msgspec

from localcdap.api.failures import ValidationFailure
from localcdap.engine.messages.spool import Failed, RunStatus
from localcdap.pipeline.validation.repairs import Repair


class StageCounts(msgspec.Struct, rename={"records_in": "in", "records_out": "out"}):
    """Records of one stage. None where they are not counted."""

    records_in: int | None = None
    records_out: int | None = None
    errors: int | None = None
    metrics: dict[str, int] | msgspec.UnsetType = msgspec.UNSET
    """What the plugin's own code counted, by the names that it chose; absent where it counted nothing."""


class RunProgress(msgspec.Struct, rename="camel"):
    """How far a run is. A record may be counted twice in it, where Spark tries a task again."""

    tasks_done: int
    tasks: int
    """Of the Spark stages known so far; it may grow."""
    bytes_read: int
    stages: dict[str, StageCounts]
    """The records so far of the stages whose code runs in Python workers."""


class RunError(msgspec.Struct, rename="camel", omit_defaults=True):
    """Why a run failed."""

    message: str
    corrective_action: str | None = None
    stage: str | None = None
    trace: list[str] = []
    """The plugin's own frames, innermost last."""
    field: str | None = None
    """The property that is wrong, when the first of the failures names one."""
    failures: list[ValidationFailure] = []
    """What makes the pipeline invalid, when that was found after the run had started."""


def to_run_error(failed: Failed) -> RunError:
    field = next((each.field for each in failed.failures if each.stage == failed.stage), None)
    return RunError(
        failed.message,
        failed.corrective_action,
        failed.stage,
        failed.trace,
        field,
        failed.failures,
    )


class RunRequest(msgspec.Struct, rename="camel"):
    """A pipeline to run."""

    document: Any
    """The pipeline document, decoded JSON or its text."""
    namespace: str = "default"
    name: str | None = None
    """What to call the pipeline when the document has no name, for instance the file's name."""
    arguments: dict[str, str] = {}
    profile: str | None = None
    """The compute profile; None for that of the namespace. The argument ``system.profile.name`` wins."""
    use_suggested: bool = False
    """Take the suggested artifact where the one named in the document is not there."""
    application: str | None = None
    """The deployed application that it is a run of; the run has its name, whatever the document says."""
    application_version: str | None = None
    file: str | None = None
    """Where the document came from, named in errors."""


class Run(msgspec.Struct, rename="camel"):
    """A run, as it stands."""

    run: str
    """The run's id, a time-based UUID."""
    namespace: str
    pipeline: str
    status: RunStatus
    arguments: dict[str, str]
    profile: str
    """Name of the compute profile."""
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
    application_version: str | None = None
    """The version of the application of this name that it is a run of; None for a file."""
    repairs: list[Repair] = []
    """The stages that run with another artifact than the one they name."""
    progress: RunProgress | None = None
    """Only while the run is active, and on its data."""
    origins: dict[str, str] = {}
    """Where each argument came from: ``given`` for this run, or from the preferences of the ``pipeline``, the
    ``namespace`` or the ``instance``."""
    document: str | None = None
    """Digest of the document that was run, see ``RunService.document``."""
    written: list[str] = []
    """Directories that sinks have written, in place since the commit."""
    tables: list[str] = []
    """Names of the tables that sinks have written."""


class StoredLogLine(msgspec.Struct, omit_defaults=True):
    """One line of a run's log."""

    number: int
    """1-based, in order."""
    time: int
    """Milliseconds since 1970."""
    level: str
    text: str
    stage: str | None = None
    more: int = 0
    """Characters of the text that were left out."""


def get_now() -> int:
    """Milliseconds since 1970."""
    return time.time_ns() // 1_000_000
