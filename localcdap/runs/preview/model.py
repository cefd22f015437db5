"""The requests and answers of the preview service."""

from __future__ import annotations

import enum
from typing import Any

import msgspec

from localcdap.api.failures import ValidationFailure
from localcdap.api.pipeline import StandIn
from localcdap.engine.messages.samples import StageSample
from localcdap.pipeline.validation.plugins import Repair
from localcdap.runs.model import RunError, StoredLogLine

MOST_RECORDS = 10_000
"""The most records that a preview reads from each source."""
DEFAULT_TIMEOUT_MINUTES = 2.0
"""As in CDAP 6's studio."""


class PreviewStatus(enum.StrEnum):
    """The statuses of CDAP 6 ``PreviewStatus.Status``."""

    WAITING = "WAITING"
    """The preview waits until other previews have ended."""
    INIT = "INIT"
    """The pipeline is validated, and the engine is provisioned."""
    RUNNING = "RUNNING"
    COMPLETED = "COMPLETED"
    DEPLOY_FAILED = "DEPLOY_FAILED"
    """The pipeline has failures, or plugins that cannot run on this machine."""
    RUN_FAILED = "RUN_FAILED"
    KILLED = "KILLED"
    KILLED_BY_TIMER = "KILLED_BY_TIMER"

    @property
    def is_end(self) -> bool:
        """Whether nothing follows this status."""
        return self not in (PreviewStatus.WAITING, PreviewStatus.INIT, PreviewStatus.RUNNING)


class PreviewRequest(msgspec.Struct, rename="camel"):
    """A pipeline to preview."""

    document: Any
    """The pipeline document, decoded JSON or its text."""
    namespace: str = "default"
    name: str | None = None
    """The name of the pipeline when the document has none."""
    arguments: dict[str, str] = {}
    records: int | None = None
    """The most records read from each source; None for what the document says, else the settings."""
    timeout_minutes: float = DEFAULT_TIMEOUT_MINUTES
    explains: bool = False
    """Run nothing, and tell how each stage would be run."""
    use_suggested: bool = False
    """Take the suggested artifact where the one named in the document is not there."""
    file: str | None = None
    """The file of the document, for error messages."""
    stage: str | None = None
    """A stage that the pipeline must have, since only its records will be shown."""
    recordings: dict[str, str] = {}
    """What stands in for stages, as in :class:`localcdap.runs.model.RunRequest`."""


class Preview(msgspec.Struct, rename="camel"):
    """A preview, as it stands."""

    preview: str
    """The id of the preview, a time-based UUID."""
    namespace: str
    pipeline: str
    status: PreviewStatus
    submit_time: int
    """Milliseconds since 1970, as the other times."""
    start_time: int | None = None
    """The time at which the first record could be read."""
    end_time: int | None = None
    position_in_waiting_queue: int | None = None
    """The number of previews before this one while it is WAITING."""
    stages: dict[str, StageSample] = {}
    """The samples of the stages that handle records and have run so far, by stage."""
    explained: dict[str, list[str]] = {}
    """The explanation of how each stage would run, as lines by stage, if it was requested."""
    errors: list[ValidationFailure] = []
    """The failures of the pipeline, when its status is DEPLOY_FAILED."""
    error: RunError | None = None
    """The error of a failed preview."""
    repairs: list[Repair] = []
    stand_ins: list[StandIn] = []
    """The stages that run without their plugins."""
    logs: list[StoredLogLine] = []
    version: int = 0
    """Grows with every change; see ``PreviewService.wait``."""
