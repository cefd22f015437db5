"""Several workers: a plugin that takes long does not keep others waiting."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from localcdap.api.errors import HostLostError
from localcdap.api.locations import Locations
from localcdap.sandbox import pool
from localcdap.sandbox.pool import MOST, PluginWorkers
from tests.sandbox.test_hostile import assert_ends

HERE = Locations({}, "/")
TOLD = "stage.failures.add(str(os.getpid()))"
LONG = MOST - 1
"""Calls that may take long, at once."""


@pytest.fixture
def workers(monkeypatch) -> Iterator[PluginWorkers]:
    monkeypatch.setattr(pool, "QUICK_S", 60.0)  # also where the machine is slow
    workers = PluginWorkers(time_limit_s=100, memory_mb=1024)
    with contextlib.closing(workers):
        yield workers


class Held:
    """Calls of plugins that say that they have begun, and end when they are let go."""

    def __init__(self, workers: PluginWorkers, request_of, folder: Path) -> None:
        self._workers, self._request_of, self._folder = workers, request_of, folder
        self.threads: list[threading.Thread] = []
        self.answers: list[str] = []

    def call(self, name: str) -> None:
        body = (
            f"open({str(self._folder / name)!r} + '.begun', 'w').close()\n"
            f"while not os.path.exists({str(self._folder / 'let-go')!r}): time.sleep(0.01)\n{TOLD}"
        )
        request = self._request_of(body, name=name)

        def configure() -> None:
            try:
                self.answers.append(self._workers.configure(request).failures[0].message)
            except HostLostError as error:
                self.answers.append(error.message)

        self.threads.append(threading.Thread(target=configure))
        self.threads[-1].start()

    def wait_for(self, begun: int) -> None:
        until = time.monotonic() + 60
        while len(list(self._folder.glob("*.begun"))) < begun:
            assert time.monotonic() < until
            time.sleep(0.01)

    def let_go(self) -> None:
        (self._folder / "let-go").touch()
        self.join()

    def join(self) -> None:
        for thread in self.threads:
            thread.join(60)
            assert not thread.is_alive()


@pytest.fixture
def held(workers, request_of, tmp_path) -> Held:
    return Held(workers, request_of, tmp_path)


def test_one_process_for_each_artifact_is_enough_for_quick_calls(workers, request_of):
    pids = {
        name: [
            workers.configure(request_of(TOLD, name=name, properties={"column": column}))
            for column in "abc"
        ]
        for name in ("one", "two")
    }
    one, two = ({each.failures[0].message for each in results} for results in pids.values())
    assert (len(one), len(two), len(one | two)) == (1, 1, 2)


def test_hanging_plugins_keep_nobody_waiting(workers, held, request_of):
    quick = request_of("stage.failures.add('quick')", name="quick")
    workers.configure(quick)
    for number in range(MOST):
        held.call(f"h{number}")
    held.wait_for(begun=LONG)
    again = workers.configure(
        request_of("stage.failures.add('quick')", name="quick", properties={"column": "y"})
    )
    assert [failure.message for failure in again.failures] == ["quick"]
    assert held.answers == []
    held.let_go()
    assert len(held.answers) == MOST


def test_processes_that_are_not_needed_end(workers, request_of):
    """The last used ones stay, one for each artifact."""
    results = [workers.configure(request_of(TOLD, name=f"t{number}")) for number in range(11)]
    pids = [int(result.failures[0].message) for result in results]
    for pid in pids[:3]:
        assert_ends(pid)
    assert all(map(psutil.pid_exists, pids[3:]))


def test_closing_ends_all_calls(workers, held):
    for number in range(6):
        held.call(f"s{number}")
    held.wait_for(begun=LONG)
    workers.close()
    held.join()
    assert held.answers == ["The plugin worker was closed."] * 6


def test_connected_results_are_kept_with_their_time(workers, request_of):
    plain, connected = request_of("pass"), request_of("pass", locations=HERE)
    assert workers.find_connected(plain) is None
    before = time.time() * 1000
    result = workers.configure(connected)
    kept = workers.find_connected(plain)
    assert kept is not None
    assert kept.result == result
    assert before - 1 <= kept.at_ms <= time.time() * 1000
    assert workers.configure(plain).failures == []
    assert workers.find_connected(request_of("pass", properties={"column": "other"})) is None
