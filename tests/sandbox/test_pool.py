"""Several workers: a plugin that takes long does not keep others waiting."""

from __future__ import annotations

import contextlib
import threading
import time
from pathlib import Path

import pytest

from localcdap.api.errors import HostLostError
from localcdap.api.locations import Locations
from localcdap.sandbox.pool import MOST, PluginWorkers

HERE = Locations({}, "/")
TOLD = "stage.failures.add(str(os.getpid()))"


@pytest.fixture
def workers():
    workers = PluginWorkers(time_limit_s=1.5, memory_mb=1024)
    with contextlib.closing(workers):
        yield workers


def in_background(workers, request) -> threading.Thread:
    thread = threading.Thread(target=workers.configure, args=(request,))
    thread.start()
    return thread


def test_one_process_is_enough_for_quick_calls(workers, request_of):
    requests = [request_of(TOLD, name=f"t{i}") for i in range(10)]
    results = [workers.configure(request) for request in requests]
    assert len({result.failures[0].message for result in results}) == 1


def test_hanging_plugins_keep_nobody_waiting(workers, request_of):
    quick = request_of("stage.failures.add('quick')", name="quick")
    workers.configure(quick)
    hanging = [
        in_background(workers, request_of("while True: pass", name=f"h{i}")) for i in range(MOST)
    ]
    time.sleep(0.4)
    start = time.monotonic()
    again = workers.configure(
        request_of("stage.failures.add('quick')", name="quick", properties={"column": "y"})
    )
    took_s = time.monotonic() - start
    assert [failure.message for failure in again.failures] == ["quick"]
    assert took_s < 1  # less than the time for which the others hang
    for thread in hanging:
        thread.join(10)


def test_processes_that_are_not_needed_end(workers, request_of):
    slow = request_of(f"{TOLD}\ntime.sleep(0.6)", name="slow")
    results = []
    thread = threading.Thread(target=lambda: results.append(workers.configure(slow)))
    thread.start()
    time.sleep(0.2)
    other = workers.configure(request_of(TOLD, name="other"))
    thread.join()
    pids = {int(result.failures[0].message) for result in (*results, other)}
    assert len(pids) == 2
    time.sleep(0.2)
    workers.configure(request_of("pass", name="last"))
    assert len([pid for pid in pids if Path(f"/proc/{pid}").exists()]) == 1


def test_closing_ends_all_calls(workers, request_of):
    told = []

    def configure(number: int) -> None:
        try:
            workers.configure(request_of("time.sleep(100)", name=f"s{number}"))
        except HostLostError as error:
            told.append(error.message)

    threads = [threading.Thread(target=configure, args=(number,)) for number in range(6)]
    for thread in threads:
        thread.start()
    time.sleep(0.5)
    start = time.monotonic()
    workers.close()
    for thread in threads:
        thread.join(5)
    assert time.monotonic() - start < 2
    assert set(told) == {"The plugin worker was closed."}


def test_connected_results_are_kept_with_their_time(workers, request_of):
    plain, connected = request_of("pass"), request_of("pass", locations=HERE)
    assert workers.detected(plain) is None
    before = time.time() * 1000
    result = workers.configure(connected)
    kept = workers.detected(plain)
    assert kept is not None
    assert kept.result == result
    assert before - 1 <= kept.at_ms <= time.time() * 1000
    assert workers.configure(plain).failures == []
    assert workers.detected(request_of("pass", properties={"column": "other"})) is None
