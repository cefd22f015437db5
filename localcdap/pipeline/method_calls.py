"""Calls of plugin methods by front ends: the schema that a stage finds, and recipes on whole files."""

from __future__ import annotations

import contextlib
import uuid
from collections.abc import Callable, Generator, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import msgspec

from localcdap.api.errors import SessionLostError
from localcdap.api.failures import ValidationFailure
from localcdap.api.schema import Schema
from localcdap.pipeline.macros.parser import LOGICAL_START_TIME
from localcdap.pipeline.methods import MethodCall, MethodPlugin, MethodService

if TYPE_CHECKING:
    from localcdap.pipeline.service import StudioService

SCHEMA: Final = "schema"
"""The property of the output schema, as CDAP's studio names it."""
_REFERENCE: Final = "referenceName"


class DetectedSchema(msgspec.Struct, frozen=True):
    """The schema that a stage found, or why it found none."""

    schema: Schema | None
    failure: ValidationFailure | None = None
    """The first reason why there is no schema."""


def detect_output_schema(
    studio: StudioService,
    stage: Mapping[str, Any],
    *,
    namespace: str = "default",
    arguments: Mapping[str, str],
) -> DetectedSchema:
    """Have a source look at its data, and return the schema that it finds.

    Its property ``schema`` is left out, which is what makes it look. A missing reference name, which only
    labels the lineage, keeps nothing from being found.

    :param stage: as a pipeline document holds it.
    :raises NotFoundError: when there is no such namespace.
    """
    from localcdap.pipeline.service import StageRequest

    plugin = dict(stage["plugin"])
    properties = dict(plugin.get("properties") or {})
    properties.pop(SCHEMA, None)
    properties.setdefault(_REFERENCE, "detection")
    request = StageRequest(
        {**stage, "plugin": {**plugin, "properties": properties}},
        resolve_macros_from_preferences=True,
        namespace=namespace,
        arguments=dict(arguments),
        connected=True,
    )
    result = studio.validate_stage(request)
    if result.spec is None:
        return DetectedSchema(None, result.errors[0] if result.errors else None)
    return DetectedSchema(result.spec.output_schema)


_MOST_LOSSES: Final = 3
"""Lost processes of one recipe after which it is given up: two may be bad luck."""
_STEP_S: Final = 0.5
"""How long one call takes: until a caller that stops has an effect, and the progress moves."""
_JOB: Final = "job"
MakeRows = Callable[[dict[str, Any], dict[str, str]], Iterator[float | None]]
"""Has Spark do work for a job, with the arguments of a run; yields the share that is done, None while it is
unknown."""
_ALL_FIELDS: Final = "*"


def build_recipe_stage(directives: str) -> dict[str, str]:
    """Return the properties of a Wrangler stage for directives without a pipeline."""
    return {"directives": directives, "field": _ALL_FIELDS}


def apply_recipe(
    methods: MethodService,
    stage: Mapping[str, str],
    task: Mapping[str, Any],
    namespace: str,
    arguments: Mapping[str, str] | None = None,
    make_rows: MakeRows | None = None,
) -> Generator[dict[str, Any]]:
    """Apply a recipe to a file, and yield the progress; the last one is done.

    A caller that closes the iterator ends the job, and nothing is written. A job whose process is lost begins
    again from the file, twice at most.

    :param make_rows: has Spark do what a task with a folder for it waits for, and yields the share that is
        done.
    :param task: the file and the result, see the method ``apply`` of the plugin Wrangler.
    :param arguments: values of macros.
    :raises BadRequestError: when the recipe, a row or a file is wrong, or a macro has no value.
    :raises SessionLostError: when the process is lost a third time; says why.
    """
    call = MethodCall(
        MethodPlugin("transform", "Wrangler", properties=dict(stage)),
        "apply",
        namespace=namespace,
        arguments=dict(arguments or {}),
        needs_values=True,
        session=str(uuid.uuid4()),
    )
    losses = 0
    try:
        while True:
            unfinished: list[str] = []
            try:
                yield from _apply_once(methods, call, task, make_rows, unfinished)
                return
            except SessionLostError as lost:
                losses += 1
                for path in unfinished:
                    Path(path).unlink(missing_ok=True)
                if losses == _MOST_LOSSES:
                    raise SessionLostError(
                        f"The process of the recipe was lost {losses} times; nothing is written. "
                        f"The last time: {lost.message}",
                        lost.corrective_action
                        or "Apply the recipe again; split the input if memory did not suffice.",
                    ) from lost
    except BaseException:
        with contextlib.suppress(Exception):
            call.request = {"job": _JOB, "ends": True}
            methods.call(call)
        raise
    finally:
        methods.end_session(call.session, namespace)


def _apply_once(
    methods: MethodService,
    call: MethodCall,
    task: Mapping[str, Any],
    make_rows: MakeRows | None,
    unfinished: list[str],
) -> Generator[dict[str, Any]]:
    """Apply a recipe to a file in one process, see :func:`apply_recipe`.

    :param unfinished: gets the paths of the files that the job would complete.
    """
    call.request = {"job": _JOB, "task": dict(task), "seconds": _STEP_S}
    while True:
        result = methods.call(call)
        progress: dict[str, Any] = result.answer
        call.arguments[LOGICAL_START_TIME] = result.logical_start
        unfinished[:] = progress["unfinished"]
        yield progress
        if progress["is_done"]:
            return
        call.request = {"job": _JOB, "seconds": _STEP_S}
        if progress["waits_for"] is not None:
            assert make_rows is not None
            for share in make_rows(progress["waits_for"], call.arguments):
                yield progress | {"phase": "Spark", "share": share}
            call.request["has_made_rows"] = True


def export_recipe(
    methods: MethodService,
    stage: Mapping[str, str],
    request: Mapping[str, Any],
    namespace: str,
    arguments: Mapping[str, str] | None = None,
) -> str:
    """Return a recipe as a program of Spark.

    :param stage: the properties of the Wrangler stage with the recipe.
    :param request: the language and the rows, see the method ``export`` of the plugin Wrangler.
    :raises BadRequestError: when Spark has no equal of a directive; says its line and the reason. When a
        macro has no value.
    """
    plugin = MethodPlugin("transform", "Wrangler", properties=dict(stage))
    call = MethodCall(
        plugin, "export", dict(request), namespace, dict(arguments or {}), needs_values=True
    )
    program: str = methods.call(call).answer
    return program
