"""Small plugins of every kind that the tests of the engine run."""

from __future__ import annotations

import logging
import os
import sys
import time
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from localcdap.api import (
    AlteredRows,
    BatchAggregator,
    BatchJoiner,
    BatchSink,
    BatchSource,
    Emitter,
    ErrorDetails,
    PluginConfig,
    PortEmitter,
    ProgramFailureError,
    Record,
    Schema,
    SinkContext,
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

NUMBERS = Schema.record("numbers", [("n", Schema.LONG), ("word", Schema.STRING.as_nullable)])
SUMS = Schema.record("sums", [("word", Schema.STRING.as_nullable), ("total", Schema.LONG)])


@plugin(type="transform", name="EvenTwice", description="Even numbers twice, odd ones as errors.")
class EvenTwice(Transform):
    def transform(self, record: Record, emit: Emitter) -> None:
        if record["n"] % 2:
            emit.error(record, record["n"], "odd")
            emit.alert({"n": str(record["n"])})
            record["n"] = -1
        else:
            for _ in range(2):
                emit(record)
            record["n"] = -2


@plugin(type="transform", name="AddOne", description="Adds one, in place; writes down each task.")
class AddOne(Transform):
    class Config(PluginConfig):
        journal: str | None = field("File that gets a line for each record.", default=None)

    def initialize(self, context: StageContext) -> None:
        self.stage = context.stage_name

    def transform(self, record: Record, emit: Emitter) -> None:
        record["n"] += 1
        if self.config.journal:
            with Path(self.config.journal).open("a", encoding="utf-8") as file:
                file.write(f"{self.stage} {record['n']}\n")
        emit(record)


@plugin(type="transform", name="Same", description="Passes records on as they are, as Arrow.")
class Same(Transform):
    one_to_one = True

    def transform_batch(self, batch: pa.RecordBatch) -> Iterable[pa.RecordBatch]:
        yield batch


@plugin(type="transform", name="SameFrame", description="Passes records on as they are, in Spark.")
class SameFrame(Transform):
    one_to_one = True

    def apply(self, df: DataFrame, context: SparkContext) -> DataFrame:
        return df


@plugin(type="transform", name="Spread", description="Divides records into seven parts.")
class Spread(Transform):
    def apply(self, df: DataFrame, context: SparkContext) -> DataFrame:
        return df.repartition(7)


@plugin(type="transform", name="SameRecord", description="Passes records on as they are, as dicts.")
class SameRecord(Transform):
    one_to_one = True

    def transform(self, record: Record, emit: Emitter) -> None:
        emit(record)


@plugin(type="transform", name="OnlyWord", description="Keeps the word, reads nothing else.")
class OnlyWord(Transform):
    one_to_one = True

    def configure(self, stage: StageConfigurer) -> None:
        stage.output_schema = Schema.record("words", [("word", Schema.STRING.as_nullable)])

    def input_fields(self, stage: StageConfigurer) -> list[str]:
        return ["word"]

    def apply(self, df: DataFrame, context: SparkContext) -> DataFrame:
        assert df.columns == ["word"]
        return df


@plugin(type="transform", name="Above", description="Keeps the numbers above a limit.")
class Above(Transform):
    class Config(PluginConfig):
        limit: int = field("The limit.")

    def apply(self, df: DataFrame, context: SparkContext) -> DataFrame:
        return df.where(f"n > {self.config.limit}")


@plugin(type="transform", name="Broken", description="Fails in the way its property names.")
class Broken(Transform):
    class Config(PluginConfig):
        how: str = field("What to do wrong.")

    def initialize(self, context: StageContext) -> None:
        if self.config.how == "initialize":
            raise OSError("no such model")

    def transform(self, record: Record, emit: Emitter) -> None:
        if record["n"] == 3:
            match self.config.how:
                case "raise":
                    raise ValueError(f"cannot take {record['n']}")
                case "null":
                    record["n"] = None
                case "type":
                    record["n"] = "three"
                case "ask":
                    record["word"] = sys.stdin.read()
                case "leave":
                    sys.exit(0)
                case "die":
                    os._exit(3)
        emit(record)


QUOTA = ErrorDetails(
    category="Plugin-Quota",
    reason="a quota is used up",
    type="SYSTEM",
    dependency=True,
    code_type="HTTP",
    code="429",
    documentation="https://example.com/quota",
)


@plugin(type="transform", name="Quota", description="Explains its errors.")
class Quota(Transform):
    def transform(self, record: Record, emit: Emitter) -> None:
        if record["n"] == 3:
            raise OSError("429")
        emit(record)

    def get_error_details(self, error: BaseException) -> ProgramFailureError | None:
        if isinstance(error, OSError):
            return ProgramFailureError("The quota is used up.", "Ask for more.", details=QUOTA)
        return None


@plugin(type="transform", name="Liar", description="Its data is not what it says.")
class Liar(Transform):
    class Config(PluginConfig):
        how: str = field("What is different.")

    def apply(self, df: DataFrame, context: SparkContext) -> DataFrame:
        match self.config.how:
            case "type":
                return df.selectExpr("cast(n as int) as n", "word")
            case "missing":
                return df.select("n")
            case "extra":
                return df.selectExpr("*", "1 as more")
            case "order":
                return df.select("word", "n")
            case "nullable":
                return df.selectExpr("nullif(n, -1) as n", "coalesce(word, '') as word")
            case _:
                return df.selectExpr("n + nothing as n", "word")


@plugin(type="transform", name="Compute", description="Computes n again.")
class Compute(Transform):
    class Config(PluginConfig):
        expression: str = field("What n is to be, in SQL.")

    def apply(self, df: DataFrame, context: SparkContext) -> DataFrame:
        return df.selectExpr(f"{self.config.expression} as n", "word")


@plugin(type="transform", name="BrokenFrame", description="Fails on a value, in Spark.")
class BrokenFrame(Transform):
    class Config(PluginConfig):
        how: str = field("What fails.")

    def apply(self, df: DataFrame, context: SparkContext) -> DataFrame:
        from pyspark.sql import functions as f

        def refuse(number: int) -> int:
            if number == 6:
                raise ValueError("cannot take six")
            return number

        match self.config.how:
            case "function":
                return df.withColumn("n", f.abs(f.col("n") - f.lit(2**63 - 1) - f.lit(2)))
            case "condition":
                return df.where(f.expr("100 div (n - 5) > 0"))
            case "sum":
                sums = df.groupBy("word").agg(f.sum(f.lit(2**61)).alias("n"))
                return sums.select("n", "word")
            case "date":
                return df.withColumn("n", f.unix_micros(f.to_timestamp("word", f.lit("yyyy"))))
            case _:
                return df.withColumn("n", f.udf(refuse, "bigint")(f.col("n")))


@plugin(type="splittertransform", name="Parity", description="Even and odd numbers.")
class Parity(SplitterTransform):
    def configure(self, stage: StageConfigurer) -> None:
        if stage.input_schema is not None:
            stage.port_schemas = {"even": stage.input_schema, "odd": stage.input_schema}

    def transform(self, record: Record, emit: PortEmitter) -> None:
        emit("odd" if record["n"] % 2 else "even", record)


@plugin(type="splittertransform", name="ParityFrame", description="Even and odd, in Spark.")
class ParityFrame(SplitterTransform):
    def configure(self, stage: StageConfigurer) -> None:
        if stage.input_schema is not None:
            stage.port_schemas = {"even": stage.input_schema, "odd": stage.input_schema}

    def apply(self, df: DataFrame, context: SparkContext) -> Mapping[str, DataFrame]:
        return {"even": df.where("n % 2 = 0"), "odd": df.where("n % 2 != 0")}


@plugin(type="batchaggregator", name="SumByWord", description="Sums numbers by word, in Python.")
class SumByWord(BatchAggregator):
    def configure(self, stage: StageConfigurer) -> None:
        stage.output_schema = SUMS

    def group_by(self, record: Record) -> Iterable[Any]:
        yield ("word", record["word"])

    def aggregate(self, key: Any, records: Iterator[Record], emit: Emitter) -> None:
        emit({"word": key[1], "total": sum(record["n"] for record in records)})


@plugin(type="batchaggregator", name="FirstOfEach", description="Reads one record of each group.")
class FirstOfEach(BatchAggregator):
    def group_by(self, record: Record) -> Iterable[Any]:
        return [record["word"] or "", "all"]

    def aggregate(self, key: Any, records: Iterator[Record], emit: Emitter) -> None:
        first = next(records)
        emit(first | {"word": key})


@plugin(type="batchjoiner", name="JoinOnN", description="Joins two inputs on n.")
class JoinOnN(BatchJoiner):
    def configure(self, stage: StageConfigurer) -> None:
        fields = [("n", Schema.LONG)]
        fields += [(name, Schema.STRING.as_nullable) for name in stage.input_schemas]
        stage.output_schema = Schema.record("joined", fields)

    def apply(self, inputs: Mapping[str, DataFrame], context: SparkContext) -> DataFrame:
        renamed = [df.withColumnRenamed("word", name) for name, df in inputs.items()]
        return renamed[0].join(renamed[1], "n", "left")


@plugin(type="sparkcompute", name="Sorted", description="Sorts by n.")
class Sorted(SparkCompute):
    def apply(self, df: DataFrame, context: SparkContext) -> DataFrame:
        return df.sort("n")


@plugin(type="sparkcompute", name="WithTotal", description="Reads its input twice.")
class WithTotal(SparkCompute):
    def apply(self, df: DataFrame, context: SparkContext) -> DataFrame:
        total = df.selectExpr("sum(n) as total")
        return df.crossJoin(total).selectExpr("n * 0 + total as n", "word")


@plugin(type="sparkcompute", name="CachedTotal", description="Reads its input twice, from memory.")
class CachedTotal(WithTotal):
    caches_input = True


@plugin(type="batchsource", name="ParquetSource", description="Reads Parquet files of numbers.")
class ParquetSource(BatchSource):
    class Config(PluginConfig):
        path: str = field("The directory.")

    def configure(self, stage: StageConfigurer) -> None:
        stage.output_schema = NUMBERS

    def read(self, context: SourceContext) -> DataFrame:
        return context.spark.read.parquet(context.resolve_path(self.config.path))


@plugin(type="batchsource", name="Endless", description="Numbers for minutes, made by Spark alone.")
class Endless(BatchSource):
    class Config(PluginConfig):
        tasks: int = field("Number of tasks; of 100,000 each takes a hundredth of a second.")
        loses_interrupt: bool = field(
            "Whether Spark loses an interrupt that comes before its job begins.", default=False
        )

    def configure(self, stage: StageConfigurer) -> None:
        stage.output_schema = NUMBERS

    def read(self, context: SourceContext) -> DataFrame:
        rows = context.spark.range(0, 10**11, 1, self.config.tasks)
        df = rows.where("hash(id) % 100000 = 3").selectExpr("id AS n", "string(id) AS word")
        if not self.config.loses_interrupt:
            return df
        # The optimizer computes this in the thread of the operation: the sleep ends with the interrupt,
        # and try_reflect makes null of its exception.
        sleep = "try_reflect('java.lang.Thread', 'sleep', 8000L)"
        once = context.spark.sql(f"SELECT {sleep} AS slept FROM VALUES (1)")
        return df.crossJoin(once).select("n", "word")


@plugin(type="batchsink", name="ParquetSink", description="Writes Parquet files.")
class ParquetSink(BatchSink):
    class Config(PluginConfig):
        path: str = field("The directory.")
        written_by_spark: bool = field(
            "Whether the source reports that Spark writes.", default=False
        )

    def write(self, df: DataFrame, context: SinkContext) -> None:
        directory = context.staging_directory(
            context.resolve_path(self.config.path), written_by_spark=self.config.written_by_spark
        )
        df.write.mode("append").parquet(directory)


@plugin(type="batchsink", name="EmptySink", description="Computes all records and writes none.")
class EmptySink(BatchSink):
    class Config(PluginConfig):
        path: str = field("The directory.")

    def write(self, df: DataFrame, context: SinkContext) -> None:
        context.staging_directory(context.resolve_path(self.config.path))
        df.write.format("noop").mode("overwrite").save()


@plugin(type="batchsink", name="FailingSink", description="Fails as soon as there is a folder.")
class FailingSink(BatchSink):
    class Config(PluginConfig):
        beside: str = field("The folder in which another sink makes its hidden folder.")

    def write(self, df: DataFrame, context: SinkContext) -> None:
        while not list(Path(self.config.beside).glob(".*.localcdap-*")):
            time.sleep(0.05)
        time.sleep(1)
        raise ValueError("no")


@plugin(type="batchsink", name="TableSink", description="Writes to a table.")
class TableSink(BatchSink):
    class Config(PluginConfig):
        name: str = field("The table.")

    def write(self, df: DataFrame, context: SinkContext) -> None:
        context.write_table(self.config.name, df, context.input_schema, "n")


@plugin(type="transform", name="Slow", description="Takes a minute for each record.")
class Slow(Transform):
    class Config(PluginConfig):
        started: str = field("File that appears with the first record.")

    def transform(self, record: Record, emit: Emitter) -> None:
        Path(self.config.started).touch()
        time.sleep(60)
        emit(record)


@plugin(type="transform", name="Talks", description="Logs, prints and counts; fails at a number.")
class Talks(Transform):
    class Config(PluginConfig):
        fail_at: int | None = field("The number to fail at.", default=None)

    def initialize(self, context: StageContext) -> None:
        self.context = context
        context.metrics.count("begun")

    def transform(self, record: Record, emit: Emitter) -> None:
        n = record["n"]
        self.context.metrics.count("seen")
        if n % 5 == 0:
            self.context.logger.info("logged %d", n)
            logging.getLogger("library").warning("warned %d", n)
            print("printed", n)  # noqa: T201
        if n == self.config.fail_at:
            raise ValueError(n)
        emit(record)

    def destroy(self) -> None:
        self.context.metrics.count("ended")


@plugin(type="transform", name="Halves", description="Halves numbers, and counts the odd ones.")
class Halves(Transform):
    def initialize(self, context: StageContext) -> None:
        self.context = context

    def transform(self, record: Record, emit: Emitter) -> None:
        if record["n"] % 2:
            self.context.count_altered("halves were left out", str(record["n"]))
        emit(record | {"n": record["n"] // 2})


@plugin(type="transform", name="HalvesFrame", description="Halves numbers by Spark.")
class HalvesFrame(Transform):
    def apply(self, df: DataFrame, context: SparkContext) -> DataFrame:
        from pyspark.sql import functions as F

        first = F.when(F.col("n") % 2 == 1, F.format_string("%02d", "n"))
        counted = context.observe_altered(df, AlteredRows("halves were left out", first, int_text))
        return counted.withColumn("n", F.floor(F.col("n") / 2).cast("long"))


@plugin(type="transform", name="TwoChanges", description="Counts small and odd numbers.")
class TwoChanges(Transform):
    def apply(self, df: DataFrame, context: SparkContext) -> DataFrame:
        from pyspark.sql import functions as F

        text, number = F.format_string("%02d", "n"), F.col("n")
        return context.observe_altered(
            df,
            AlteredRows("it is small", F.when(number < 3, text)),
            AlteredRows("it is never", F.when(number < 0, text)),
            AlteredRows("it is odd", F.when(number % 2 == 1, text)),
        )


def int_text(text: str) -> str:
    return str(int(text))


@plugin(
    type="batchaggregator",
    name="AlteringGroups",
    description="Counts altered values in both passes.",
)
class AlteringGroups(BatchAggregator):
    def initialize(self, context: StageContext) -> None:
        self.context = context

    def group_by(self, record: Record) -> Iterable[Any]:
        self.context.count_altered("a key was cut", record["word"])
        return [record["word"]]

    def aggregate(self, key: Any, records: Iterator[Record], emit: Emitter) -> None:
        for record in records:
            self.context.count_altered("a sum was rounded", "x", 2)
            emit(record)


@plugin(type="batchaggregator", name="CountedGroups", description="Counts in both of its passes.")
class CountedGroups(BatchAggregator):
    def initialize(self, context: StageContext) -> None:
        self.metrics = context.metrics

    def group_by(self, record: Record) -> Iterable[Any]:
        self.metrics.count("grouped")
        return [record["word"]]

    def aggregate(self, key: Any, records: Iterator[Record], emit: Emitter) -> None:
        self.metrics.count("groups made")
        for record in records:
            emit(record)
