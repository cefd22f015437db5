"""The host of an instance: front ends come and go and are killed, and it goes on; it is killed itself."""

from __future__ import annotations

import fcntl
import json
import os
import shutil
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from localcdap.engine.messages.orders import ORDER
from localcdap.rpc.host_record import read_host_record
from localcdap.rpc.host_start import is_hosted
from tests.e2e.pipelines import csv_source, json_sink, pipeline, python, schema, write
from tests.e2e.program import Program, wait_until

ROW = schema(id="int")
GATED = """
import os, time
def transform(record, emitter, context):
    open({entered!r}, "w").close()
    while not os.path.exists({gate!r}):
        time.sleep(0.05)
    emitter.emit(record)
"""
PLUGIN = """
from localcdap.api import Transform, plugin

@plugin(type="transform", name="Dropped", description="Passes on.")
class Dropped(Transform):
    def configure(self, stage):
        stage.output_schema = stage.input_schema
"""


class GatedPipeline:
    """A pipeline of one record, which waits in its transform until a gate is opened."""

    def __init__(self, folder: Path, name: str) -> None:
        folder.mkdir()
        self.gate, self.entered = folder / "gate", folder / "entered"
        (folder / "in.csv").write_text("1\n")
        script = GATED.format(gate=str(self.gate), entered=str(self.entered))
        stages = [
            csv_source("In", folder / "in.csv", ROW),
            python("Wait", script, ROW),
            json_sink("Out", folder / "out"),
        ]
        document = pipeline(stages, ("In", "Wait"), ("Wait", "Out"))
        self.file = write(document, folder / f"{name}.json")
        self.test = folder / f"{name}.test.json"
        case = {"pipeline": f"{name}.json", "given": {"In": [{"id": 1}]}, "expect": {"Out": 1}}
        self.test.write_text(json.dumps(case))

    def open_when_entered(self) -> None:
        wait_until(self.entered.exists, "the transform has a record")
        self.gate.touch()


def get_host(program: Program) -> int:
    record = read_host_record(program.home)
    assert record is not None
    return record.pid


def kill_host(program: Program) -> int:
    pid = get_host(program)
    os.kill(pid, signal.SIGKILL)
    return pid


def finish(command: subprocess.Popen[str]) -> tuple[int, str, str]:
    out, err = command.communicate(timeout=240)
    return command.returncode, out, err


