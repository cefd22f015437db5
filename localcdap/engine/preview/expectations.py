"""Expectations of the stages of previews and debugging, checked in this process."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

from localcdap.api.arrow import RecordCodec
from localcdap.api.errors import StageError
from localcdap.api.schema import Schema
from localcdap.engine.messages.flow import SINKS, SPLITTER, Stage, Stream
from localcdap.engine.messages.host import TableFiles
from localcdap.engine.preview.records import PreviewStageOutput, get_stream_schema, make_nullable
from localcdap.engine.tasks.chunks import conform
from localcdap.expectations.batches import BatchChecker
from localcdap.expectations.rules import explain_violation

if TYPE_CHECKING:
    import pyarrow as pa

ExportTable = Callable[[str], TableFiles]
"""Returns the rows of a table of the namespace as files."""


def check_output(
    stage: Stage, output: PreviewStageOutput, export: ExportTable
) -> PreviewStageOutput:
    """Return the output of a stage with the results of its rules; violating records become error records.

    :raises StageError: when a rule cannot be checked.
    """
    batch = output.batches.get(Stream(stage.name))
    if not stage.expectations or batch is None or stage.type in (*SINKS, SPLITTER):
        return output
    schema = get_stream_schema(stage, Stream(stage.name))
    checker = _create_checker(stage, schema, export)
    violated = checker.check(batch)
    batches = dict(output.batches)
    if any(index is not None for index in violated):
        kept = [row for row, index in enumerate(violated) if index is None]
        batches[Stream(stage.name)] = batch.take(kept)
        errors = Stream(stage.name, errors=True)
        batches[errors] = _add_errors(stage, schema, batch, violated, batches.get(errors))
    return dataclasses.replace(output, batches=batches, results=checker.get_results())


def check_input(
    stage: Stage, schema: Schema, batch: pa.RecordBatch, export: ExportTable
) -> PreviewStageOutput:
    """Return an output without records that has the results of a sink's rules for what reaches it.

    :raises StageError: when a rule cannot be checked.
    """
    if not stage.expectations:
        return PreviewStageOutput()
    checker = _create_checker(stage, schema, export)
    checker.check(batch)
    return PreviewStageOutput(results=checker.get_results())


def _create_checker(stage: Stage, schema: Schema, export: ExportTable) -> BatchChecker:
    from localcdap.plugin_lib.jexl.row_conditions import create_row_test

    read_keys = partial(_read_keys, stage.name, export)
    shown = make_nullable(schema)
    return BatchChecker(stage.name, stage.expectations, shown, create_row_test, read_keys)


def _read_keys(stage: str, export: ExportTable, table: str, key: str) -> set[Any]:
    import pyarrow.parquet as pq

    snapshot = export(table)
    if snapshot.schema.field(key) is None:
        raise StageError(
            f"Stage '{stage}': table '{table}' of an expectation has no column '{key}'.",
            f"Its columns are: {', '.join(snapshot.schema.field_names)}.",
            stage=stage,
        )
    found: set[Any] = set()
    for file in snapshot.files:
        found.update(pq.read_table(file, columns=[key]).column(0).unique().to_pylist())
    return found


def _add_errors(
    stage: Stage,
    schema: Schema,
    batch: pa.RecordBatch,
    violated: list[int | None],
    errors: pa.RecordBatch | None,
) -> pa.RecordBatch:
    import pyarrow as pa

    stream = Stream(stage.name, errors=True)
    wanted = [field.name for field in stage.get_schema(stream)]
    same = {
        field.name
        for field in stage.get_schema(stream)
        if (own := schema.field(field.name)) is not None
        and own.schema.non_nullable == field.schema.non_nullable
    }
    codec = RecordCodec(make_nullable(get_stream_schema(stage, stream)))
    records = RecordCodec(make_nullable(schema)).decode(batch)
    added = codec.encode(
        [
            {
                "record": {name: records[row][name] if name in same else None for name in wanted},
                "code": index + 1,
                "message": explain_violation(stage.expectations[index]),
                "stage": stage.name,
            }
            for row, index in enumerate(violated)
            if index is not None
        ]
    )
    return added if errors is None else pa.concat_batches([conform(errors, codec), added])
