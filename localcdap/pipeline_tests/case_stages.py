"""What is run of a pipeline that is tried on given records: stages that only lead to these are not."""

from __future__ import annotations

from localcdap.api.errors import BadRequestError
from localcdap.engine.messages.flow import DATA_TYPES, SINKS
from localcdap.engine.messages.orders import PreviewOrder
from localcdap.engine.preview.python_stage import MOST_RECORDS
from localcdap.pipeline.document.model import PipelineDocument
from localcdap.pipeline_tests.case_model import CaseRequest


def preview_of(document: PipelineDocument, request: CaseRequest) -> PreviewOrder:
    """What is run of a pipeline, and what is not.

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
