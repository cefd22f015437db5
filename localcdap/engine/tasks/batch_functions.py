"""Functions of plugins of DataFrame grain, and conditions on rows, that Spark's Python workers evaluate."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from localcdap.api.arrow import RecordCodec
from localcdap.api.schema import Schema
from localcdap.artifacts.loading import load_plugin
from localcdap.artifacts.model import PluginRef
from localcdap.engine.tasks.failures import RAISED, to_failure
from localcdap.engine.tasks.runners import conform, plugin_scope
from localcdap.engine.tasks.task_messages import capture_output
from localcdap.plugin_lib.jexl.row_conditions import create_row_test

if TYPE_CHECKING:
    import pyarrow as pa


BatchFunction = Callable[[Iterator["pa.RecordBatch"]], Iterator["pa.RecordBatch"]]


def pass_through(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Return the batches unchanged: what a worker does that is only to be started."""
    return batches


def create_batches_pass(
    stage: str, plugin: PluginRef, schema: Schema, code: bytes, message_directory: str | None
) -> BatchFunction:
    """Create the function that has a plugin's own function transform batches.

    :param code: the pickled function of the plugin. It may refer to the artifact's modules, which are
        importable once the plugin is loaded.
    """

    def run(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        with capture_output(message_directory, stage), plugin_scope(stage):
            codec = RecordCodec(schema)
            load_plugin(plugin)
            transform = pickle.loads(code)  # noqa: S301 - made by this run's driver
            for result in transform(batches):
                yield conform(result.rename_columns(schema.field_names), codec)

    return run


def _get_record(task: object, error: BaseException) -> object:
    """Return what a failure shows of a task: the file, unless the error names it; nothing of other tasks."""
    return task if isinstance(task, str) and task not in str(error) else None


def create_generating_pass(
    stage: str, plugin: PluginRef, schema: Schema, code: bytes, message_directory: str | None
) -> BatchFunction:
    """Create the function that turns task numbers into batches.

    :param code: pickled (function from a task to batches, list of tasks), as in :func:`create_batches_pass`.
    """

    def run(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        with capture_output(message_directory, stage):
            codec = RecordCodec(schema)
            with plugin_scope(stage):
                load_plugin(plugin)
                read, tasks = pickle.loads(code)  # noqa: S301 - made by this run's driver
            for batch in batches:
                for number in batch.column(0).to_pylist():
                    try:
                        for result in read(tasks[number]):
                            yield conform(result, codec)
                    except RAISED as error:
                        raise to_failure(stage, error, _get_record(tasks[number], error)) from None

    return run


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
