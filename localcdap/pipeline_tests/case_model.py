"""The requests and results of the service that runs pipelines on given records."""

from __future__ import annotations

import enum
from typing import Any

import msgspec

from localcdap.api.failures import ValidationFailure
from localcdap.api.pipeline import StandIn
from localcdap.engine.messages.orders import GivenStream
from localcdap.engine.messages.samples import StageSample
from localcdap.runs.model import RunError

DEFAULT_TIMEOUT_S = 60.0


class CaseRequest(msgspec.Struct, rename="camel"):
    """A pipeline to run on given records. Sinks write nothing; post actions do not run."""

    document: Any
    """The pipeline document, as JSON text or decoded JSON."""
    name: str | None = None
    """The name of the pipeline when the document has none."""
    arguments: dict[str, str] = {}
    given: list[GivenStream] = []
    """Records that replace the output of stages. These stages, and stages whose output only they use, do not
    run."""
    wanted: list[str] = []
    """Stages that run even when only replaced stages use their output."""
    skip: list[str] = []
    """Actions that do not run."""
    decisions: dict[str, bool] = {}
    """The results of conditions, which are not evaluated."""
    records: int = 10_000
    """The most records that each source reads."""
    logical_start_ms: int | None = None
    """The start time of the run, in milliseconds since 1970; None for now."""
    timeout_s: float = DEFAULT_TIMEOUT_S
    use_suggested: bool = False
    """Whether a missing artifact is replaced by the suggested one."""
    recordings: dict[str, str] = {}
    """What stands in for stages, as in :class:`localcdap.runs.model.RunRequest`."""
    file: str | None = None
    """The file of the document, for error messages."""


class CasesRequest(msgspec.Struct, rename="camel"):
    """Pipelines to run one after the other."""

    cases: list[CaseRequest]
    namespace: str = "default"


class CaseStatus(enum.StrEnum):
    """The outcome of a test case."""

    COMPLETED = "COMPLETED"
    INVALID = "INVALID"
    """The pipeline has failures, or plugins that cannot run on this machine."""
    FAILED = "FAILED"
    KILLED = "KILLED"
    """The case was stopped together with all remaining cases, or reached its time limit."""


class CaseResult(msgspec.Struct, rename="camel"):
    """The result of a test case."""

    case: int
    """The index of the case in the request."""
    status: CaseStatus
    stages: dict[str, StageSample] = {}
    """The records of each stage that ran and handles records."""
    errors: list[ValidationFailure] = []
    """The failures of the pipeline."""
    error: RunError | None = None
    """The reason of a failed case."""
    took_ms: int = 0
    """The duration without the validation, in milliseconds."""
    stand_ins: list[StandIn] = []
    """The stages that did not use their plugins."""


class CasesProgress(msgspec.Struct, rename="camel"):
    """The results so far."""

    results: list[CaseResult]
    """The requested results, in the order in which the cases ended."""
    is_ended: bool
