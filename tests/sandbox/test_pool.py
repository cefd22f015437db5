"""Several workers: a plugin that takes long does not keep others waiting."""

from __future__ import annotations

import contextlib
import os
import signal
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import psutil
import pytest

from localcdap.api.errors import HostLostError, SessionLostError
from localcdap.api.failures import ArtifactId
from localcdap.api.locations import Locations
from localcdap.artifacts.directories.contents import compute_digest
from localcdap.artifacts.model import PluginRef
from localcdap.processes.identity import is_running
from localcdap.sandbox import pool
from localcdap.sandbox.plugin_calls import MethodRequest, call_method
from localcdap.sandbox.pool import MOST, PluginWorkers
from tests.artifacts.authoring import write
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


KEEPS = """
import os
from localcdap.api import *

COUNTS = {}

@plugin(type="transform", name="Keeper", description="Counts the calls of a session.")
class Keeper(Transform):
    @plugin_method("count", "Counts its calls in this process.")
    def count(self) -> list[int]:
        COUNTS["n"] = COUNTS.get("n", 0) + 1
        return [os.getpid(), COUNTS["n"]]

    @plugin_method("fork", "Leaves a process behind.")
    def leave(self) -> str:
        import subprocess
        subprocess.Popen(["sleep", "1000"], start_new_session=True)
        return "done"
"""


class Sessions:
    """Calls of a plugin that keeps a number in its process."""

    def __init__(self, workers: PluginWorkers, folder: Path) -> None:
        self._workers = workers
        self._path = write(folder / "keeper-1.0.0.py", KEEPS)
        self.use()

    def use(self, *others: Path) -> None:
        digest = compute_digest(self._path)
        artifact = ArtifactId("keeper", "1.0.0", "USER")
        uses = tuple(
            PluginRef(artifact, str(each), compute_digest(each), "transform", "P", "x.P")
            for each in others
        )
        self.ref = PluginRef(
            artifact, str(self._path), digest, "transform", "Keeper", "keeper.Keeper", uses=uses
        )

    def call(self, session: str, method: str = "count"):
        request = MethodRequest(self.ref, {}, [], method, None, {})
        return self._workers.do(call_method, request, self.ref, "The method", session).answer


@pytest.fixture
def sessions(workers, tmp_path) -> Sessions:
    return Sessions(workers, tmp_path)


def test_a_session_stays_while_workers_come_and_go(sessions, held):
    """A worker that is not needed any more ended the process of its last call, which another call had."""
    held.call("long")
    held.wait_for(begun=1)
    first = sessions.call("ns/a")
    held.let_go()
    assert sessions.call("ns/a") == [first[0], 2]


def test_calls_of_a_session_follow_each_other(sessions):
    with ThreadPoolExecutor(8) as threads:
        answers = list(threads.map(sessions.call, ["ns/a"] * 16))
    assert sorted(count for _, count in answers) == list(range(1, 17))


@pytest.mark.parametrize(
    ("number", "how"),
    [(signal.SIGKILL, "Killed"), (signal.SIGTERM, "Terminated")],
)
def test_a_session_whose_process_ends_gets_the_cause_once(sessions, caplog, number, how):
    pid, _ = sessions.call("ns/a")
    os.kill(pid, number)
    until = time.monotonic() + 60
    while is_running(pid):
        assert time.monotonic() < until
        time.sleep(0.01)
    with pytest.raises(SessionLostError, match=how):
        sessions.call("ns/a")
    assert f"session ns/a was lost: it was ended by a signal: {how}" in caplog.text
    assert sessions.call("ns/a")[1] == 1


def test_the_session_that_was_used_least_recently_ends_with_a_message(sessions, caplog):
    for number in range(17):
        sessions.call(f"ns/{number}")
    with pytest.raises(SessionLostError, match="more than 16 sessions"):
        sessions.call("ns/0")
    assert sessions.call("ns/2")[1] == 2
    assert caplog.text.count("was lost") == 1


def test_a_session_whose_artifacts_change_begins_again(sessions, tmp_path, caplog):
    sessions.call("ns/a")
    sessions.use(write(tmp_path / "other-1.0.0.py", "x = 1"))
    with pytest.raises(SessionLostError, match="artifacts that it uses have changed"):
        sessions.call("ns/a")
    assert sessions.call("ns/a")[1] == 1
    assert "session ns/a was lost" in caplog.text


def test_a_session_whose_process_is_damaged_gets_the_damage(sessions):
    sessions.call("ns/a", "fork")
    with pytest.raises(SessionLostError, match="replaced: it left a process behind"):
        sessions.call("ns/a")
    sessions.call("ns/a", "fork")
    sessions._workers.end_session("ns/a")
    assert sessions.call("ns/a")[1] == 1
