"""The datasets that the stages of a run read and write, for lineage."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from localcdap.api.pipeline import StageConnection
from localcdap.api.schema import Schema
from localcdap.engine.messages.flow import SINKS, SOURCE, Flow, Stage
from localcdap.engine.messages.spool import DatasetAccess, DatasetFlow
from localcdap.engine.plan.contexts import RunContext, TableUse

PROPAGATION = "propagateMetadata"
"""The property of a pipeline by which metadata goes from sources to sinks; off unless it is ``true``."""
REFERENCE_NAME = "referenceName"
"""The property by which the original names the dataset of a source or sink (``LineageRecorder``)."""


def list_reads(flow: Flow, run: RunContext) -> list[DatasetAccess]:
    """Return what the stages of a phase read: sources their dataset, all the tables they look into."""
    return [
        access
        for stage in flow.stages
        for access in (*_list_inputs(stage, run), *_list_lookups(stage, run))
    ]


def list_writes(flow: Flow, run: RunContext) -> list[DatasetAccess]:
    """Return what the sinks of a phase have written for the commit."""
    return [
        DatasetAccess(
            stage.name, name, True, _to_text(next(iter(stage.input_schemas.values()), None))
        )
        for stage in flow.stages
        if stage.type in SINKS
        for name in _find_reference(stage) or run.find_tables(stage.name, TableUse.WRITE)
    ]


def list_control_accesses(stage: Stage, run: RunContext) -> list[DatasetAccess]:
    """Return what an action, condition or post action has read, looked into, and changed by SQL."""
    changed = run.find_tables(stage.name, TableUse.CHANGE)
    return [
        *(DatasetAccess(stage.name, name, False) for name in _find_read(stage, run)),
        *_list_lookups(stage, run),
        *(DatasetAccess(stage.name, name, True, is_final=True) for name in changed),
    ]


def find_flows(
    accesses: Sequence[DatasetAccess],
    types: Mapping[str, str],
    connections: Collection[StageConnection],
) -> list[DatasetFlow]:
    """Return the pairs of a dataset that a source has read, and one that a sink behind it writes.

    :param types: of plugins, by stage.
    :param connections: those on which records went.
    """
    sinks: dict[str, list[str]] = {}
    for each in accesses:
        if each.is_write and types.get(each.stage) in SINKS:
            sinks.setdefault(each.stage, []).append(each.dataset)
    flows = {
        DatasetFlow(each.dataset, sink)
        for each in accesses
        if not each.is_write and types.get(each.stage) == SOURCE
        for stage in _find_stages_behind(each.stage, connections)
        for sink in sinks.get(stage, ())
        if sink != each.dataset
    }
    return sorted(flows)


def _find_stages_behind(stage: str, connections: Collection[StageConnection]) -> set[str]:
    found: set[str] = set()
    waiting = [stage]
    while waiting:
        name = waiting.pop()
        next = {each.target for each in connections if each.source == name} - found
        found |= next
        waiting += next
    return found


def _list_inputs(stage: Stage, run: RunContext) -> list[DatasetAccess]:
    reference = _find_reference(stage) if stage.type == SOURCE else []
    schema = _to_text(stage.output_schema)
    return [
        DatasetAccess(stage.name, name, False, schema)
        for name in reference or _find_read(stage, run)
    ]


def _list_lookups(stage: Stage, run: RunContext) -> list[DatasetAccess]:
    tables = run.find_tables(stage.name, TableUse.LOOKUP)
    return [DatasetAccess(stage.name, name, False) for name in tables]


def _find_read(stage: Stage, run: RunContext) -> list[str]:
    return run.find_tables(stage.name, TableUse.READ)


def _find_reference(stage: Stage) -> list[str]:
    """Return the reference name of a source or sink; nothing when it has none."""
    reference = stage.properties.get(REFERENCE_NAME, "").strip()
    return [reference] if reference else []


def _to_text(schema: Schema | None) -> str | None:
    return None if schema is None else str(schema)
