"""Conditions on rows that Python evaluates in Spark's workers."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from localcdap.api.arrow import RecordCodec
from localcdap.api.schema import Schema
from localcdap.engine.tasks.batch_functions import BatchFunction
from localcdap.engine.tasks.chunks import conform
from localcdap.engine.tasks.task_messages import capture_output
from localcdap.plugin_lib.jexl.row_conditions import create_row_test

if TYPE_CHECKING:
    import pyarrow as pa


def create_condition_pass(
    condition: str, schema: Schema, message_directory: str | None
) -> BatchFunction:
    """Create the function that adds a column with the truth of a condition to batches.

    :param schema: of the first columns of a batch; others may follow.
    """

    def run(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        import pyarrow as pa

        with capture_output(message_directory):
            test = create_row_test(condition)
            names = schema.field_names
            codec = RecordCodec(
                Schema.record("row", [(f.name, f.schema.as_nullable) for f in schema])
            )
            for batch in batches:
                known = batch.select(range(len(names))).rename_columns(names)
                holds = pa.array(test(codec.decode(conform(known, codec))), pa.bool_())
                yield pa.RecordBatch.from_arrays(
                    [*batch.columns, holds], names=[*batch.schema.names, "holds"]
                )

    return run
