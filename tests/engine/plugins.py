"""Small plugins of every kind that the tests of the engine run."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from localcdap.api import (
    BatchAggregator,
    BatchJoiner,
    BatchSource,
    Emitter,
    PluginConfig,
    PortEmitter,
    Record,
    Schema,
    SourceContext,
    SparkCompute,
    SparkContext,
    SplitterTransform,
    StageConfigurer,
    StageContext,
    Transform,
    field,
    plugin,
)

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame

KEYED = Schema.record("keyed", [("k", Schema.STRING), ("n", Schema.LONG)])


@plugin(type="transform", name="Doubler", description="Emits even x twice, errors for odd x.")
class Doubler(Transform):
    def transform(self, record: Record, emit: Emitter) -> None:
        if record["x"] % 2:
            emit.error(record, record["x"], "odd")
            emit.alert({"x": str(record["x"])})
        else:
            emit(record)
            emit(dict(record))
