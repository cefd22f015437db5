"""Conversion of pipeline tests into requests for the host, and of requests into orders for the engine."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from localcdap.api.errors import BadRequestError
from localcdap.engine.messages.flow import DATA_TYPES, SINKS
from localcdap.engine.messages.orders import GivenStream, PreviewOrder
from localcdap.engine.preview.python_stage import MOST_RECORDS
from localcdap.pipeline.document.model import PipelineDocument
from localcdap.pipeline_tests.case_model import CaseRequest
from localcdap.pipeline_tests.model import PipelineTest, parse_output


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
