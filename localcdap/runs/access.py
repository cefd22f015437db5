"""The entities of runs, on which callers need permissions."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

from localcdap.api.metadata import MetadataEntity
from localcdap.runs.model import Run, RunRequest
from localcdap.security.access import Target


def get_run_entity(run: Run) -> MetadataEntity:
    """Return the application of a run; the run of a file has one of its pipeline's name."""
    return MetadataEntity.of_application(run.pipeline, run.namespace)


def _find_requested(_service: object, given: Mapping[str, Any]) -> Iterable[MetadataEntity]:
    request: RunRequest = given["request"]
    if request.application is None:
        return [MetadataEntity.of_namespace(request.namespace)]
    return [MetadataEntity.of_application(request.application, request.namespace)]


def _find_run(service: Any, given: Mapping[str, Any]) -> Iterable[MetadataEntity]:
    return [service.get_entity(given["run"], given.get("namespace"))]


OF_REQUEST: Final = Target(
    "application of the request, or for a file its namespace", _find_requested
)
OF_RUN: Final = Target("application of {run}", _find_run)
