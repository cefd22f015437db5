"""Aggregators that reduce their groups, and the plain one that they must equal."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

from localcdap.api import (
    BatchAggregator,
    BatchReducibleAggregator,
    Emitter,
    PluginConfig,
    Record,
    Schema,
    SparkCompute,
    SparkContext,
    StageConfigurer,
    StageContext,
    field,
    plugin,
)

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

MOMENTS = Schema.record(
    "moments",
    [("key", Schema.STRING), ("total", Schema.LONG), ("words", Schema.array(Schema.STRING))],
)


class Moments:
    """An aggregate value of a class of the plugin's module."""

    def __init__(self) -> None:
        self.total = 0
        self.words: set[str] = set()

    def add(self, total: int, words: set[str]) -> Moments:
        self.total += total
        self.words |= words
        return self

    def add_record(self, record: Record) -> Moments:
        return self.add(record["n"], {record["word"] or "?"})


class Grouping(BatchAggregator):
    """Groups by a modulus, and all together; leaves out the multiples of five."""

    class Config(PluginConfig):
        fails_in: str = field("The method that fails.", default="", name="failsIn")

    config: Config

    def configure(self, stage: StageConfigurer) -> None:
        stage.output_schema = MOMENTS

    def initialize(self, context: StageContext) -> None:
        self.metrics = context.metrics

    def group_by(self, record: Record) -> Iterable[Any]:
        self.note("group_by")
        return [] if record["n"] % 5 == 0 else [(record["n"] % 7, "mod"), "all"]

    def emit_moments(self, key: Any, value: Moments, emit: Emitter) -> None:
        emit({"key": str(key), "total": value.total, "words": sorted(value.words)})
        if key == "all":
            emit.error({"n": value.total, "word": "all"}, 7, "the group of all")
            emit.alert({"total": str(value.total)})

    def note(self, method: str) -> None:
        self.metrics.count(method)
        if self.config.fails_in == method:
            raise ValueError(method)


@plugin(type="batchaggregator", name="Plain", description="In one step.")
class Plain(Grouping):
    def aggregate(self, key: Any, records: Iterator[Record], emit: Emitter) -> None:
        value = Moments()
        for record in records:
            value.add_record(record)
        self.emit_moments(key, value, emit)


@plugin(type="batchaggregator", name="Reduced", description="In two steps.")
class Reduced(Grouping, BatchReducibleAggregator):
    def initialize_aggregate_value(self, record: Record) -> Moments:
        self.note("initialize_aggregate_value")
        return Moments().add_record(record)

    def merge_values(self, value: Moments, record: Record) -> Moments:
        self.note("merge_values")
        return value.add_record(record)

    def merge_partitions(self, value: Moments, other: Moments) -> Moments:
        self.note("merge_partitions")
        return value.add(other.total, other.words)

    def finalize(self, key: Any, value: Moments, emit: Emitter) -> None:
        self.note("finalize")
        self.emit_moments(key, value, emit)


@plugin(type="batchaggregator", name="Records", description="Values are records of two groups.")
class Records(BatchReducibleAggregator):
    def group_by(self, record: Record) -> Iterable[Any]:
        return ["a", "b"]

    def initialize_aggregate_value(self, record: Record) -> Any:
        return record

    def merge_values(self, value: Record, record: Record) -> Record:
        value["n"] += record["n"]
        return value

    def merge_partitions(self, value: Record, other: Record) -> Record:
        return self.merge_values(value, other)

    def finalize(self, key: Any, value: Record, emit: Emitter) -> None:
        emit(value | {"word": key})


@plugin(type="batchaggregator", name="Unsent", description="Values that no process can be sent.")
class Unsent(Records):
    def initialize_aggregate_value(self, record: Record) -> Any:
        return (each for each in [record])


@plugin(name="Spread", description="Divides the records into three partitions.")
class Spread(SparkCompute):
    def apply(self, df: DataFrame, context: SparkContext) -> DataFrame:
        return df.repartition(3)
