"""The processes that a process has started: listed, measured and ended."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator

import psutil
import pytest

from localcdap.processes import identity, tree
from localcdap.processes.identity import identify, is_running
from localcdap.processes.limits import IS_LINUX
from localcdap.processes.tree import (
    end_child,
    end_tree,
    interrupt,
    list_children,
    list_descendants,
    measure_memory,
)

STUBBORN = """
import os, signal, time
signal.signal(signal.SIGTERM, lambda *_: os.kill(os.getppid(), signal.SIGUSR1))
print(1, flush=True)
while True:
    time.sleep(600)
"""
"""Does not end when it is asked to, and tells its parent that it was asked."""


def wait_until(holds: Callable[[], object]) -> None:
    deadline = time.monotonic() + 60
    while not holds():
        assert time.monotonic() < deadline
        time.sleep(0.01)


@pytest.fixture(autouse=True)
def ignore_signals() -> Iterator[None]:
    before = signal.signal(signal.SIGUSR1, signal.SIG_IGN)
    yield
    signal.signal(signal.SIGUSR1, before)


def start_stubborn() -> subprocess.Popen[bytes]:
    child = subprocess.Popen([sys.executable, "-c", STUBBORN], stdout=subprocess.PIPE)
    assert child.stdout is not None
    child.stdout.readline()
    return child


def start_family(script: str, *, new_session: bool = False) -> tuple[subprocess.Popen[str], int]:
    """A shell, and the process whose id it prints."""
    shell = subprocess.Popen(
        ["sh", "-c", script], stdout=subprocess.PIPE, text=True, start_new_session=new_session
    )
    assert shell.stdout is not None
    return shell, int(shell.stdout.readline())


@pytest.mark.parametrize("is_linux", [True, False] if IS_LINUX else [False])
def test_descendants_are_listed(monkeypatch, is_linux):
    monkeypatch.setattr(tree, "IS_LINUX", is_linux)
    monkeypatch.setattr(identity, "IS_LINUX", is_linux)
    shell, child = start_family("sleep 1000 & echo $!; wait")
    assert list_descendants(shell.pid) == [child]
    assert is_running(child)
    assert measure_memory([shell.pid, child], 0) > 0
    os.kill(child, signal.SIGKILL)
    shell.wait()
    assert not is_running(child)
    assert list_descendants(shell.pid) == []


def test_children_are_named_so_that_no_later_process_is_meant():
    shell, child = start_family("sleep 1000 & echo $!; wait")

    assert list_children(shell.pid) == [identify(child)]

    os.kill(child, signal.SIGKILL)
    shell.wait()
    assert list_children(shell.pid) == []


def test_a_child_that_ends_when_it_is_asked_has_the_code_of_its_signal():
    child = subprocess.Popen(["sleep", "600"])

    assert end_child(child, 60) == -signal.SIGTERM


def test_a_child_that_does_not_end_in_time_is_killed():
    assert end_child(start_stubborn(), 0.01) == -signal.SIGKILL


def test_the_wait_for_a_child_that_is_interrupted_kills_it():
    def raise_interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    signal.signal(signal.SIGUSR1, raise_interrupt)
    child = start_stubborn()
    with pytest.raises(KeyboardInterrupt):
        end_child(child, 600)
    assert child.returncode == -signal.SIGKILL


def test_a_child_that_has_ended_keeps_its_code():
    child = subprocess.Popen(["sh", "-c", "exit 7"])
    child.wait()

    assert (end_child(child, 1), end_tree(child)) == (7, 7)


def test_what_a_child_started_in_another_session_ends_with_it():
    script = (
        f"setsid {sys.executable} -c 'import time; time.sleep(600)' & sleep 600 & echo $!; wait"
    )
    shell, child = start_family(script, new_session=True)
    wait_until(lambda: len(list_descendants(shell.pid)) == 2)
    below = list_descendants(shell.pid)
    assert child in below

    assert end_tree(shell) == -signal.SIGKILL

    wait_until(lambda: not any(map(is_running, below)))


def test_a_process_that_was_seen_ends_although_its_parent_has_ended():
    shell, orphan = start_family("setsid sleep 600 & echo $!; exec sleep 600", new_session=True)

    end_tree(shell, seen=[orphan])

    wait_until(lambda: not is_running(orphan))


def test_a_process_group_is_interrupted_with_its_leader():
    shell, child = start_family("sleep 600 & echo $!; wait", new_session=True)

    interrupt(identify(shell.pid))

    assert shell.wait(60) == -signal.SIGTERM
    wait_until(lambda: not is_running(child))


def test_a_later_process_with_the_same_id_is_not_interrupted():
    child = subprocess.Popen(["sleep", "600"])
    earlier = identify(child.pid)._replace(created=1.0)

    interrupt(earlier, group=False)

    assert psutil.Process(child.pid).is_running()
    assert end_child(child) == -signal.SIGKILL
