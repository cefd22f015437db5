"""Whole pipelines through planner, Spark and commit."""

from __future__ import annotations

import pytest

from localcdap.engine.messages.spool import RecordCounts
from localcdap.testing import PipelineTester
from tests.engine import plugins
from tests.engine.plugins import NUMBERS

pytestmark = pytest.mark.spark
TEN = [{"n": n, "word": "abc"[n % 3]} for n in range(10)]


@pytest.fixture
def pipeline(spark, tmp_path):
    pipeline = PipelineTester(spark, tmp_path)
    pipeline.source("in", NUMBERS, TEN)
    return pipeline


def numbers(records):
    return sorted(record["n"] for record in records)


def test_record_stages_in_a_row_see_each_others_records(spark, pipeline):
    pipeline.stage("one", plugins.AddOne, {}, ["in"])
    pipeline.stage("two", plugins.AddOne, {}, ["one"])
    pipeline.sink("out", "two")

    counts = pipeline.run()

    assert numbers(pipeline.read("out")) == list(range(2, 12))
    assert {name: (c.in_, c.out) for name, c in counts.items()} == {
        "in": (0, 10),
        "one": (10, 10),
        "two": (10, 10),
        "out": (10, 0),
    }


@pytest.mark.slow
@pytest.mark.parametrize("counts", [True, False])
def test_errors_reach_every_collector_and_nothing_else_does(spark, pipeline, counts):
    pipeline.stage("even", plugins.EvenTwice, {}, ["in"])
    pipeline.sink("out", "even")
    pipeline.collect_errors("first", "even")
    pipeline.collect_errors("second", "even")

    totals = pipeline.run(counts=counts)

    assert numbers(pipeline.read("out")) == [0, 0, 2, 2, 4, 4, 6, 6, 8, 8]
    for sink in ("first", "second"):
        errors = sorted(pipeline.read(sink), key=lambda e: e["code"])
        assert [e["code"] for e in errors] == [1, 3, 5, 7, 9]
        assert errors[0] == {
            "record": {"n": 1, "word": "b"},
            "code": 1,
            "message": "odd",
            "stage": "even",
        }
    if counts:
        assert totals["even"] == RecordCounts(in_=10, out=10, error=5, alert=5)
        assert totals["first collector"].in_ == totals["second"].in_ == 5
    else:
        assert totals == {}


def test_errors_that_nobody_reads_are_counted_and_dropped(spark, pipeline):
    pipeline.stage("even", plugins.EvenTwice, {}, ["in"])
    pipeline.sink("out", "even")

    assert pipeline.run()["even"] == RecordCounts(in_=10, out=10, error=5, alert=5)


def test_a_source_has_no_errors_to_collect(spark, pipeline):
    pipeline.sink("out", "in")
    pipeline.collect_errors("errors", "in")

    assert pipeline.run()["errors"] == RecordCounts()
    assert pipeline.read("errors") == []


def test_errors_of_two_stages_come_together(spark, pipeline):
    pipeline.stage("one", plugins.EvenTwice, {}, ["in"])
    pipeline.stage("shifted", plugins.AddOne, {}, ["in"])
    pipeline.stage("two", plugins.EvenTwice, {}, ["shifted"])
    pipeline.sink("out", "one")
    pipeline.sink("out two", "two")
    pipeline.collect_errors("errors", "one")
    pipeline.flow.connections.append(
        type(pipeline.flow.connections[0])("two", "errors collector", None)
    )

    counts = pipeline.run()

    stages = [error["stage"] for error in pipeline.read("errors")]
    assert sorted(stages) == ["one"] * 5 + ["two"] * 5
    assert counts["errors collector"].in_ == 10


@pytest.mark.parametrize("splitter", [plugins.Parity, plugins.ParityFrame])
def test_splitter_ports(spark, pipeline, splitter):
    pipeline.stage("split", splitter, {}, ["in"], ports=["even", "odd"])
    pipeline.sink("even", "split.even")
    pipeline.stage("more", plugins.AddOne, {}, ["split.odd"])
    pipeline.sink("odd", "more")

    counts = pipeline.run()

    assert numbers(pipeline.read("even")) == [0, 2, 4, 6, 8]
    assert numbers(pipeline.read("odd")) == [2, 4, 6, 8, 10]
    assert counts["split"] == RecordCounts(in_=10, out=10, ports={"even": 5, "odd": 5})
    assert counts["more"].in_ == 5


