"""Stages of previews: those of Spark are computed together, with the results of computing each by itself."""

from __future__ import annotations

from collections import Counter

import msgspec
import pytest
from pyspark.sql.connect.client import SparkConnectClient

from localcdap.api import BatchSink, SparkCompute, plugin
from localcdap.engine.preview.stage_runner import JointFrames, StageByStageRunner
from localcdap.testing import PipelineTester
from tests.engine import plugins
from tests.engine.plugins import NUMBERS
from tests.plugins.core.support import plugin_ref, schema_text

pytestmark = pytest.mark.spark
LINES = schema_text(n="long", word=["string", "null"])


@plugin(type="sparkcompute", name="Draws", description="Draws a number for each record.")
class Draws(SparkCompute):
    def apply(self, df, context):
        from pyspark.sql import functions as F  # noqa: N812

        return df.withColumn("n", (F.rand() * 1e15).cast("long"))


@plugin(type="sparkcompute", name="FailsFor", description="Fails for the number 3, in Spark.")
class FailsFor(SparkCompute):
    def apply(self, df, context):
        from pyspark.sql import functions as F  # noqa: N812

        failing = F.raise_error(F.lit("three is refused")).cast("long")
        return df.withColumn("n", F.when(df.n == 3, failing).otherwise(df.n))


@plugin(type="sparkcompute", name="Renames", description="Gives other columns than it says.")
class Renames(SparkCompute):
    def apply(self, df, context):
        return df.withColumnRenamed("word", "text")


@plugin(
    type="batchsink", name="Refuses", description="Accepts records up to a number, without Spark."
)
class Refuses(BatchSink):
    def accepts(self, batch, context):
        return max(batch.column("n").to_pylist()) < 5

    def preview(self, df, context):
        raise context.fail("refused by Spark.")


class Previewer:
    def __init__(self, spark, folder):
        self.pipeline = PipelineTester(spark, folder)
        self.runner = None

    def run(self, limit=100):
        samples = {}
        self.runner = StageByStageRunner(
            self.pipeline.flow,
            self.pipeline.build_run_context(),
            limit=limit,
            shown=1000,
            on_sample=samples.__setitem__,
            given={},
        )
        self.runner.run()
        return samples


@pytest.fixture
def previewer(spark, tmp_path):
    yield Previewer(spark, tmp_path)
    spark.conf.unset("spark.sql.leafNodeDefaultParallelism")


@pytest.fixture
def executions(monkeypatch):
    """The number of executions that Spark is asked for, by kind."""
    counted = Counter()

    def count(name):
        original = getattr(SparkConnectClient, name)

        def call(self, *arguments, **more):
            counted[name] += 1
            return original(self, *arguments, **more)

        monkeypatch.setattr(SparkConnectClient, name, call)

    count("to_table")
    count("to_table_as_iterator")
    count("execute_command")
    return counted


def add_shop(pipeline, folder):
    """Sources, Python and Spark stages, and sinks, in the shape of the demo."""
    (folder / "numbers.csv").write_text("".join(f"{n},{'abc'[n % 3]}\n" for n in range(30)))
    (folder / "words.csv").write_text("1,a\n2,b\n")
    file = plugin_ref("batchsource", "File")
    for name in ("numbers", "words"):
        path = str(folder / f"{name}.csv")
        pipeline.stage(
            name, file, {"referenceName": "r", "path": path, "format": "csv", "schema": LINES}
        )
    pipeline.stage("one", plugins.AddOne, {}, ["numbers"])
    pipeline.stage(
        "totals",
        plugin_ref("batchaggregator", "GroupByAggregate"),
        {"groupByFields": "word", "aggregates": "total:sum(n),rows:count(*)"},
        ["one"],
    )
    pipeline.stage(
        "joined",
        plugin_ref("batchjoiner", "Joiner"),
        {
            "joinKeys": "totals.word = words.word",
            "requiredInputs": "totals",
            "selectedFields": "totals.word as word,totals.total as total,words.n as n",
        },
        ["totals", "words"],
    )
    for name, format in (("csv", "csv"), ("json", "json")):
        pipeline.stage(
            name,
            plugin_ref("batchsink", "File"),
            {"referenceName": "r", "path": str(folder / name), "format": format},
            ["joined"],
        )
    pipeline.stage(
        "table",
        plugin_ref("batchsink", "Table"),
        {"name": "t", "schema.row.field": "word"},
        ["joined"],
    )


def compare(samples):
    """Samples in a form in which the order of records after a shuffle does not count."""
    built = {name: msgspec.to_builtins(each, enc_hook=str) for name, each in samples.items()}
    return {
        name: each | {"records": sorted(each["records"], key=str)} for name, each in built.items()
    }


