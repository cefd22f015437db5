"""The cases of pipeline tests: requests and results of the service that runs pipelines on given records.

Conversion of pipeline tests into requests for the host, and of requests into orders for the engine.
"""

from __future__ import annotations

import enum
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

import msgspec

from localcdap.api.errors import BadRequestError
from localcdap.api.failures import ValidationFailure
from localcdap.api.pipeline import StandIn
from localcdap.engine.messages.flow import DATA_TYPES, SINKS
from localcdap.engine.messages.orders import GivenStream, PreviewOrder
from localcdap.engine.messages.samples import StageSample
from localcdap.engine.preview.python_stage import MOST_RECORDS
from localcdap.pipeline.document.model import PipelineDocument
from localcdap.pipeline_tests.model import PipelineTest, parse_output
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


def create_case_request(
    test: PipelineTest,
    document: PipelineDocument,
    *,
    use_suggested: bool = False,
    recordings: Mapping[str, str] = MappingProxyType({}),
) -> CaseRequest:
    """Return the request that runs a test; the document must have the stages of the test."""
    stages = [each.name for each in document.stages]
    given = [
        GivenStream(stream, records.records, records.are_text)
        for output, records in test.given.items()
        if (stream := parse_output(output, stages)) is not None
    ]
    wanted = [stream.stage for each in test.expect if (stream := parse_output(each, stages))]
    return CaseRequest(
        document=document.text,
        name=test.name,
        arguments=test.arguments,
        given=given,
        wanted=wanted,
        skip=test.skip,
        decisions=test.decisions,
        records=test.records,
        logical_start_ms=test.start_ms,
        timeout_s=test.timeout_s,
        use_suggested=use_suggested,
        recordings=dict(recordings),
    )


def create_preview_order(document: PipelineDocument, request: CaseRequest) -> PreviewOrder:
    """Return the order that says which stages of a pipeline run.

    :raises BadRequestError: when the request names stages that the pipeline does not have.
    """
    types = {stage.name: stage.plugin.type for stage in document.stages}
    given = {each.stream.stage for each in request.given}
    unknown = [name for name in (*given, *request.skip, *request.decisions) if name not in types]
    if unknown:
        raise BadRequestError(
            f"The pipeline has no stage '{unknown[0]}'.", f"Its stages: {', '.join(types)}."
        )
    for name in given:
        if types[name] not in DATA_TYPES:
            raise BadRequestError(
                f"Stage '{name}', of type {types[name]}, gives no records that others could replace.",
                "Give records in place of sources and of other stages that have an output.",
            )
    idle = set(given)
    left_out: set[str] = set()
    while found := {
        name
        for name, type in types.items()
        if name not in idle
        and name not in request.wanted
        and type in DATA_TYPES
        and (targets := {c.target for c in document.connections if c.source == name})
        and targets <= idle
    }:
        left_out |= found
        idle |= found
    sinks = [name for name, type in types.items() if type in SINKS]
    ending = [each.name for each in document.post_actions]
    return PreviewOrder(
        records=request.records,
        shown=MOST_RECORDS,
        given=request.given,
        left_out=[*left_out, *request.skip],
        decisions=request.decisions,
        unevaluated=[*idle, *request.skip, *request.decisions, *sinks, *ending],
    )
