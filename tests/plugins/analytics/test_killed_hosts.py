"""A host that is killed while jobs of Analytics wait and run: they go on, and the states tell the truth."""

from __future__ import annotations

import contextlib
import os
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest

from localcdap.api.client import connect
from localcdap.apps.model import AppRequest
from localcdap.host.cdap import Cdap
from localcdap.rpc.host_record import read_host_record
from localcdap.testing.instance import TemporaryInstance
from tests.apps.test_jobs import KILLED, find_job_processes
from tests.plugins.analytics.conftest import DIRECTIVES, SCHEMA
from tests.plugins.analytics.test_faults import wait_until

pytestmark = [pytest.mark.spark, pytest.mark.soak]
SPLIT = {"type": "random", "params": {"seed": "7"}, "directives": DIRECTIVES, "schema": SCHEMA}


class Host:
    """The background host of an instance, which each block of ``connect`` starts when it is not there."""

    def __init__(self, home: Path) -> None:
        self._home = home

    @contextlib.contextmanager
    def connect(self) -> Iterator[Cdap]:
        with connect(str(self._home)) as cdap:
            yield cdap

    def kill(self) -> None:
        record = read_host_record(self._home)
        if record is None:
            return
        os.kill(record.pid, signal.SIGKILL)
        wait_until(lambda: _is_gone(record.pid))


def call(cdap: Cdap, method: str, path: str, body: Any = None) -> Any:
    request = AppRequest(method, f"/v2/contexts/default/experiments/e{path}", {}, body)
    answer = cdap.apps.call("ModelManagementApp", request)
    assert answer.status == 200, answer.body
    return answer.body


def wait_for_job(cdap: Cdap, jobs: Path) -> psutil.Process:
    """Return the process of the job that runs, as soon as it is there."""
    (running,) = [each for each in cdap.jobs.list_jobs("default") if each.status == "RUNNING"]
    process: psutil.Process = wait_until(lambda: find_job_processes(jobs / running.id))[0]
    return process


def wait_for_end(cdap: Cdap) -> None:
    for each in cdap.jobs.list_jobs("default"):
        assert cdap.jobs.wait(each.id, 120).has_ended


def test_jobs_that_wait_and_run_outlive_a_killed_host(request, tmp_path, animals, engine_directory):
    with TemporaryInstance(tmp_path / "home") as instance:
        instance.cdap.artifacts.sync()
        home = instance.home
        instance.close()
    host = Host(home.path)
    request.addfinalizer(host.kill)
    with host.connect() as cdap:
        experiment = {"srcpath": str(animals), "outcome": "kind", "outcomeType": "string"}
        call(cdap, "PUT", "", {"description": "", **experiment, "directives": DIRECTIVES})
        splits = [call(cdap, "POST", "/splits", SPLIT)["id"] for _ in range(2)]
        wait_until(lambda: cdap.jobs.list_jobs("default")[-1].status == "RUNNING")
        wait_for_job(cdap, home.jobs)
        host.kill()
    with host.connect() as cdap:
        wait_for_end(cdap)
        for each in splits:
            wait_until(lambda: call(cdap, "GET", f"/splits/{each}")["status"] == "Complete")  # noqa: B023

        models = [
            call(cdap, "POST", "/models", {"name": name, "split": splits[0]})["id"]
            for name in ("first", "second")
        ]
        for each in models:
            call(cdap, "POST", f"/models/{each}/train", {"algorithm": "decision.tree.classifier"})
        wait_until(lambda: any(j.status == "RUNNING" for j in cdap.jobs.list_jobs("default")))
        process = wait_for_job(cdap, home.jobs)
        host.kill()
        with contextlib.suppress(psutil.NoSuchProcess):
            process.kill()
    with host.connect() as cdap:
        wait_for_end(cdap)
        first, second = models
        wait_until(lambda: call(cdap, "GET", f"/models/{first}")["status"] == "Training Failed")
        assert call(cdap, "GET", f"/models/{first}")["error"] == KILLED
        wait_until(lambda: call(cdap, "GET", f"/models/{second}")["status"] == "Trained")
        folders = list(home.app_files.glob("**/models/e/*"))
        assert [each.name for each in folders] == [second]
        assert not list(home.jobs.iterdir())


def _is_gone(pid: int) -> bool:
    try:
        return psutil.Process(pid).status() == psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return True