@pytest.fixture
def starting_engine(program: Program, tmp_path: Path) -> Iterator[Path]:
    """A Spark server that never gets ready: a lock says that another process is starting it."""
    engine = tmp_path / "starting-engine"
    engine.mkdir()
    program.environment = {"LOCALCDAP_ENGINE_DIRECTORY": str(engine)}
    with (engine / "starting.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield engine
        if is_hosted(program.home):
            kill_host(program)


@pytest.fixture
def document(tmp_path: Path) -> str:
    (tmp_path / "in.csv").write_text("1\n")
    stages = [csv_source("In", tmp_path / "in.csv", ROW), json_sink("Out", tmp_path / "out")]
    return write(pipeline(stages, ("In", "Out")), tmp_path / "p.json")


def test_the_instance_is_called_while_spark_starts(
    program: Program, document: str, starting_engine: Path
):
    detached = program("run", document, "--detach", "--json")
    commands = [program.start("runs", "--json") for _ in range(2)]
    answers = [finish(each) for each in commands]

    assert detached.code == 0
    for code, out, err in answers:
        assert (code, err) == (0, "")
        (run,) = json.loads(out)
        assert (run["run"], run["status"]) == (detached.json["run"], "PENDING")


@pytest.mark.slow
def test_a_command_that_is_killed_while_spark_starts_leaves_run_and_host(
    program: Program, document: str, starting_engine: Path
):
    command = program.start("run", document)
    wait_until(lambda: program("runs", "--json").json, "the run is recorded")
    host = get_host(program)
    command.kill()
    command.communicate()

    (run,) = program("runs", "--json").json
    assert run["status"] == "PENDING"
    assert get_host(program) == host


@pytest.mark.slow
def test_a_run_waits_on_when_its_host_is_killed_while_spark_starts(
    program: Program, document: str, starting_engine: Path
):
    command = program.start("run", document)
    wait_until(lambda: program("runs", "--json").json, "the run is recorded")
    for _ in range(2):
        host = kill_host(program)
        (run,) = program("runs", "--json").json
        assert run["status"] == "PENDING"
        assert get_host(program) != host
    assert not list(program.home.rglob(ORDER))

    stopped = program("stop", run["run"], "--json")
    code, out, _ = finish(command)

    assert stopped.json["status"] in ("FAILED", "KILLED")
    assert code == 1
    assert run["run"] in [each["run"] for each in program("runs", "--json").json]
    assert not list(program.home.glob("reports/*"))


@pytest.mark.slow
def test_a_host_whose_folder_is_deleted_ends(
    program: Program, document: str, starting_engine: Path
):
    program("run", document, "--detach")
    host = get_host(program)

    shutil.rmtree(program.home, ignore_errors=True)

    wait_until(lambda: not psutil.pid_exists(host), "the host has ended", 30)
    shutil.rmtree(program.home, ignore_errors=True)


def test_many_commands_at_once_share_one_host(program: Program):
    commands = [program.start("plugins", "--json") for _ in range(4)]
    answers = [finish(each) for each in commands]

    assert [(code, err) for code, _, err in answers] == [(0, "")] * 4
    assert len({out for _, out, _ in answers}) == 1


@pytest.mark.slow
def test_a_host_without_clients_and_work_ends(program: Program):
    program("runs")

    wait_until(lambda: not is_hosted(program.home), "the host has ended")
    assert (program.home / "host.log").read_text() == ""


@pytest.mark.slow
def test_the_next_command_has_the_settings_plugins_and_variables_of_its_time(program: Program):
    def list_plugins() -> set[str]:
        return {each["name"] for each in program("plugins", "--json").json}

    before = list_plugins()
    (program.home / "plugins").mkdir()
    (program.home / "plugins" / "dropped-1.0.0.py").write_text(PLUGIN)
    with_dropped = list_plugins()
    variables = program.environment
    program.environment = {"LOCALCDAP_PLUGIN_REQUIRED_CAPABILITIES": "nothing-has-it"}
    with_variable = list_plugins()
    program.environment = variables
    without_variable = list_plugins()
    program.settings('[plugin.required]\ncapabilities = ["nothing-has-it"]\n')
    with_settings = list_plugins()

    assert with_dropped == before | {"Dropped"}
    assert with_variable == set()
    assert without_variable == with_dropped
    assert with_settings == set()


def test_an_instance_that_cannot_be_opened_is_reported_with_its_reason(program: Program):
    program.settings("engine.coers = 2\n")

    answers = [program("runs"), program("runs")]

    for answer in answers:
        assert answer.code == 2
        assert "localcdap.toml:1: unknown setting 'engine.coers'" in answer.err
        assert "host.log" not in answer.err
    assert not is_hosted(program.home)


@pytest.mark.slow
@pytest.mark.spark
@pytest.mark.parametrize("command", ["preview", "test"])
def test_work_in_progress_outlives_the_command_that_opened_the_instance(
    program: Program, tmp_path: Path, command: str
):
    first, second = GatedPipeline(tmp_path / "one", "one"), GatedPipeline(tmp_path / "two", "two")
    opener = program.start("preview", first.file)
    wait_until(first.entered.exists, "the first preview has a record")
    worker = program.start(command, str(second.test) if command == "test" else second.file)
    wait_until(second.entered.exists, f"the {command} has a record")
    host = get_host(program)

    opener.kill()
    opener.communicate()
    assert program("runs").code == 0
    second.open_when_entered()
    code, out, err = finish(worker)

    assert (code, err) == (0, ""), out
    assert ("COMPLETED" if command == "preview" else "1 passed") in out
    assert host not in (opener.pid, worker.pid)


@pytest.mark.slow
@pytest.mark.spark
@pytest.mark.parametrize("command", ["preview", "test"])
def test_work_that_ends_with_a_killed_host_is_reported(
    program: Program, tmp_path: Path, command: str
):
    gated = GatedPipeline(tmp_path / "one", "one")
    worker = program.start(command, str(gated.test) if command == "test" else gated.file)
    wait_until(gated.entered.exists, f"the {command} has a record")

    host = kill_host(program)
    code, out, err = finish(worker)

    what = "the preview" if command == "preview" else "the tests"
    assert (code, out) == (1, "")
    assert (
        f"Error: The host of the instance (process {host}) ended unexpectedly, and {what} with it."
        in err
    )
    assert f"Start {what} again." in err
    assert not list(program.home.glob("reports/*"))
    assert program("runs").code == 0