@pytest.mark.parametrize("splitter", [plugins.Parity, plugins.ParityFrame])
def test_a_port_that_nothing_reads_is_dropped(spark, pipeline, splitter):
    pipeline.stage("split", splitter, {}, ["in"], ports=["odd"])
    pipeline.sink("odd", "split.odd")

    counts = pipeline.run()

    assert numbers(pipeline.read("odd")) == [1, 3, 5, 7, 9]
    assert counts["split"].ports == {"odd": 5}


def test_both_ports_of_a_splitter_into_one_stage(spark, pipeline):
    pipeline.stage("split", plugins.Parity, {}, ["in"], ports=["even", "odd"])
    pipeline.stage("all", plugins.AddOne, {}, ["split.even", "split.odd"])
    pipeline.sink("out", "all")

    counts = pipeline.run()

    assert numbers(pipeline.read("out")) == list(range(1, 11))
    assert counts["all"].in_ == 10


@pytest.mark.parametrize("reader", [plugins.AddOne, plugins.Above])
def test_several_inputs_are_united(spark, pipeline, reader):
    pipeline.source("more", NUMBERS, [{"n": 100, "word": None}])
    pipeline.stage("both", reader, {"limit": "-1"}, ["in", "more"])
    pipeline.sink("out", "both")

    counts = pipeline.run()

    assert len(pipeline.read("out")) == 11
    assert (counts["in"].out, counts["more"].out, counts["both"].in_) == (10, 1, 11)


def test_joiner(spark, pipeline):
    pipeline.source("right", NUMBERS, [{"n": 3, "word": "three"}])
    pipeline.stage("join", plugins.JoinOnN, {}, ["in", "right"])
    pipeline.sink("out", "join")

    counts = pipeline.run()

    found = {row["n"]: row["right"] for row in pipeline.read("out")}
    assert found == {n: "three" if n == 3 else None for n in range(10)}
    assert (counts["join"].in_, counts["join"].out) == (11, 10)


def test_sparkcompute_that_sorts_is_counted_once(spark, pipeline):
    pipeline.stage("sorted", plugins.Sorted, {}, ["in"])
    pipeline.sink("out", "sorted")

    counts = pipeline.run()

    assert [row["n"] for row in pipeline.read("out")] == list(range(10))
    assert (counts["in"].out, counts["sorted"].out) == (10, 10)


def test_a_stage_with_several_readers_is_computed_once(spark, pipeline, tmp_path):
    journal = tmp_path / "journal"
    pipeline.stage("one", plugins.AddOne, {"journal": str(journal)}, ["in"])
    pipeline.stage("above", plugins.Above, {"limit": "5"}, ["one"])
    pipeline.stage("sorted", plugins.Sorted, {}, ["one"])
    pipeline.stage("two", plugins.AddOne, {}, ["one"])
    pipeline.sink("out", "one")
    pipeline.sink("above out", "above")
    pipeline.sink("sorted out", "sorted")
    pipeline.sink("two out", "two")

    counts = pipeline.run()

    lines = journal.read_text(encoding="utf-8").splitlines()
    assert sorted(lines) == sorted(f"one {n}" for n in range(1, 11))
    assert {name: c.in_ for name, c in counts.items() if c.in_} == {
        "one": 10,
        "above": 10,
        "sorted": 10,
        "two": 10,
        "out": 10,
        "above out": 5,
        "sorted out": 10,
        "two out": 10,
    }


def test_a_reader_that_changes_its_records_does_not_change_those_of_others(spark, pipeline):
    pipeline.stage("one", plugins.AddOne, {}, ["in"])
    pipeline.stage("two", plugins.AddOne, {}, ["in"])
    pipeline.stage("three", plugins.AddOne, {}, ["one"])
    pipeline.sink("out one", "one")
    pipeline.sink("out two", "two")
    pipeline.sink("out three", "three")

    pipeline.run()

    assert numbers(pipeline.read("out one")) == list(range(1, 11))
    assert numbers(pipeline.read("out two")) == list(range(1, 11))
    assert numbers(pipeline.read("out three")) == list(range(2, 12))


def test_a_diamond_in_front_of_one_sink_is_counted_once(spark, pipeline):
    pipeline.stage("low", plugins.SameFrame, {}, ["in"])
    pipeline.stage("high", plugins.Above, {"limit": "5"}, ["in"])
    pipeline.sink("out", "low")
    pipeline.flow.connections.append(type(pipeline.flow.connections[0])("high", "out"))

    counts = pipeline.run()

    assert len(pipeline.read("out")) == 14
    assert counts["in"].out == 10
    assert counts["out"].in_ == 14


