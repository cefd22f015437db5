"""Runs that wait in the queue when their host is killed: they wait on, and each runs once."""

from __future__ import annotations

import json
import threading
from pathlib import Path

import pytest

from tests.e2e.pipelines import csv_source, json_records, json_sink, pipeline, python, schema, write
from tests.e2e.program import Program, wait_until
from tests.e2e.test_crashes import SLOW, when_running
from tests.e2e.test_host import kill_host

ROW = schema(id="int")


def write_pipeline(folder: Path) -> str:
    """A pipeline that waits until a gate is open."""
    (folder / "in.csv").write_text("1\n2\n3\n")
    script = SLOW.format(gate=str(folder / "gate"))
    stages = [
        csv_source("In", folder / "in.csv", ROW),
        python("Wait", script, ROW),
        json_sink("Out", folder / "${out}"),
    ]
    return write(pipeline(stages, ("In", "Wait"), ("Wait", "Out")), folder / "slow.json")


@pytest.mark.slow
@pytest.mark.spark
def test_runs_that_wait_go_on_when_their_host_is_killed(program: Program, tmp_path: Path):
    program.settings("runs.parallel = 1\n")
    file = write_pipeline(tmp_path)
    commands = [program.start("run", file, "-a", "out=a", "--json")]
    when_running(program)
    said: list[str] = []
    for name in ("b", "c"):
        command = program.start("run", file, "-a", f"out={name}", "--json")
        said.append(command.stderr.readline())
        commands.append(command)
    listed = program("runs").out

    kill_host(program)
    (tmp_path / "gate").touch()
    ended: list[dict] = []

    def finish(command) -> None:
        ended.append(json.loads(command.communicate(timeout=240)[0]))

    threads = [threading.Thread(target=finish, args=(each,)) for each in commands]
    for each in threads:
        each.start()
    for each in threads:
        each.join()

    assert [line.partition(" is ")[2] for line in said] == [
        "queued, position 1.\n",
        "queued, position 2.\n",
    ]
    assert "PENDING, position 1" in listed
    assert {each["status"] for each in ended} == {"COMPLETED"}
    assert len(program("runs", "--json").json) == 3
    for name in "abc":
        assert [row["id"] for row in json_records(tmp_path / name)] == [1, 2, 3]


@pytest.mark.spark
def test_a_run_is_stopped_in_the_queue(program: Program, tmp_path: Path):
    program.settings("runs.parallel = 1\n")
    file = write_pipeline(tmp_path)
    program("run", file, "-a", "out=a", "--detach")
    waiting = program("run", file, "-a", "out=b", "--detach").out
    stopped = program("stop", "last").out
    (tmp_path / "gate").touch()

    assert "PENDING, position 1 in the queue" in waiting
    assert stopped.endswith("KILLED\n")
    wait_until(
        lambda: (
            [each["status"] for each in program("runs", "--json").json] == ["KILLED", "COMPLETED"]
        ),
        "the other run has ended",
    )
    assert not (tmp_path / "b").exists()
