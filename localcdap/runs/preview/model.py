"""What the preview service takes and answers."""

from __future__ import annotations

import enum
from typing import Any

import msgspec

from localcdap.api.failures import ValidationFailure
from localcdap.engine.messages.samples import StageSample
from localcdap.pipeline.validation.repairs import Repair
from localcdap.runs.model import RunError, StoredLogLine

MOST_RECORDS = 10_000
"""The most records that a preview reads from each source."""
DEFAULT_TIMEOUT_MINUTES = 2.0
"""As in CDAP 6's studio."""


class PreviewStatus(enum.StrEnum):
    """The statuses of CDAP 6 ``PreviewStatus.Status``."""

    WAITING = "WAITING"
    """For other previews to end."""
    INIT = "INIT"
    """It is validated, and an engine is got for it."""
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
    """What to call the pipeline when the document has no name."""
    arguments: dict[str, str] = {}
    records: int | None = None
    """The most records read from each source; None for what the document says, else the settings."""
    timeout_minutes: float = DEFAULT_TIMEOUT_MINUTES
    explains: bool = False
    """Run nothing, and tell how each stage would be run."""
    use_suggested: bool = False
    """Take the suggested artifact where the one named in the document is not there."""
    file: str | None = None
    """Where the document came from, named in errors."""
    stage: str | None = None
    """A stage that the pipeline must have, since only its records will be shown."""


class Preview(msgspec.Struct, rename="camel"):
    """A preview, as it stands."""

    preview: str
    """Its id, a time-based UUID."""
    namespace: str
    pipeline: str
    status: PreviewStatus
    submit_time: int
    """Milliseconds since 1970, as the other times."""
    start_time: int | None = None
    """When the first record could be read."""
    end_time: int | None = None
    position_in_waiting_queue: int | None = None
    """How many previews are before it while it is WAITING."""
    stages: dict[str, StageSample] = {}
    """By stage, those that handle records and have run so far."""
    explained: dict[str, list[str]] = {}
    """By stage, how it would be run, line by line, when that was asked."""
    errors: list[ValidationFailure] = []
    """The failures of the pipeline, when its status is DEPLOY_FAILED."""
    error: RunError | None = None
    """Why it failed."""
    repairs: list[Repair] = []
    logs: list[StoredLogLine] = []
    version: int = 0
    """Grows with every change; see ``PreviewService.wait``."""