def test_grains_alternate(spark, pipeline):
    chain = [plugins.Same, plugins.SameRecord, plugins.Same, plugins.SameFrame, plugins.AddOne]
    previous = "in"
    for index, plugin in enumerate(chain):
        pipeline.stage(f"s{index}", plugin, {}, [previous])
        previous = f"s{index}"
    pipeline.sink("out", previous)

    counts = pipeline.run()

    assert numbers(pipeline.read("out")) == list(range(1, 11))
    assert {c.in_ for name, c in counts.items() if name != "in"} == {10}


def test_fields_that_nobody_reads_are_not_loaded(spark, pipeline):
    pipeline.stage("word", plugins.OnlyWord, {}, ["in"])
    pipeline.sink("out", "word")

    counts = pipeline.run()

    assert pipeline.read("out")[0] == {"word": "a"}
    assert (counts["in"].out, counts["word"].out) == (10, 10)


def test_readers_that_need_different_fields_of_one_stage(spark, pipeline):
    pipeline.source("more", NUMBERS, [{"n": 100, "word": "z"}])
    pipeline.stage("word", plugins.OnlyWord, {}, ["in", "more"])
    pipeline.stage("all", plugins.SameFrame, {}, ["in"])
    pipeline.sink("out", "word")
    pipeline.sink("out all", "all")

    pipeline.run()

    assert len(pipeline.read("out")) == 11
    assert numbers(pipeline.read("out all")) == list(range(10))


def test_aggregator_of_record_grain(spark, pipeline):
    pipeline.stage("sum", plugins.SumByWord, {}, ["in"])
    pipeline.sink("out", "sum")

    counts = pipeline.run()

    assert {r["word"]: r["total"] for r in pipeline.read("out")} == {"a": 18, "b": 12, "c": 15}
    assert counts["sum"] == RecordCounts(in_=10, out=3, groups=3)


def test_aggregator_with_several_keys_that_leaves_records_over(spark, pipeline):
    pipeline.stage("first", plugins.FirstOfEach, {}, ["in"])
    pipeline.stage("more", plugins.AddOne, {}, ["first"])
    pipeline.sink("out", "more")

    counts = pipeline.run()

    assert sorted(r["word"] for r in pipeline.read("out")) == ["a", "all", "b", "c"]
    assert (counts["first"].in_, counts["first"].out, counts["first"].groups) == (10, 4, 4)


@pytest.mark.parametrize(
    "stage", ["AddOne", "Same", "SameFrame", "SumByWord", "FirstOfEach", "Sorted"]
)
def test_no_records_at_all(spark, tmp_path, stage):
    pipeline = PipelineTester(spark, tmp_path)
    pipeline.source("in", NUMBERS, [])
    pipeline.stage("stage", getattr(plugins, stage), {}, ["in"])
    pipeline.sink("out", "stage")

    counts = pipeline.run()

    assert pipeline.read("out") == []
    assert counts["stage"] == RecordCounts()


def test_tables_are_staged_with_schema_and_key(spark, pipeline):
    pipeline.stage("table", plugins.TableSink, {"name": "totals"}, ["in"])

    counts = pipeline.run()

    (load,) = pipeline.table_loads
    assert (load.namespace, load.name, load.key) == ("default", "totals", "n")
    assert load.schema.same_shape(NUMBERS)
    assert spark.read.parquet(load.directory).count() == 10
    assert counts["table"].in_ == 10


@pytest.mark.slow
@pytest.mark.parametrize(("compute", "times"), [("WithTotal", 2), ("CachedTotal", 1)])
def test_the_input_of_a_computation_is_computed_once_if_it_says_so(
    spark, pipeline, tmp_path, compute, times
):
    journal = tmp_path / "journal"
    pipeline.stage("one", plugins.AddOne, {"journal": str(journal)}, ["in"])
    pipeline.stage("total", getattr(plugins, compute), {}, ["one"])
    pipeline.sink("out", "total")

    counts = pipeline.run()

    assert numbers(pipeline.read("out")) == [55] * 10
    assert len(journal.read_text().splitlines()) == 10 * times
    assert (counts["one"].out, counts["total"].in_, counts["total"].out) == (10, 10, 10)
