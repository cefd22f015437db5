"""Processes that plugins leave behind in a run: it ends them, and says so in its log."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from localcdap.engine.messages.spool import RunStatus
from localcdap.testing.instance import TemporaryInstance
from tests.runs.test_altered_values import build
from tests.sandbox.test_hostile import assert_ends

pytestmark = pytest.mark.spark
PLUGIN = """
import ctypes, os, pathlib, subprocess, sys
from localcdap.api import Transform, plugin

def leave(command):
    child = subprocess.Popen(command, start_new_session=True, stdout=subprocess.PIPE, text=True)
    with open(FILE, "a") as file:
        file.write(f"{child.stdout.readline().strip() or child.pid}\\n")

if "localcdap.engine.driver.run_driver" in sys.modules:
    leave(["sh", "-c", "echo; exec sleep 1000"])

@plugin(type="transform", name="Leaves", description="Leaves processes behind.")
class Leaves(Transform):
    def configure(self, stage):
        stage.output_schema = stage.input_schema

    def transform(self, record, emit):
        leave(["sh", "-c", "echo; exec sleep 1000"])
        ctypes.CDLL(None).prctl(36, 0)
        leave(["sh", "-c", "setsid sleep 1000 > /dev/null & echo $!"])
        emit(record)
"""


@pytest.fixture
def instance(cdap_engine_directory: Path, tmp_path: Path) -> Iterator[TemporaryInstance]:
    assert cdap_engine_directory
    folder = tmp_path / "home" / "plugins"
    folder.mkdir(parents=True)
    plugin = PLUGIN.replace("FILE", repr(str(tmp_path / "pids")))
    (folder / "leaves-1.0.0.py").write_text(plugin)
    with TemporaryInstance(tmp_path / "home") as instance:
        (instance.home.path / "in.csv").write_text("b\n")
        yield instance


@pytest.mark.slow
def test_a_run_ends_what_plugins_leave_behind(instance: TemporaryInstance, tmp_path: Path):
    document = build()
    config = document["config"]
    stage = {"name": "Leaves", "plugin": {"name": "Leaves", "type": "transform", "properties": {}}}
    config["stages"].insert(1, stage)
    config["connections"] = [{"from": "In", "to": "Leaves"}, {"from": "Leaves", "to": "Out"}]

    run = instance.run(json.dumps(document))

    assert run.status is RunStatus.COMPLETED
    pids = [int(line) for line in (tmp_path / "pids").read_text().split()]
    assert len(pids) == 3
    for pid in pids:
        assert_ends(pid)
    (told,) = [t.text for t in instance.cdap.runs.read_log(run.run) if "behind" in t.text]
    assert "Plugins left 3 processes (sleep, sleep, sleep) behind." in told
