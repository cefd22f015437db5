"""Arguments of a run that are taken from the run that has triggered it.

The schedule property :data:`MAPPING` says which: JSON of CDAP 6 ``TriggeringPropertyMapping``, applied as by
its ``SmartWorkflow``. Values that are not found only give warnings.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import msgspec

from localcdap.api.errors import BadRequestError, LocalcdapError, MacroError, NotFoundError
from localcdap.decoders import decode_json
from localcdap.pipeline.document.reader import read_document
from localcdap.pipeline.macros.parser import (
    MacroParser,
    create_call,
    create_lookup,
    create_macro_functions,
)
from localcdap.runs.model import Run, TriggerInfo
from localcdap.runs.startup.new_run import complete_arguments
from localcdap.schedules.model import MAPPING

FindRun = Callable[[str], Run]
"""Returns a run by its id; raises NotFoundError."""
ReadDocument = Callable[[str], str]
"""Returns the text of the document of a run; raises NotFoundError."""


class PipelineId(msgspec.Struct, frozen=True, rename="camel"):
    """The pipeline of a value, where several have triggered the run (CDAP 6 ``TriggeringPipelineId``)."""

    namespace: str
    pipeline_name: str


class ArgumentMapping(msgspec.Struct, frozen=True, rename="camel"):
    """An argument of the triggering run, and the argument that gets its value."""

    source: str | None = None
    target: str | None = None
    """None: the name of the source."""
    pipeline_id: PipelineId | None = None


class PropertyMapping(msgspec.Struct, frozen=True, rename="camel"):
    """A property of a stage of the triggering pipeline, and the argument that gets its value."""

    stage_name: str | None = None
    source: str | None = None
    target: str | None = None
    pipeline_id: PipelineId | None = None


class TriggerMapping(msgspec.Struct, frozen=True, rename="camel"):
    """The values that a run takes from the run that has triggered it."""

    arguments: list[ArgumentMapping] = []
    plugin_properties: list[PropertyMapping] = []


def read_mapping(text: str) -> TriggerMapping:
    """Read the property of a schedule.

    :raises BadRequestError: when it is not a valid mapping.
    """
    try:
        return decode_json(text, TriggerMapping)
    except msgspec.DecodeError as error:
        raise BadRequestError(
            f"The property '{MAPPING}' is not a valid mapping: {error}",
            'Give {"arguments": [{"source": "day", "target": "date"}], "pluginProperties": '
            '[{"stageName": "Sink", "source": "path", "target": "input"}]}.',
        ) from None


def map_arguments(
    mapping: TriggerMapping,
    infos: Sequence[TriggerInfo],
    find_run: FindRun,
    read_run_document: ReadDocument,
) -> tuple[dict[str, str], list[str]]:
    """Return the arguments that triggering runs give, and a sentence for each value that is not found."""
    found: dict[str, str] = {}
    problems: list[str] = []
    wanted: list[ArgumentMapping | PropertyMapping] = [*mapping.arguments]
    for each in [*wanted, *mapping.plugin_properties]:
        try:
            if each.source is None:
                raise NotFoundError("A mapping has no source, and is left out.")
            run = _find_triggering_run(each.pipeline_id, infos, find_run)
            if isinstance(each, ArgumentMapping):
                value = run.arguments.get(each.source)
            else:
                value = _find_property(each, run, read_run_document)
            if value is None:
                raise NotFoundError(_describe_missing(each, run))
            found[each.target or each.source] = value
        except LocalcdapError as error:
            problems.append(error.message)
    return found, problems


def _find_triggering_run(
    wanted: PipelineId | None, infos: Sequence[TriggerInfo], find_run: FindRun
) -> Run:
    """Return the run of the first program status trigger, or of that of a pipeline."""
    for each in infos:
        if each.run_id is not None and (
            wanted is None
            or (wanted.namespace, wanted.pipeline_name) == (each.namespace, each.application_name)
        ):
            return find_run(each.run_id)
    what = "" if wanted is None else f" of {wanted.namespace}.{wanted.pipeline_name}"
    raise NotFoundError(f"No run{what} has triggered this one, so that it gives no arguments.")


def _find_property(
    mapping: PropertyMapping, run: Run, read_run_document: ReadDocument
) -> str | None:
    """Return a property of a stage with its macros evaluated as in a run; None when there is none.

    :raises MacroError: when it holds a secret, which would be seen in the arguments of a run.
    """
    if mapping.stage_name is None:
        raise NotFoundError("A mapping of a property names no stage, and is left out.")
    document = read_document(read_run_document(run.run))
    stages = {each.name: each for each in (*document.stages, *document.post_actions)}
    stage = stages.get(mapping.stage_name)
    if stage is None or mapping.source is None:
        return None
    text = stage.plugin.properties.get(mapping.source)
    if text is None:
        return None
    arguments, start_ms = complete_arguments(run)
    parser = MacroParser(create_lookup(arguments), create_call(create_macro_functions(start_ms)))
    try:
        return parser.parse(text)
    except MacroError as error:
        raise MacroError(
            f"Property '{mapping.source}' of stage '{mapping.stage_name}' of run {run.run} cannot be passed "
            f"on: {error.message}"
        ) from None


def _describe_missing(mapping: ArgumentMapping | PropertyMapping, run: Run) -> str:
    of_run = f"run {run.run} of {run.namespace}.{run.pipeline}"
    if isinstance(mapping, ArgumentMapping):
        return f"Runtime argument '{mapping.source}' is not found in {of_run}."
    return f"No property '{mapping.source}' is found in stage '{mapping.stage_name}' of {of_run}."
