"""Runs for the application of a recipe: Spark makes the rows of a file, or copies those of a source."""

from __future__ import annotations

import json
from collections.abc import Generator, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any, Final

from localcdap.api.errors import BadRequestError
from localcdap.engine.messages.spool import RunStatus
from localcdap.runs.model import Run, RunRequest
from localcdap.runs.service import RunService
from localcdap.runs.startup.profiles import NATIVE, PROFILE_ARGUMENT

_STAGE: Final = "Recipe"
_WAIT_S: Final = 0.5


def run_recipe_rows(
    runs: RunService,
    work: Mapping[str, Any],
    arguments: Mapping[str, str],
    *,
    recipe: str,
    name: str,
    namespace: str,
) -> Iterator[float | None]:
    """Have Spark make the rows of a recipe, and yield the share that is done.

    The run is one of the namespace, with the name of the recipe. It takes place on this machine, whose files
    it reads. Who closes the iterator stops it.

    :param work: what the method ``apply`` of Wrangler waits for.
    :raises BadRequestError: when the run fails or is stopped.
    """
    yield from run_document(runs, build_document(work, recipe, name), name, namespace, arguments)


def run_document(
    runs: RunService,
    document: str,
    name: str,
    namespace: str,
    arguments: Mapping[str, str],
) -> Generator[float | None]:
    """Run a pipeline on this machine, and yield the share that is done. Who closes the iterator stops it.

    :raises BadRequestError: when the run fails or is stopped.
    """
    request = RunRequest(
        document=document,
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
        reason = error.message if error is not None else f"it is {run.status}."
        action = error.corrective_action if error is not None else None
        raise BadRequestError(
            f"Spark could not run it: {reason}", action or f"See the log: localcdap logs {run.run}"
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
    return _write_document(name, stages)


def build_copy_document(source: tuple[str, str, Mapping[str, str]], name: str, folder: str) -> str:
    """Return the pipeline that stores all records of a source in Parquet files.

    :param source: name, type and properties of the plugin.
    """
    plugin, type, properties = source
    write = {"referenceName": "rows", "path": folder, "format": "parquet"}
    stages = [
        _build_stage("Source", plugin, type, properties),
        _build_stage("Rows", "File", "batchsink", write),
    ]
    return _write_document(name, stages)


def _write_document(name: str, stages: Sequence[Mapping[str, Any]]) -> str:
    names = [each["name"] for each in stages]
    connections = [{"from": one, "to": other} for one, other in pairwise(names)]
    artifact = {"name": "cdap-data-pipeline", "version": "6.10.1", "scope": "SYSTEM"}
    config = {"stages": stages, "connections": connections}
    return json.dumps({"name": name, "artifact": artifact, "config": config})


def _build_stage(
    name: str, plugin: str, type: str, properties: Mapping[str, str]
) -> dict[str, Any]:
    return {"name": name, "plugin": {"name": plugin, "type": type, "properties": dict(properties)}}


def _find_share(run: Run) -> float | None:
    progress = run.progress
    return progress.tasks_done / progress.tasks if progress is not None and progress.tasks else None
