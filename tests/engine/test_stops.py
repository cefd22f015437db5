"""Runs that end while Spark works for them: Spark ends its work, and no folder is left."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from localcdap.engine.driver import recovery
from localcdap.engine.endpoint import Endpoint
from localcdap.engine.local.server import EngineServer
from localcdap.engine.messages.orders import WorkOrder, write_order
from localcdap.engine.messages.spool import Failed, RunStatus
from localcdap.engine.session import connect
from localcdap.engine.spark_internals import find_running_operations
from tests.e2e.program import wait_until
from tests.engine import plugins
from tests.engine.test_run import document, numbers_source, of, order, said, start, statuses

pytestmark = pytest.mark.spark

SLOW_CHMOD = """#!/bin/sh
case "$*" in
  *_temporary/0/_temporary) ;;  # in a task
  *_temporary|*_temporary/0) touch {log}; sleep 3;;
esac
exec {chmod} "$@"
"""


def list_outputs(folder: Path) -> list[str]:
    return [path.name for path in folder.iterdir() if "out" in path.name]


def require_no_output(folder: Path) -> None:
    """Check that there is no output, and that no task of Spark makes a folder for it again."""
    assert list_outputs(folder) == []
    time.sleep(1.5)
    assert list_outputs(folder) == []


def wait_for_operation(endpoint: Endpoint, given: WorkOrder, folder: Path) -> None:
    """Return when a sink has got its folder and Spark has begun to work for it."""
    wait_until(lambda: list_outputs(folder), "a sink has a folder")
    spark = connect(endpoint, given.session_id)
    wait_until(lambda: find_running_operations(spark), "Spark works for the run")
    spark.client.close()


@pytest.fixture
def leases(engine_directory: Path) -> Path:
    """Of the server that the tests share."""
    return EngineServer(engine_directory).leases


@pytest.fixture
def run_directory(tmp_path: Path) -> Path:
    directory = tmp_path / "run"
    directory.mkdir()
    return directory


def endless(tasks: int = 100_000, *, loses_interrupt: bool = False):
    properties = {"tasks": str(tasks), "loses_interrupt": str(loses_interrupt).lower()}
    return ("in", plugins.Endless, properties)


def sink(name: str = "out", **properties: str):
    return (name, plugins.ParquetSink, {"path": name} | properties)


def start_run(
    run_directory: Path, endpoint: Endpoint, *chain, leases: Path
) -> tuple[subprocess.Popen[bytes], WorkOrder]:
    given = order(endpoint, run_directory.parent, *chain)
    given.engine_leases = str(leases)
    write_order(run_directory, given)
    return start(run_directory), given


@pytest.mark.slow
def test_spark_forgets_the_operations_of_stopped_runs(engine, tmp_path):
    """4 of 5 runs on a server that had run such a stage before were still running for Spark."""
    for number in range(3):
        directory, started = tmp_path / f"run{number}", tmp_path / f"started{number}"
        directory.mkdir()
        chain = [
            numbers_source(tmp_path),
            ("slow", plugins.Slow, {"started": str(started)}),
            sink(),
        ]
        write_order(directory, order(engine, tmp_path, *chain))
        process = start(directory)
        wait_until(started.exists, "a task has begun")

        process.send_signal(signal.SIGTERM)

        assert process.wait(120) == 143
        assert statuses(said(directory))[-1] == "KILLED"
        assert list_outputs(tmp_path) == []


@pytest.mark.slow
def test_what_spark_does_for_a_killed_process_ends_before_its_folders_are_removed(
    engine, run_directory, tmp_path, leases
):
    chain = [endless(loses_interrupt=True), sink()]
    process, given = start_run(run_directory, engine, *chain, leases=leases)
    wait_for_operation(engine, given, tmp_path)

    process.kill()
    process.wait()
    recovery.stop_spark_work(run_directory)

    assert recovery.recover_run(run_directory) is RunStatus.FAILED
    require_no_output(tmp_path)


@pytest.mark.slow
def test_a_sink_that_fails_ends_the_others(engine, run_directory, tmp_path, leases):
    failing = ("failing", plugins.FailingSink, {"beside": str(tmp_path)})
    chain = [endless(loses_interrupt=True), sink(), failing]
    given = order(engine, tmp_path, *chain)
    found = document(*chain)
    found["config"]["connections"][1]["from"] = "in"
    given.document = json.dumps(found)
    given.engine_leases = str(leases)
    write_order(run_directory, given)

    assert start(run_directory).wait(120) == 1

    (failed,) = of(said(run_directory), Failed)
    assert failed.stage == "failing"
    assert "no" in failed.message
    require_no_output(tmp_path)


@pytest.mark.slow
@pytest.mark.timeout(400)
class TestOwnServer:
    """On a server whose ``chmod`` takes three seconds for the directories of a job; Spark must not run it."""

    @pytest.fixture
    def log(self, tmp_path: Path) -> Path:
        """A file that appears when such a ``chmod`` begins."""
        return tmp_path / "chmod.log"

    @pytest.fixture
    def server(
        self, tmp_path: Path, log: Path, monkeypatch: pytest.MonkeyPatch
    ) -> Iterator[EngineServer]:
        programs = tmp_path / "bin"
        programs.mkdir()
        slow = programs / "chmod"
        slow.write_text(SLOW_CHMOD.format(log=log, chmod="/bin/chmod"))
        slow.chmod(0o755)
        monkeypatch.setenv("PATH", f"{programs}{os.pathsep}{os.environ['PATH']}")
        server = EngineServer(tmp_path / "engine", "2", "1g", 0)
        try:
            yield server
        finally:
            server.stop()

    def test_a_sink_written_by_spark_needs_no_chmod(self, server, run_directory, log, tmp_path):
        endpoint = server.ensure()
        process, given = start_run(
            run_directory, endpoint, endless(), sink(written_by_spark="true"), leases=server.leases
        )
        hidden = f".out.localcdap-{given.run_id}"
        wait_until(lambda: list((tmp_path / hidden).rglob("*.parquet")), "Spark has written")
        process.send_signal(signal.SIGTERM)

        assert process.wait(120) == 143
        assert not log.exists()
        require_no_output(tmp_path)

    def test_a_server_that_cannot_be_interrupted_is_stopped(self, server, run_directory, tmp_path):
        endpoint = server.ensure()
        java = psutil.Process(server.get_status().pid)
        # Each task takes minutes and creates no file, so that nothing makes it fail.
        chain = [
            endless(tasks=2, loses_interrupt=True),
            ("out", plugins.EmptySink, {"path": "out"}),
        ]
        process, given = start_run(run_directory, endpoint, *chain, leases=server.leases)
        wait_for_operation(endpoint, given, tmp_path)

        process.send_signal(signal.SIGTERM)

        assert process.wait(180) == 143
        assert statuses(said(run_directory))[-1] == "KILLED"
        assert not java.is_running()
        require_no_output(tmp_path)
