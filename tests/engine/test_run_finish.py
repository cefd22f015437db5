"""Plugins that clean up after a run: when they are called, and that they change nothing."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from localcdap.testing import TemporaryInstance
from tests.e2e.pipelines import pipeline, stage

pytestmark = pytest.mark.spark
PLUGINS = """
import json
from pathlib import Path

from localcdap.api import PluginConfig, SparkSink, Transform, field, plugin


class Journal(PluginConfig):
    journal: str = field("The file with a line for each call.")
    fails: str = field("When it fails.", default="")


class Noting:
    def prepare_run(self, context):
        self.calls = ["prepared"]

    def on_run_finish(self, succeeded, context):
        written = Path(self.config.journal).parent.joinpath("out").exists()
        self.calls += [context.stage_name, succeeded, written]
        with open(self.config.journal, "a") as file:
            file.write(json.dumps(self.calls) + "\\n")
        if self.config.fails == "end":
            raise ValueError("end")


@plugin(name="Watch", description="Passes records on.")
class Watch(Noting, Transform):
    Config = Journal

    def transform(self, record, emit):
        emit(record)


@plugin(name="Watch", description="Computes on records.")
class WatchSink(Noting, SparkSink):
    Config = Journal

    def write(self, df, context):
        self.calls.append(df.count())
        if self.config.fails == "write":
            raise ValueError("write")
"""


@pytest.fixture
def instance(cdap_instance: TemporaryInstance, engine: object) -> TemporaryInstance:
    folder = cdap_instance.home.path
    (folder / "in.txt").write_text("a\nb\n")
    (folder / "watch-1.0.0.py").write_text(PLUGINS)
    cdap_instance.drop(folder / "watch-1.0.0.py")
    return cdap_instance


def document(journal: Path, fails: str) -> dict[str, Any]:
    def watch(name: str, type: str, fails: str = "") -> dict[str, Any]:
        properties = {"journal": str(journal), "fails": fails}
        return {"name": name, "plugin": {"name": "Watch", "type": type, "properties": properties}}

    stages = [
        stage("read", "batchsource", "File", referenceName="read", path="in.txt", format="text"),
        watch("pass", "transform", "end"),
        watch("compute", "sparksink", fails),
        stage("write", "batchsink", "File", path="out", format="csv"),
    ]
    return pipeline(stages, ("read", "pass"), ("pass", "compute"), ("pass", "write"))


@pytest.mark.slow
def test_plugins_clean_up_once_after_the_output_is_committed_or_removed(
    instance: TemporaryInstance,
):
    journal = instance.home.path / "journal"

    failed = instance.run(document(journal, "write"))
    after_failure = [json.loads(line) for line in journal.read_text().splitlines()]
    journal.unlink()
    run = instance.run(document(journal, ""))
    after_success = [json.loads(line) for line in journal.read_text().splitlines()]

    assert (failed.status, failed.error and failed.error.stage) == ("FAILED", "compute")
    assert sorted(after_failure, key=len) == [
        ["prepared", "pass", False, False],
        ["prepared", 2, "compute", False, False],
    ]
    assert (run.status, run.error) == ("COMPLETED", None)
    assert sorted(after_success, key=len) == [
        ["prepared", "pass", True, True],
        ["prepared", 2, "compute", True, True],
    ]
    log = [line.text for line in instance.cdap.runs.read_log(run.run)]
    assert "A stage could not finish the run: Stage 'pass': ValueError: end" in log
