"""The datasets that the stages of a run read and write, for lineage."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence

from localcdap.api.lineage import DATASET_NAME, REFERENCE_NAME
from localcdap.api.pipeline import StageConnection
from localcdap.api.schema import Schema
from localcdap.engine.messages.dataset_names import DatasetName, list_dataset_names, list_places
from localcdap.engine.messages.flow import SINKS, SOURCE, Flow, Stage
from localcdap.engine.messages.spool import DatasetAccess, DatasetFlow
from localcdap.engine.plan.contexts import RunContext, TableUse

PROPAGATION = "propagateMetadata"
"""The property of a pipeline by which metadata goes from sources to sinks; off unless it is ``true``."""


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
        access
        for stage in flow.stages
        if stage.type in SINKS
        for access in _list_accesses(stage, run, stage.input_schema)
    ]


def list_datasets(stage: Stage, run: RunContext) -> list[str]:
    """Return the reference name of a source or sink; without one, the tables that the stage reads, or that it
    writes as a sink, or its dataset.
    """
    is_end = stage.type in (SOURCE, *SINKS)
    reference = stage.properties.get(REFERENCE_NAME, "").strip()
    if reference and is_end:
        return [reference]
    tables = run.find_tables(stage.name, _get_use(stage))
    name = stage.properties.get(DATASET_NAME, "").strip()
    return tables if tables or not (is_end and name) else [name]


def list_stage_places(stage: Stage, run: RunContext) -> list[str]:
    """Return where the data of a source or sink lies, see :attr:`StageLineage.places`."""
    tables = run.find_tables(stage.name, _get_use(stage))
    return list_places(run.namespace, stage.plugin.name, stage.properties, tables)


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


def _list_inputs(stage: Stage, run: RunContext) -> Iterator[DatasetAccess]:
    if stage.type not in SINKS:
        yield from _list_accesses(stage, run, stage.output_schema)
        return
    for table in _find_read(stage, run):
        yield DatasetAccess(stage.name, table, False, tables=(table,))


def _list_accesses(stage: Stage, run: RunContext, schema: Schema | None) -> Iterator[DatasetAccess]:
    """Yield the access to each dataset of a stage."""
    document = None if schema is None else str(schema)
    tables = tuple(run.find_tables(stage.name, _get_use(stage)))
    datasets = list_datasets(stage, run)
    is_whole = stage.type in (SOURCE, *SINKS) and len(datasets) == 1
    names: tuple[DatasetName, ...] = ()
    if is_whole:
        resolve = run.locations.resolve
        names = tuple(list_dataset_names(stage.plugin.name, stage.properties, resolve))
    for dataset in datasets:
        used = (dataset,) if dataset in tables else tables
        is_write = stage.type in SINKS
        yield DatasetAccess(stage.name, dataset, is_write, document, names, used, is_whole)


def _list_lookups(stage: Stage, run: RunContext) -> list[DatasetAccess]:
    tables = run.find_tables(stage.name, TableUse.LOOKUP)
    return [DatasetAccess(stage.name, name, False, tables=(name,)) for name in tables]


def _find_read(stage: Stage, run: RunContext) -> list[str]:
    return run.find_tables(stage.name, TableUse.READ)


def _get_use(stage: Stage) -> TableUse:
    return TableUse.WRITE if stage.type in SINKS else TableUse.READ
