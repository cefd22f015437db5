"""The run of a recipe on the rows of a file, for an application of the recipe that leaves them to Spark."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any, Final

from localcdap.api.errors import BadRequestError
from localcdap.engine.messages.spool import RunStatus
from localcdap.runs.model import Run, RunRequest
from localcdap.runs.profiles import NATIVE, PROFILE_ARGUMENT
from localcdap.runs.service import RunService

_STAGE: Final = "Recipe"
_WAIT_S: Final = 0.5


def run_recipe_rows(
    runs: RunService,
    work: Mapping[str, Any],
    recipe: str,
    name: str,
    namespace: str,
    arguments: Mapping[str, str],
) -> Iterator[float | None]:
    """Have Spark make the rows of a recipe, and yield the share that is done.

    The run is one of the namespace, with the name of the recipe. It takes place on this machine, whose files
    it reads. Who closes the iterator stops it.

    :param work: what the method ``apply`` of Wrangler waits for.
    :raises BadRequestError: when the run fails or is stopped.
    """
    request = RunRequest(
        document=build_document(work, recipe, name),
        namespace=namespace,
        name=name,
        arguments={**arguments, PROFILE_ARGUMENT: NATIVE},
    )
    run = runs.start(request)
    try:
        while not run.status.is_end:
            run = runs.wait(run.run, run.version, timeout_s=_WAIT_S)
            yield _find_share(run)
    finally:
        if not run.status.is_end:
            runs.stop(run.run)
    if run.status is not RunStatus.COMPLETED:
        error = run.error
        reason = error.message if error is not None else f"it is {run.status}"
        raise BadRequestError(
            f"Spark could not run the recipe: {reason}",
            (error.corrective_action if error is not None else None)
            or f"See the log: localcdap logs {run.run}",
        )


def build_document(work: Mapping[str, Any], recipe: str, name: str) -> str:
    """Return the pipeline that reads the rows, applies the recipe and stores what it makes."""
    schema, result = json.dumps(work["schema"]), json.dumps(work["result"])
    read = {"referenceName": "rows", "path": work["rows"], "format": "parquet", "schema": schema}
    apply = {
        "numberField": work["number"],
        "directives": recipe,
        "udd": ",".join(work["user_directives"]),
        "schema": result,
    }
    write = {"referenceName": "made", "path": work["made"], "format": "parquet"}
    stages = [
        _build_stage("Rows", "File", "batchsource", read),
        _build_stage(_STAGE, "RecipeRows", "transform", apply),
        _build_stage("Made", "File", "batchsink", write),
    ]
    connections = [{"from": "Rows", "to": _STAGE}, {"from": _STAGE, "to": "Made"}]
    artifact = {"name": "cdap-data-pipeline", "version": "6.10.1", "scope": "SYSTEM"}
    config = {"stages": stages, "connections": connections}
    return json.dumps({"name": name, "artifact": artifact, "config": config})


def _build_stage(name: str, plugin: str, type: str, properties: dict[str, str]) -> dict[str, Any]:
    return {"name": name, "plugin": {"name": plugin, "type": type, "properties": properties}}


def _find_share(run: Run) -> float | None:
    progress = run.progress
    return progress.tasks_done / progress.tasks if progress is not None and progress.tasks else None
