"""The datasets that the stages of a run read and write, for lineage."""

from __future__ import annotations

from collections.abc import Iterator

from localcdap.api.schema import Schema
from localcdap.engine.messages.dataset_names import DatasetName, list_dataset_names
from localcdap.engine.messages.flow import SINKS, SOURCE, Flow, Stage
from localcdap.engine.messages.spool import DatasetAccess
from localcdap.engine.plan.contexts import RunContext

REFERENCE_NAME = "referenceName"
"""The property by which the original names the dataset of a source or sink (``LineageRecorder``)."""


def list_reads(flow: Flow, run: RunContext) -> list[DatasetAccess]:
    """Return what the planned stages of a phase read: sources their dataset, others the tables they use."""
    return [
        access
        for stage in flow.stages
        if stage.type not in SINKS
        for access in _list_accesses(stage, run, stage.output_schema)
    ]


def list_writes(flow: Flow, run: RunContext) -> list[DatasetAccess]:
    """Return what the sinks of a phase have written for the commit."""
    return [
        access
        for stage in flow.stages
        if stage.type in SINKS
        for access in _list_accesses(stage, run, stage.input_schema)
    ]


def _list_accesses(stage: Stage, run: RunContext, schema: Schema | None) -> Iterator[DatasetAccess]:
    """Yield the access to the reference name of a source or sink; without one, to each table it uses."""
    document = None if schema is None else str(schema)
    tables = tuple(run.tables_used.get(stage.name, ()))
    is_end = stage.type in (SOURCE, *SINKS)
    is_write = stage.type in SINKS
    reference = stage.properties.get(REFERENCE_NAME, "").strip()
    names: tuple[DatasetName, ...] = ()
    is_whole = is_end and (bool(reference) or len(tables) == 1)
    if is_whole:
        resolve = run.locations.resolve
        names = tuple(list_dataset_names(stage.plugin.name, stage.properties, resolve))
    if reference and is_end:
        yield DatasetAccess(stage.name, reference, is_write, document, names, tables, is_whole)
    else:
        for table in tables:
            yield DatasetAccess(stage.name, table, is_write, document, names, (table,), is_whole)
