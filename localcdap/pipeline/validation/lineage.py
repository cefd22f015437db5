"""The field lineage of a pipeline as it is designed, without a run."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import Final

import msgspec

from localcdap.api.errors import LocalcdapError
from localcdap.api.lineage import DATASET_NAME, REFERENCE_NAME, StageLineage
from localcdap.api.pipeline import StageConnection, StageSpec
from localcdap.api.tables import TableShape
from localcdap.pipeline.rules.graph import CONDITION, SINKS, SOURCES
from localcdap.pipeline.validation.resolution import ResolvedPipeline
from localcdap.sandbox.plugin_calls import JobRunner
from localcdap.sandbox.stage_configuration import (
    ConfigureRequest,
    LineageRequest,
    assume_lineage,
    pass_fields,
    trace_stage,
)

ReadTables = Callable[[], Mapping[str, TableShape]]
"""Returns the columns of the tables of the namespace, by name."""
_ENDS: Final = (*SOURCES, *SINKS)


class TracedPipeline(msgspec.Struct):
    """The lineage of the stages of a pipeline."""

    stages: list[StageLineage]
    """Without actions and stages whose plugin was not found."""
    connections: list[StageConnection]
    recorded: dict[str, Sequence[str]]
    """By stage, the tables that the plugin itself says it reads or writes."""


def trace_pipeline(
    resolved: ResolvedPipeline,
    runner: JobRunner,
    read_tables: ReadTables = dict,
    *,
    scope: str | None = None,
) -> TracedPipeline:
    """Return the lineage of a pipeline's stages. A stage whose plugin fails to tell it is assumed.

    The datasets of sources and sinks are those that the properties name: of a stage whose names are macros
    nothing is known before a run.

    :param read_tables: called at most once, when a plugin asks for the columns of a table.
    :param scope: only stages with artifacts of this scope, ``SYSTEM`` or ``USER``.
    """
    read_once = cache(read_tables)
    stages = [
        _trace(spec, resolved.requests[name], runner, read_once)
        for name, spec in resolved.stages.items()
        if name in resolved.requests
        and (spec.input_schemas or spec.plugin.type in SOURCES)
        and scope in (None, spec.plugin.artifact.scope)
    ]
    recorded = {each.stage: each.datasets for each in stages if each.datasets}
    named = [
        msgspec.structs.replace(
            each, datasets=_list_datasets(resolved.requests[each.stage], each.datasets)
        )
        if each.type in _ENDS
        else each
        for each in stages
    ]
    return TracedPipeline(named, resolved.document.connections, recorded)


def _trace(
    spec: StageSpec, configured: ConfigureRequest, runner: JobRunner, read_tables: ReadTables
) -> StageLineage:
    request = LineageRequest(
        msgspec.structs.replace(configured, input_schemas=spec.input_schemas),
        spec.output_schema,
        spec.error_schema,
        spec.port_schemas,
    )
    type = spec.plugin.type
    if type == CONDITION:
        return pass_fields(type, request.create_configurer())
    found = _call(request, runner)
    if found.tables:
        request.tables = {
            name: shape for name, shape in read_tables().items() if name in found.tables
        }
        found = _call(request, runner) if request.tables else found
    return found


def _call(request: LineageRequest, runner: JobRunner) -> StageLineage:
    plugin = request.configured.plugin
    try:
        return runner.do(trace_stage, request, plugin, f"Plugin '{plugin.name}'")
    except LocalcdapError:
        return assume_lineage(plugin.type, request.create_configurer())


def _list_datasets(configured: ConfigureRequest, recorded: Sequence[str]) -> Sequence[str]:
    """Return the datasets of a source or sink, as a run chooses them; none where a macro names them."""
    for name in (REFERENCE_NAME, DATASET_NAME):
        if name in configured.macros:
            return ()
        if name == DATASET_NAME and recorded:
            return recorded
        value = configured.properties.get(name, "").strip()
        if value:
            return () if "${" in value else (value,)
    return ()
