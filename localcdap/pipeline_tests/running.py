"""Tests tried on an instance, all in one process of the engine."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from localcdap.engine.messages.orders import GivenStream
from localcdap.pipeline.document.model import PipelineDocument
from localcdap.pipeline_tests.case_model import CaseRequest, CaseResult, CasesRequest
from localcdap.pipeline_tests.cases import CaseService
from localcdap.pipeline_tests.model import Golden, stream_of

_WAIT_S: Final = 10.0


def case_of(
    golden: Golden, document: PipelineDocument, *, use_suggested: bool = False
) -> CaseRequest:
    """What is asked for a test, whose stages the document has."""
    stages = [each.name for each in document.stages]
    given = [
        GivenStream(stream, records.records, records.are_text)
        for output, records in golden.given.items()
        if (stream := stream_of(output, stages)) is not None
    ]
    wanted = [stream.stage for each in golden.expect if (stream := stream_of(each, stages))]
    return CaseRequest(
        document=document.text,
        name=golden.name,
        arguments=golden.arguments,
        given=given,
        wanted=wanted,
        skip=golden.skip,
        decisions=golden.decisions,
        records=golden.records,
        logical_start_ms=golden.start_ms,
        timeout_s=golden.timeout_s,
        use_suggested=use_suggested,
    )


def try_cases(
    cases: CaseService, namespace: str, requests: Sequence[CaseRequest]
) -> Iterator[CaseResult]:
    """The results, as they come. Whoever stops to ask for more stops the rest."""
    started = cases.start(CasesRequest(list(requests), namespace))
    seen = 0
    try:
        while True:
            progress = cases.progress(started, seen, _WAIT_S)
            yield from progress.results
            seen += len(progress.results)
            if progress.is_ended:
                return
    except (KeyboardInterrupt, GeneratorExit):
        cases.stop(started)
        raise
