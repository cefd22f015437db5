"""The datasets that the stages of a run read and write, for lineage."""

from __future__ import annotations

from collections.abc import Iterator

from localcdap.api.lineage import DATASET_NAME, REFERENCE_NAME
from localcdap.api.schema import Schema
from localcdap.engine.messages.dataset_names import DatasetName, list_dataset_names
from localcdap.engine.messages.flow import SINKS, SOURCE, Flow, Stage
from localcdap.engine.messages.spool import DatasetAccess
from localcdap.engine.plan.contexts import RunContext


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


def list_datasets(stage: Stage, run: RunContext) -> Iterator[str]:
    """Yield the reference name of a source or sink; without one, the tables that the stage uses, or its
    dataset.
    """
    is_end = stage.type in (SOURCE, *SINKS)
    reference = stage.properties.get(REFERENCE_NAME, "").strip()
    name = stage.properties.get(DATASET_NAME, "").strip()
    if reference and is_end:
        yield reference
    elif tables := run.tables_used.get(stage.name):
        yield from tables
    elif name and is_end:
        yield name


def _list_accesses(stage: Stage, run: RunContext, schema: Schema | None) -> Iterator[DatasetAccess]:
    """Yield the access to each dataset of a stage."""
    document = None if schema is None else str(schema)
    tables = tuple(run.tables_used.get(stage.name, ()))
    datasets = list(list_datasets(stage, run))
    is_whole = stage.type in (SOURCE, *SINKS) and len(datasets) == 1
    names: tuple[DatasetName, ...] = ()
    if is_whole:
        resolve = run.locations.resolve
        names = tuple(list_dataset_names(stage.plugin.name, stage.properties, resolve))
    for dataset in datasets:
        used = (dataset,) if dataset in tables else tables
        yield DatasetAccess(
            stage.name, dataset, stage.type in SINKS, document, names, used, is_whole
        )
