"""Which error of several sinks a run reports."""

from __future__ import annotations

import threading
from concurrent.futures import Future, ThreadPoolExecutor

import pytest

from localcdap.engine.driver.execution import _raise_first

CRASH = "Python worker exited unexpectedly (crashed)"


def fail(text: str, after: threading.Event | None = None) -> None:
    if after is not None:
        after.wait(60)
    raise RuntimeError(text)


def fail_in_stage(text: str) -> None:
    try:
        fail(text)
    except RuntimeError as error:
        raise ValueError("Stage 'Look': the Python process crashed.") from error


def fail_from_itself() -> None:
    try:
        fail("twice")
    except RuntimeError as error:
        raise error from error


def start(threads: ThreadPoolExecutor, *calls) -> list[Future[None]]:
    return [threads.submit(call) for call in calls]


def test_a_crash_is_reported_only_when_nothing_else_is_known():
    crashed = threading.Event()
    with ThreadPoolExecutor(3) as threads:
        writes = start(threads, lambda: fail_in_stage(CRASH), lambda: fail("no module", crashed))
        writes[0].add_done_callback(lambda _: crashed.set())
        with pytest.raises(RuntimeError, match="no module"):
            _raise_first(writes)
        with pytest.raises(ValueError, match="the Python process crashed"):
            _raise_first(writes[:1])
        with pytest.raises(RuntimeError, match="first"):
            _raise_first(start(threads, lambda: fail("first")))
        with pytest.raises(RuntimeError, match="twice"):
            _raise_first(start(threads, fail_from_itself))

    _raise_first(writes[:0])
