"""Batches that the code of a plugin of DataFrame grain makes in Spark's Python workers."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from localcdap.api.arrow import RecordCodec
from localcdap.api.schema import Schema
from localcdap.artifacts.loading import load_plugin
from localcdap.artifacts.model import PluginRef
from localcdap.engine.tasks.chunks import conform
from localcdap.engine.tasks.failing import RAISED, failure_of
from localcdap.engine.tasks.runners import blamed
from localcdap.engine.tasks.telling import telling

if TYPE_CHECKING:
    import pyarrow as pa

BatchFunction = Callable[[Iterator["pa.RecordBatch"]], Iterator["pa.RecordBatch"]]


def batches_pass(
    stage: str, plugin: PluginRef, schema: Schema, code: bytes, channel: str | None
) -> BatchFunction:
    """The function that has a plugin's own one work on batches.

    :param code: the pickled function. What it refers to in the artifact's modules is found once the plugin
        is loaded.
    """

    def run(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        with telling(channel, stage), blamed(stage):
            codec = RecordCodec(schema)
            load_plugin(plugin)
            work = pickle.loads(code)  # noqa: S301 - made by this run's driver
            for made in work(batches):
                yield conform(made.rename_columns(schema.field_names), codec)

    return run


def generating_pass(
    stage: str, plugin: PluginRef, schema: Schema, code: bytes, channel: str | None
) -> Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    """The function that turns task numbers into batches.

    :param code: pickled (function from a task to batches, list of tasks). What it refers to in the
        artifact's modules is found once the plugin is loaded.
    """

    def run(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        with telling(channel, stage):
            codec = RecordCodec(schema)
            with blamed(stage):
                load_plugin(plugin)
                read, tasks = pickle.loads(code)  # noqa: S301 - made by this run's driver
            for batch in batches:
                for number in batch.column(0).to_pylist():
                    try:
                        for made in read(tasks[number]):
                            yield conform(made, codec)
                    except RAISED as error:
                        raise failure_of(stage, error, tasks[number]) from None

    return run
