"""The datasets that the stages of a run read and write, for lineage."""

from __future__ import annotations

from collections.abc import Iterator

from localcdap.api.lineage import DATASET_NAME, REFERENCE_NAME
from localcdap.api.schema import Schema
from localcdap.engine.messages.flow import SINKS, SOURCE, Flow, Stage
from localcdap.engine.messages.spool import DatasetAccess
from localcdap.engine.plan.contexts import RunContext


def list_reads(flow: Flow, run: RunContext) -> list[DatasetAccess]:
    """Return what the planned stages of a phase read: sources their dataset, others the tables they use."""
    return [
        DatasetAccess(stage.name, name, False, _to_text(stage.output_schema))
        for stage in flow.stages
        if stage.type not in SINKS
        for name in list_datasets(stage, run)
    ]


def list_writes(flow: Flow, run: RunContext) -> list[DatasetAccess]:
    """Return what the sinks of a phase have written for the commit."""
    return [
        DatasetAccess(
            stage.name, name, True, _to_text(next(iter(stage.input_schemas.values()), None))
        )
        for stage in flow.stages
        if stage.type in SINKS
        for name in list_datasets(stage, run)
    ]


def _to_text(schema: Schema | None) -> str | None:
    return None if schema is None else str(schema)


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
