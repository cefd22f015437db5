"""``kill -9`` of any process at any moment: the next command works, and the run ends truthfully."""

from __future__ import annotations

import json
import os
import signal
from pathlib import Path

import pytest

from localcdap.engine.local.server import EngineServer
from tests.e2e.pipelines import csv_source, json_records, json_sink, pipeline, python, schema, write
from tests.e2e.program import Program, wait_until
from tests.e2e.test_host import kill_host
from tests.run_processes import run_process

pytestmark = pytest.mark.spark

ROW = schema(id="int")
SLOW = """
import os, time
def transform(record, emitter, context):
    while not os.path.exists({gate!r}):
        time.sleep(0.05)
    emitter.emit(record)
"""


class SlowPipeline:
    """A pipeline that waits in its transform until a gate is opened."""

    def __init__(self, folder: Path) -> None:
        self.gate = folder / "gate"
        self.out = folder / "out"
        (folder / "in.csv").write_text("1\n2\n3\n")
        stages = [
            csv_source("In", folder / "in.csv", ROW),
            python("Wait", SLOW.format(gate=str(self.gate)), ROW),
            json_sink("Out", self.out),
        ]
        document = pipeline(stages, ("In", "Wait"), ("Wait", "Out"))
        self.file = write(document, folder / "slow.json")

    def open(self) -> None:
        self.gate.touch()


@pytest.fixture
def slow(tmp_path: Path) -> SlowPipeline:
    return SlowPipeline(tmp_path)


def last(program: Program) -> dict:
    runs = program("runs", "--json").json
    return runs[0] if runs else {}


def when_running(program: Program) -> dict:
    """The run, as soon as it processes records."""

    def running() -> dict | None:
        run = last(program)
        assert run.get("status") not in ("FAILED", "KILLED"), run.get("error")
        return run if run.get("status") == "RUNNING" else None

    return wait_until(running, "the run is running")


def ended(program: Program) -> dict | None:
    run = last(program)
    return run if run.get("status") in ("COMPLETED", "FAILED", "KILLED") else None


@pytest.mark.slow
def test_killed_run_process_is_a_failed_run(program: Program, slow: SlowPipeline):
    command = program.start("run", slow.file, "--json")
    run = when_running(program)

    run_process(run["run"]).kill()
    command.communicate(timeout=120)

    assert command.returncode == 1
    assert last(program)["status"] == "FAILED"
    assert "ended before the run did" in last(program)["error"]["message"]
    assert not slow.out.exists()
    assert not list(slow.out.parent.glob(".out*"))


@pytest.mark.slow
def test_run_goes_on_when_its_host_is_killed(program: Program, slow: SlowPipeline):
    command = program.start("run", slow.file, "--json")
    when_running(program)

    kill_host(program)
    slow.open()
    out, _ = command.communicate(timeout=120)
    assert json.loads(out)["status"] == "COMPLETED"

    run = wait_until(lambda: ended(program), "the run has ended")
    assert run["status"] == "COMPLETED"
    assert run["stages"]["Out"]["in"] == 3
    assert len(json_records(slow.out)) == 3


@pytest.mark.slow
def test_run_process_and_host_killed_together(program: Program, slow: SlowPipeline):
    command = program.start("run", slow.file, "--json")
    run = when_running(program)

    command.kill()
    kill_host(program)
    run_process(run["run"]).kill()
    command.communicate()

    assert wait_until(lambda: ended(program), "the run has ended")["status"] == "FAILED"
    assert not slow.out.exists()


@pytest.mark.slow
def test_detached_run_outlives_the_command(program: Program, slow: SlowPipeline):
    answer = program("run", slow.file, "--detach", "--json")
    assert answer.code == 0
    assert answer.json["status"] != "COMPLETED"

    slow.open()

    run = wait_until(lambda: ended(program), "the run has ended")
    assert run["status"] == "COMPLETED"


@pytest.mark.slow
def test_stopped_run_is_killed_and_leaves_its_sink_alone(program: Program, slow: SlowPipeline):
    program("run", slow.file, "--detach")
    when_running(program)

    answer = program("stop", "last", "--json")

    assert answer.json["status"] == "KILLED"
    assert not slow.out.exists()
    assert not list(slow.out.parent.glob(".out*"))


@pytest.mark.slow
def test_killed_spark_server_fails_the_run_and_is_replaced(
    program: Program, slow: SlowPipeline, tmp_path: Path
):
    program.environment = {"LOCALCDAP_ENGINE_DIRECTORY": str(tmp_path / "engine")}
    server = EngineServer(tmp_path / "engine")
    try:
        command = program.start("run", slow.file, "--json")
        when_running(program)

        os.kill(server.get_status().pid or 0, signal.SIGKILL)
        command.communicate(timeout=120)
        failed = last(program)
        slow.open()
        again = program("run", slow.file, "--json")

        assert failed["status"] == "FAILED"
        assert "local Spark server" in failed["error"]["message"]
        assert again.json["status"] == "COMPLETED", again.json["error"]
    finally:
        server.stop()
