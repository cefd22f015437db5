"""DataFrames of several stages of a preview, computed by one execution of Spark."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Final

from localcdap.engine.messages.flow import Stage, Stream
from localcdap.engine.plan.spark_types import list_differences
from localcdap.engine.spark_internals import read_packed_frames

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame


class DifferentSchemaError(Exception):
    """A DataFrame does not have the schema of its stream."""


class JointFrames:
    """The DataFrames of stages that have not been computed yet. A stage may read those of another one."""

    def __init__(self) -> None:
        self.stages: Final[list[Stage]] = []
        """In the order in which they were added: no stage reads a later one."""
        self._frames: Final[dict[Stream, DataFrame]] = {}
        self._persisted: Final[dict[Stream, DataFrame]] = {}

    def __contains__(self, stream: object) -> bool:
        return stream in self._frames

    def add(self, stage: Stage, frames: Mapping[Stream, DataFrame], most: int) -> None:
        """Add the streams of a stage.

        :param most: the maximum number of records of each stream.
        """
        self.stages.append(stage)
        self._frames.update({stream: frame.limit(most) for stream, frame in frames.items()})

    def read(self, stream: Stream) -> DataFrame:
        """Return a stream for another stage. It is computed once, so that both get the same records of a
        random stage.
        """
        if stream not in self._persisted:
            self._persisted[stream] = self._frames[stream].persist()
        return self._persisted[stream]

    def compute(
        self, convert: Callable[[Stage, Stream, pa.Table], pa.RecordBatch]
    ) -> dict[Stream, pa.RecordBatch]:
        """Return the records of all streams.

        :raises DifferentSchemaError: when a stage has given other columns than its schema says.
        """
        streams = list(self._frames)
        stages = {stage.name: stage for stage in self.stages}
        rows = read_packed_frames([self._frames[stream] for stream in streams])
        batches = {}
        for stream, (table, columns) in zip(streams, rows, strict=True):
            stage = stages[stream.stage]
            if not stream.errors and list(list_differences(stage.get_schema(stream), columns)):
                raise DifferentSchemaError(str(stream))
            batches[stream] = convert(stage, stream, table)
        return batches

    def clear(self) -> None:
        """Forget all stages, and release what Spark keeps for them."""
        self.stages.clear()
        self._frames.clear()
        while self._persisted:
            self._persisted.popitem()[1].unpersist()
