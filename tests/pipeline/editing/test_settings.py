"""Failures that belong to the settings of a pipeline, and to no stage."""

from __future__ import annotations

from localcdap.pipeline.editing.edits import SetSetting
from tests.pipeline.editing.sessions import Bench
from tests.pipeline.pipelines import config, record


def test_a_wrong_schedule_is_a_failure_until_it_is_corrected():
    source = {"schema": record("a")}
    bench = Bench(config("source:s sink:z", "s>z", s=source))
    assert bench.errors == []
    bench.apply(SetSetting("schedule", "0 99 * * *"))
    assert [each.field for each in bench.errors] == ["schedule"]
    bench.check()
    bench.apply(SetSetting("maxConcurrentRuns", -1))
    assert [each.field for each in bench.errors] == ["schedule", "maxConcurrentRuns"]
    bench.apply(SetSetting("schedule", "0 9 * * *"))
    bench.apply(SetSetting("maxConcurrentRuns"))
    assert bench.errors == []
    bench.check()
