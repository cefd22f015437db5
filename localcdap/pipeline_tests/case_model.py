"""What the service that tries pipelines on given records takes and answers."""

from __future__ import annotations

import enum
from typing import Any

import msgspec

from localcdap.api.failures import ValidationFailure
from localcdap.engine.messages.orders import GivenStream
from localcdap.engine.messages.samples import StageSample
from localcdap.runs.model import RunError

DEFAULT_TIMEOUT_S = 60.0


class CaseRequest(msgspec.Struct, rename="camel"):
    """A pipeline to be tried. Sinks write nothing, post actions are not run."""

    document: Any
    """The pipeline document, decoded JSON or its text."""
    name: str | None = None
    """What to call the pipeline when the document has no name."""
    arguments: dict[str, str] = {}
    given: list[GivenStream] = []
    """Records that take the place of stages, which are not run, nor are those that lead to nothing else."""
    wanted: list[str] = []
    """Stages that are run even when they lead to given records only."""
    skip: list[str] = []
    """Actions that are not run."""
    decisions: dict[str, bool] = {}
    """Conditions that are not asked, and what they are taken to say."""
    records: int = 10_000
    """The most records read from each source that is run."""
    logical_start_ms: int | None = None
    """When the run is taken to start, in milliseconds since 1970; None for now."""
    timeout_s: float = DEFAULT_TIMEOUT_S
    use_suggested: bool = False
    """Take the suggested artifact where the one asked for is missing."""
    file: str | None = None
    """Where the document came from, named in errors."""


class CasesRequest(msgspec.Struct, rename="camel"):
    """Pipelines to be tried one after the other."""

    cases: list[CaseRequest]
    namespace: str = "default"


class CaseStatus(enum.StrEnum):
    """How a case has ended."""

    COMPLETED = "COMPLETED"
    INVALID = "INVALID"
    """The pipeline has failures, or plugins that cannot run on this machine."""
    FAILED = "FAILED"
    KILLED = "KILLED"
    """It was stopped with all that were still to come, or has taken too long."""


class CaseResult(msgspec.Struct, rename="camel"):
    """What came of a case."""

    case: int
    """Its place among the cases."""
    status: CaseStatus
    stages: dict[str, StageSample] = {}
    """By stage, those that were run and handle records; all of their records."""
    errors: list[ValidationFailure] = []
    """The failures of the pipeline."""
    error: RunError | None = None
    """Why it failed."""
    took_ms: int = 0
    """Without the validation."""


class CasesProgress(msgspec.Struct, rename="camel"):
    """How far it is."""

    results: list[CaseResult]
    """Those asked for, in the order in which they came."""
    is_ended: bool
