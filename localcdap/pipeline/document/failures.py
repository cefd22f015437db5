"""Failures of the pipeline's structure."""

from __future__ import annotations

from localcdap.api.failures import INVALID_PIPELINE, Cause, ValidationFailure


def create_structural_failure(
    message: str,
    action: str | None = None,
    *,
    stage: str | None = None,
    property: str | None = None,
) -> ValidationFailure:
    """Return a failure of type ``Invalid Pipeline``.

    :param stage: None when the failure belongs to no single stage.
    """
    causes = [Cause({"stageConfig": property})] if property else []
    return ValidationFailure(INVALID_PIPELINE, message, action, causes, stage=stage, field=property)
