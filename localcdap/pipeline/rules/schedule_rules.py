"""The schedule of a pipeline, which its deployment makes (CDAP 6 ``DataPipelineApp``)."""

from __future__ import annotations

from collections.abc import Iterator

from localcdap.api.errors import BadRequestError
from localcdap.api.failures import INVALID_PIPELINE, ValidationFailure
from localcdap.java.cron import parse_cron
from localcdap.pipeline.rules.structure import PipelineStructure


def check_schedule(pipeline: PipelineStructure) -> Iterator[ValidationFailure]:
    """Yield what keeps the schedule of a pipeline from being made."""
    document = pipeline.document
    if not document.schedule:
        return
    try:
        parse_cron(document.schedule)
    except BadRequestError as error:
        yield _create_failure("schedule", error.message, error.corrective_action)
    limit = document.max_concurrent_runs
    if limit is not None and limit < 0:
        yield _create_failure(
            "maxConcurrentRuns",
            f"The most runs of a schedule at the same time cannot be {limit}.",
            "Give a number from 1 on as 'maxConcurrentRuns', or leave it out for any number.",
        )


def _create_failure(field: str, message: str, action: str | None) -> ValidationFailure:
    return ValidationFailure(INVALID_PIPELINE, message, action, [], field=field)
