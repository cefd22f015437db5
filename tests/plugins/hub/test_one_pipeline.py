"""Plugins of the Hub in a pipeline on Spark."""

from __future__ import annotations

from pathlib import Path

import pytest

from localcdap.api import Schema
from localcdap.api.errors import StageError
from localcdap.testing import PipelineTester, artifact_ref
from tests.conftest import REPOSITORY
from tests.plugins.transform.support import record

pytestmark = pytest.mark.spark
PLUGINS = REPOSITORY / "plugins_dir"
ZIPS = record("in", name=Schema.STRING, zip=Schema.INT.as_nullable)
RULES = (
    "LESS_THAN_40:number_lesser_than_or_equals(40000),BETWEEN_40_60:number_between(40001|60000),"
    "BETWEEN_60_80:number_between(60001|80000)"
)
"""Of the real pipeline 488."""


@pytest.fixture
def made(spark, tmp_path: Path) -> PipelineTester:
    made = PipelineTester(spark, tmp_path)
    zips = [40_515, 20_580, None, 90_210, 20_436, 70_112]
    made.source("zips", ZIPS, [{"name": f"n{i}", "zip": zip} for i, zip in enumerate(zips)])
    return made


def test_records_are_routed_and_the_largest_kept(made: PipelineTester):
    switch = artifact_ref(PLUGINS / "switch", "splittertransform", "RoutingSwitch")
    top = artifact_ref(PLUGINS / "topn", "batchaggregator", "TopN")
    ports = ["LESS_THAN_40", "BETWEEN_40_60", "BETWEEN_60_80"]
    rules = {"routingField": "zip", "portSpecification": RULES}
    made.stage("route", switch, rules, ["zips"], ports=ports)
    for port in ports:
        made.sink(port.lower(), f"route.{port}")
    made.stage("top", top, {"field": "zip", "size": "2"}, ["zips"])
    made.stage("last", top, {"field": "zip", "size": "9", "ignoreNull": "true"}, ["zips"])
    made.sink("largest", "top")
    made.sink("known", "last")

    counts = made.run()

    assert [each["name"] for each in made.read("less_than_40")] == ["n1", "n4"]
    assert [each["name"] for each in made.read("between_40_60")] == ["n0"]
    assert [each["name"] for each in made.read("between_60_80")] == ["n5"]
    assert (counts["route"].in_, counts["route"].out, counts["route"].error) == (6, 4, 2)
    assert [each["zip"] for each in made.read("largest")] == [90_210, 70_112]
    assert len(made.read("known")) == 5


def test_a_record_at_the_sink_fails_the_run(made: PipelineTester):
    sink = artifact_ref(PLUGINS / "failpipeline-sink-plugins", "batchsink", "FailPipeline")
    made.stage("fail", sink, {"referenceName": "r"}, ["zips"])
    with pytest.raises(StageError, match="Received Error records. Failing the pipeline"):
        made.run()