def test_one_execution_computes_all_stages_of_spark(previewer, executions, tmp_path, monkeypatch):
    from localcdap.plugin_lib.files.sink import FilesSink
    from localcdap.plugin_lib.files.source import FilesSource

    add_shop(previewer.pipeline, tmp_path)
    together = previewer.run(limit=20)
    assert executions == {"to_table": 1}

    monkeypatch.setattr(FilesSource, "sample", lambda *_: None)
    monkeypatch.setattr(FilesSink, "accepts", lambda *_: False)
    monkeypatch.setattr(JointFrames, "compute", lambda *_: 1 / 0)
    alone = previewer.run(limit=20)

    assert executions["to_table"] == 5
    assert executions["execute_command"] == 2
    assert compare(together) == compare(alone)
    assert together["totals"].count == together["csv"].count == 3
    assert not any(each.problems for each in together.values())


def test_a_random_stage_shows_what_the_next_one_got(previewer, executions):
    pipeline = previewer.pipeline
    pipeline.source("in", NUMBERS, [{"n": n, "word": "w"} for n in range(8)])
    pipeline.stage("one", plugins.AddOne, {}, ["in"])
    pipeline.stage("draws", Draws, {}, ["one"])
    for name in ("left", "right"):
        pipeline.stage(name, plugin_ref("transform", "Projection"), {"keep": "n"}, ["draws"])
    samples = previewer.run()

    drawn = [record["n"] for record in samples["draws"].records]
    assert len(set(drawn)) == 8
    assert drawn == [r["n"] for r in samples["left"].records]
    assert drawn == [r["n"] for r in samples["right"].records]
    assert executions == {"to_table": 2}  # one for the source, which gives no sample


@pytest.mark.parametrize(
    ("failing", "message"), [(FailsFor, "three is refused"), (Renames, "in the output schema")]
)
def test_a_stage_that_fails_is_shown_and_the_others_keep_their_records(previewer, failing, message):
    pipeline = previewer.pipeline
    pipeline.source("in", NUMBERS, [{"n": n, "word": "w"} for n in range(5)])
    pipeline.stage("before", plugin_ref("transform", "Projection"), {"keep": "n,word"}, ["in"])
    pipeline.stage("bad", failing, {}, ["before"])
    pipeline.stage("behind", plugin_ref("transform", "Projection"), {"keep": "n"}, ["bad"])
    pipeline.stage("beside", plugin_ref("transform", "Projection"), {"keep": "n"}, ["before"])
    samples = previewer.run()

    assert [p.stage for p in previewer.runner.problems] == ["bad"]
    assert message in previewer.runner.problems[0].message
    assert samples["before"].count == samples["beside"].count == 5
    assert "behind" not in samples


def test_a_python_stage_between_stages_of_spark_gets_their_records(previewer, executions):
    pipeline = previewer.pipeline
    pipeline.source("in", NUMBERS, [{"n": n, "word": "ab"[n % 2]} for n in range(6)])
    sums = {"groupByFields": "word", "aggregates": "n:sum(n)"}
    pipeline.stage("first", plugin_ref("batchaggregator", "GroupByAggregate"), sums, ["in"])
    pipeline.stage("one", plugins.AddOne, {}, ["first"])
    pipeline.stage("second", plugin_ref("batchaggregator", "GroupByAggregate"), sums, ["one"])
    samples = previewer.run()

    assert sorted(r["n"] for r in samples["second"].records) == [7, 10]
    assert executions == {"to_table": 2}


def test_spark_checks_what_a_sink_does_not_accept(previewer):
    pipeline = previewer.pipeline
    for name, count in (("few", 3), ("many", 9)):
        pipeline.source(name, NUMBERS, [{"n": n, "word": None} for n in range(count)])
        pipeline.stage(f"{name} out", Refuses, {}, [name])
    previewer.run()
    (problem,) = previewer.runner.problems
    assert (problem.stage, problem.message) == ("many out", "Stage 'many out': refused by Spark.")


def test_a_sink_does_not_accept_a_null_that_it_refuses(previewer):
    pipeline = previewer.pipeline
    pipeline.source("in", NUMBERS, [{"n": 1, "word": "a"}, {"n": 2, "word": None}])
    properties = {"name": "t", "schema.row.field": "word"}
    pipeline.stage("table", plugin_ref("batchsink", "Table"), properties, ["in"])
    previewer.run()
    (problem,) = previewer.runner.problems
    assert problem.record == 2
    assert "'word' is null" in problem.message
