"""Services of an application get more and fewer processes while calls are running."""

from __future__ import annotations

import json
import os
import signal
import threading
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path

import psutil
import pytest

from localcdap.api.errors import BadRequestError, NotFoundError, PluginError
from localcdap.cli.main import run

from .test_hosted import Instance, wait_until

CALLS = 4


@pytest.fixture(scope="module")
def instance(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Instance]:
    with Instance(tmp_path_factory.mktemp("scaled") / "home") as made:
        made.put("catalogue", "system")
        yield made


@pytest.fixture(autouse=True)
def stopped(instance: Instance) -> None:
    instance.cdap.apps.scale("catalogue", None, 1)
    instance.cdap.apps.stop("catalogue")


class Calls:
    """Calls that wait in the application until they may end."""

    def __init__(self, instance: Instance, folder: Path, count: int) -> None:
        self._instance, self._folder = instance, folder
        self._pool = ThreadPoolExecutor(count)
        self.futures: list[Future[int]] = [
            self._pool.submit(self._wait, number) for number in range(count)
        ]
        wait_until(lambda: len(list(folder.glob("begun*"))) == count)

    def end(self) -> None:
        (self._folder / "end").touch()
        self._pool.shutdown()

    def _wait(self, number: int) -> int:
        begun, end = str(self._folder / f"begun{number}"), str(self._folder / "end")
        answer = self._instance.call("GET", "/waiting", begun=begun, end=end)
        assert answer.status == 200, answer.body
        pid: int = answer.body
        return pid


def _count(instance: Instance) -> tuple[int, int]:
    """The requested and the running instances of the service."""
    (found,) = instance.cdap.apps.describe("catalogue").instances.values()
    return found.requested, found.running


def _scale(instance: Instance, instances: int) -> None:
    instance.cdap.apps.scale("catalogue", None, instances)


@pytest.mark.slow
def test_calls_in_flight_are_all_answered(instance: Instance, tmp_path: Path) -> None:
    first = instance.call("GET", "/pid").body
    assert _count(instance) == (1, 1)
    _scale(instance, CALLS)
    assert _count(instance) == (CALLS, CALLS)
    calls = Calls(instance, tmp_path, CALLS)
    _scale(instance, 1)
    assert _count(instance) == (1, 1)
    assert instance.call("GET", "/pid").body == first
    calls.end()
    pids = {call.result() for call in calls.futures}
    assert len(pids) == CALLS
    assert first in pids
    instance.call("GET", "/pid")  # ends what has no call any more
    wait_until(lambda: not any(psutil.pid_exists(pid) for pid in pids - {first}))


def test_a_killed_process_loses_only_its_own_call(instance: Instance, tmp_path: Path) -> None:
    first = instance.call("GET", "/pid").body
    _scale(instance, 2)
    calls = Calls(instance, tmp_path, 2)
    os.kill(first, signal.SIGKILL)
    wait_until(lambda: any(call.done() for call in calls.futures))
    calls.end()
    errors = [call.exception() for call in calls.futures]
    (error,) = [each for each in errors if each is not None]
    assert isinstance(error, PluginError)
    assert "was ended by SIGKILL" in error.message
    assert instance.call("GET", "/pid").status == 200
    assert _count(instance) == (2, 2)


@pytest.mark.soak
def test_numbers_change_under_load(instance: Instance) -> None:
    stopped, failed = threading.Event(), []
    answers: list[int] = []

    def load() -> None:
        while not stopped.is_set():
            answer = instance.call("GET", "/pid")
            (answers if answer.status == 200 else failed).append(answer.body)

    threads = [threading.Thread(target=load) for _ in range(CALLS)]
    for each in threads:
        each.start()
    for instances in (3, 1, 2):
        _scale(instance, instances)
    stopped.set()
    for each in threads:
        each.join()
    assert failed == []
    assert answers


@pytest.mark.slow
def test_the_number_survives_the_host(tmp_path: Path, capsys) -> None:
    home = str(tmp_path / "home")
    with Instance(tmp_path / "home") as before:
        before.put("catalogue", "system")
        assert run(["apps", "scale", "catalogue", "--instances", "2", "--home", home]) == 0
        assert "has 2 instances now, 0 running" in capsys.readouterr().out
    with Instance(tmp_path / "home") as again:
        assert again.call("GET", "/pid").status == 200
        assert _count(again) == (2, 1)  # another one starts when the first one is busy
        assert run(["apps", "--json", "--home", home]) == 0
        listed = {each["name"]: each for each in json.loads(capsys.readouterr().out)}
        assert listed["catalogue"]["instances"] == {"experiments": {"requested": 2, "running": 1}}
        assert run(["apps", "--home", home]) == 0
        assert "1/2" in capsys.readouterr().out


def test_what_is_wrong(instance: Instance, capsys) -> None:
    for wrong in (0, -1, 33):
        with pytest.raises(BadRequestError, match="from 1 to 32 instances"):
            _scale(instance, wrong)
    with pytest.raises(NotFoundError, match="no service 'x'"):
        instance.cdap.apps.scale("catalogue", "x", 2)
    with pytest.raises(NotFoundError, match="no application 'x'"):
        instance.cdap.apps.scale("x", None, 2)
    assert run(["apps", "scale", "--home", str(instance.home.path)]) == 2
    assert run(["apps", "catalogue", "FETCH", "/x", "--home", str(instance.home.path)]) == 2
    assert _count(instance) == (1, 0)
