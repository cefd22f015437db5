"""The requests and answers of the preview service and of stage debugging."""

from __future__ import annotations

import enum
from typing import Any

import msgspec

from localcdap.api.failures import ValidationFailure
from localcdap.api.pipeline import StandIn
from localcdap.api.schema import Schema
from localcdap.engine.messages.samples import (
    AlteredValues,
    RejectedRecord,
    StageProblem,
    StageSample,
)
from localcdap.expectations.results import RuleResult
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


class GivenRecords(msgspec.Struct):
    """The records that come from one input stage."""

    stage: str = ""
    """The name of the input stage; it may be empty for the only input of a stage of a pipeline."""
    records: list[Any] = []
    """As JSON, see :mod:`localcdap.api.record_json`. For an error transform, each is an object with
    ``record``, ``code`` and ``message``."""
    schema: Any = None
    """The schema of the records (of ``record`` for an error transform), as JSON or JSON text; None for
    the schema in the pipeline."""


class DebugRequest(msgspec.Struct, rename="camel"):
    """A stage to run on some records."""

    stage: Any = None
    """A stage in the form of a pipeline document; with a document, also the name of one of its stages."""
    input: list[GivenRecords] = []
    """The records by input, in connection order. A source has none."""
    namespace: str = "default"
    arguments: dict[str, str] = {}
    """Runtime arguments, which override preferences."""
    document: Any = None
    """The pipeline of the stage, from which missing schemas of the input are taken."""
    file: str | None = None
    """The file of the document, for error messages."""
    records: int = 100
    """The most records that a source reads."""
    use_suggested: bool = False
    """Take the suggested artifact where the one that the stage names is missing."""


class DebugOutput(msgspec.Struct):
    """The output records of a stage."""

    schema: Schema | None
    records: list[Any]


class DebugAnswer(msgspec.Struct, rename="camel"):
    """The output of the stage, or the reasons why it has none."""

    errors: list[StageProblem]
    """Failures of its configuration, and exceptions."""
    output: DebugOutput | None
    """None when the stage did not run, and for a splitter; for a sink, the records that it would write."""
    error_records: list[RejectedRecord] = []
    ports: dict[str, DebugOutput] = {}
    """The output of a splitter, by port."""
    expectations: list[RuleResult] = []
    """The results of the stage's expectations; none for a sink."""
    alerts: list[dict[str, str | None]] = []
    """What the alerts of the stage say."""
    logs: list[str] = []
    """The log lines of the plugin; from the plugin worker, also its printed lines."""
    altered: list[AlteredValues] = []
    """The values that the stage has altered, by kind of change."""
