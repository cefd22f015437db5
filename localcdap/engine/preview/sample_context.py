"""The context in which sources and sinks handle records of a preview in this process, without Spark."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from localcdap.api.arrow import RecordCodec
from localcdap.api.errors import StageError
from localcdap.api.locations import Locations
from localcdap.api.plugin import BatchSource
from localcdap.api.schema import Schema
from localcdap.api.stage import FindPlugin
from localcdap.artifacts.loading import UsedPlugins
from localcdap.artifacts.model import PluginRef
from localcdap.engine.messages.flow import Stage, Stream
from localcdap.engine.preview.records import make_nullable
from localcdap.engine.tasks.chunks import conform
from localcdap.engine.tasks.context import AlteredCounts, StageContextData, WorkerStageContext

if TYPE_CHECKING:
    import pyarrow as pa


class StageSampleContext(WorkerStageContext):
    """A :class:`localcdap.api.stage.SourceSampleContext` and a sink's sample context."""

    def __init__(
        self,
        data: StageContextData,
        locations: Locations,
        uses: Sequence[PluginRef] = (),
        altered: AlteredCounts | None = None,
    ) -> None:
        super().__init__(data, altered=altered)
        self.is_remote: bool = False
        self.find_plugin: FindPlugin = UsedPlugins(uses)
        self._locations = locations

    def resolve_path(self, path: str) -> str:
        """See :meth:`localcdap.api.stage.SparkContext.resolve_path`."""
        return self._locations.resolve(path)

    def fail(self, message: str, corrective_action: str | None = None) -> Exception:
        """Return the error of this stage with a message."""
        text = f"Stage '{self.stage_name}': {message}"
        return StageError(text, corrective_action, stage=self.stage_name)

    def generate(
        self, schema: Schema, tasks: Sequence[Any], read: Callable[[Any], Iterator[pa.RecordBatch]]
    ) -> Iterator[pa.RecordBatch]:
        """Yield the batches of each task, checked as those of Spark's workers are."""
        codec = RecordCodec(schema)
        for task in tasks:
            for batch in read(task):
                yield conform(batch, codec)


def read_sample(
    stage: Stage, source: BatchSource, context: StageSampleContext, limit: int
) -> pa.RecordBatch | None:
    """Return the first records of a source, every field of which may be null as in those of Spark.

    :returns: None when the source cannot tell them without Spark.
    :raises StageError: when they do not have the output schema.
    """
    import pyarrow as pa

    batches = source.sample(context, limit)
    if batches is None:
        return None
    codec = RecordCodec(make_nullable(stage.get_schema(Stream(stage.name))))
    taken, missing = [codec.encode([])], limit
    for batch in batches:
        taken.append(conform(batch.slice(0, missing), codec))
        missing -= taken[-1].num_rows
        if missing <= 0:
            break
    return pa.concat_batches(taken)
