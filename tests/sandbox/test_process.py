"""A worker process, and the descriptors that its owner has of it."""

from __future__ import annotations

import contextlib
import os
import threading
from multiprocessing.connection import Connection
from typing import Any

import pytest

from localcdap.sandbox.process import WorkerProcess, make_launcher
from tests.sandbox.conftest import MEMORY_MB


@pytest.fixture
def launcher():
    with contextlib.closing(make_launcher()) as launcher:
        yield launcher


def test_two_threads_that_kill_a_worker_close_its_connection_once(launcher, monkeypatch):
    closed: list[int] = []
    is_closing, is_closed_again = threading.Event(), threading.Event()

    def close_slowly(connection: Connection) -> None:
        descriptor = connection.fileno()
        closed.append(descriptor)
        os.close(descriptor)
        if is_closing.is_set():
            is_closed_again.set()
        is_closing.set()
        is_closed_again.wait(0.2)  # a second thread would have come by now

    process = WorkerProcess(launcher, MEMORY_MB)
    monkeypatch.setattr(process._connection, "_close", lambda: close_slowly(process._connection))
    killers = [threading.Thread(target=process.kill) for _ in range(2)]
    killers[0].start()
    assert is_closing.wait(30)
    killers[1].start()
    for killer in killers:
        killer.join()

    assert len(closed) == 1


def test_a_kill_waits_for_the_call_before_the_descriptor_can_mean_another_worker(
    launcher, monkeypatch
):
    process = WorkerProcess(launcher, MEMORY_MB)
    end, has_ended = launcher.end, threading.Event()

    def end_and_tell(*arguments: Any) -> Any:
        code = end(*arguments)
        has_ended.set()
        return code

    monkeypatch.setattr(launcher, "end", end_and_tell)
    descriptor = process._connection.fileno()
    with process._using:
        killer = threading.Thread(target=process.kill)
        killer.start()
        assert has_ended.wait(60)
        assert killer.is_alive()
        os.fstat(descriptor)
    killer.join()

    with pytest.raises(OSError):
        os.fstat(descriptor)
