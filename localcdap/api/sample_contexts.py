"""The contexts of plugins that run on a few records outside of Spark."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Protocol

from localcdap.api.schema import Schema
from localcdap.api.stage import FindPlugin, StageContext

if TYPE_CHECKING:
    import pyarrow as pa


class SampleContext(StageContext, Protocol):
    """The context of a transform that runs on a sample, outside of Spark."""

    find_plugin: FindPlugin
    """As :attr:`StageConfigurer.find_plugin`."""


class SourceSampleContext(StageContext, Protocol):
    """The context in which a source reads its first records without Spark, on this machine."""

    is_remote: bool
    """Always False, as in a :class:`SourceContext` on this machine."""
    find_plugin: FindPlugin
    """As :attr:`StageConfigurer.find_plugin`."""

    def resolve_path(self, path: str) -> str:
        """See :meth:`SparkContext.resolve_path`."""

    def fail(self, message: str, corrective_action: str | None = None) -> Exception:
        """Return an error to raise, which names this stage."""

    def generate(
        self, schema: Schema, tasks: Sequence[Any], read: Callable[[Any], Iterator[pa.RecordBatch]]
    ) -> Iterator[pa.RecordBatch]:
        """Yield the batches that ``read`` makes of each task, in order, as :meth:`SparkContext.generate` does
        in Spark's workers.
        """


class SinkSampleContext(StageContext, Protocol):
    """The context in which a sink looks at records of a preview without Spark."""

    def resolve_path(self, path: str) -> str:
        """See :meth:`SparkContext.resolve_path`."""
