"""Altered values are counted exactly, and reported once for each stage and kind of change."""

from __future__ import annotations

import pytest

from localcdap.api import NoticeKind
from localcdap.engine.messages.samples import AlteredValues
from localcdap.engine.tasks.context import AlteredCounts
from localcdap.testing import PipelineTester
from tests.engine import plugins
from tests.engine.plugins import NUMBERS

TEN = [{"n": n, "word": "abc"[n % 3]} for n in range(10)]


def build(spark, tmp_path) -> PipelineTester:
    pipeline = PipelineTester(spark, tmp_path)
    pipeline.source("in", NUMBERS, TEN)
    return pipeline


def test_counts_of_one_process():
    counts = AlteredCounts()
    for first in ("x" * 1000, "second"):
        counts.add("cut", first)
    counts.add("rounded", "1.5", 3)

    values = NoticeKind.VALUES
    assert counts.take() == [("cut", 2, "x" * 200, values), ("rounded", 3, "1.5", values)]
    assert counts.take() == []
    text = AlteredValues("s", "values were cut", 1, "x").describe()
    assert text == "1 altered value: values were cut. The first: x"


@pytest.mark.spark
@pytest.mark.parametrize("plugin", [plugins.Halves, plugins.HalvesFrame])
@pytest.mark.parametrize("sinks", [1, 2])
def test_each_record_counts_once(spark, tmp_path, plugin, sinks):
    pipeline = build(spark, tmp_path)
    pipeline.stage("halves", plugin, {}, ["in"])
    pipeline.stage("again", plugin, {}, ["halves"])
    for number in range(sinks):
        pipeline.sink(f"out {number}", "again")

    pipeline.run()

    # 0 … 9 and then 0, 0, 1, 1, 2, 2, 3, 3, 4, 4
    assert pipeline.altered == [
        AlteredValues("halves", "halves were left out", 5, "1"),
        AlteredValues("again", "halves were left out", 4, "1"),
    ]


@pytest.mark.spark
@pytest.mark.parametrize("sinks", [1, 2])
def test_spark_counts_also_where_records_are_not_counted(spark, tmp_path, sinks):
    pipeline = build(spark, tmp_path)
    pipeline.stage("halves", plugins.HalvesFrame, {}, ["in"])
    for number in range(sinks):
        pipeline.sink(f"out {number}", "halves")

    pipeline.run(counts=False)

    assert pipeline.altered == [AlteredValues("halves", "halves were left out", 5, "1")]


@pytest.mark.spark
def test_both_passes_of_an_aggregator_count(spark, tmp_path):
    pipeline = build(spark, tmp_path)
    pipeline.stage("groups", plugins.AlteringGroups, {}, ["in"])
    pipeline.sink("out", "groups")

    pipeline.run()

    assert sorted((v.change, v.count) for v in pipeline.altered) == [
        ("a key was cut", 10),
        ("a sum was rounded", 20),
    ]


@pytest.mark.spark
def test_a_run_without_altered_values_reports_none(spark, tmp_path):
    pipeline = build(spark, tmp_path)
    pipeline.stage("same", plugins.SameFrame, {}, ["in"])
    pipeline.sink("out", "same")

    pipeline.run()

    assert pipeline.altered == []
