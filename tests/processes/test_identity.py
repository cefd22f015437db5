"""Which process is meant, whether it lives, and waiting for its end."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import threading
import time

import pytest

from localcdap.processes import identity
from localcdap.processes.identity import (
    identify,
    is_alive,
    is_running,
    is_suspended,
    keep_exit_code,
    listens_on,
    read_command,
    take_child_exit_code,
    wait_for_end,
)
from localcdap.processes.limits import IS_LINUX
from localcdap.processes.tree import end_child

NO_PROCESS = 2**22 + 1
"""More than the largest id that Linux gives."""


def start_zombie() -> subprocess.Popen[bytes]:
    child = subprocess.Popen([sys.executable, "-c", "raise SystemExit(7)"])
    os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)
    return child


@pytest.mark.parametrize("is_linux", [True, False] if IS_LINUX else [False])
def test_a_process_that_waits_for_its_parent_does_not_run(monkeypatch, is_linux):
    monkeypatch.setattr(identity, "IS_LINUX", is_linux)
    child = start_zombie()

    assert not is_running(child.pid)
    assert is_running(os.getpid())
    assert not is_running(NO_PROCESS)
    assert child.wait() == 7


def test_a_process_is_alive_until_it_ends():
    child = subprocess.Popen(["sleep", "600"])
    process = identify(child.pid)
    assert is_alive(process)
    assert not is_alive(process._replace(created=process.created - 60)), "an earlier one"

    end_child(child)

    assert not is_alive(process)


def test_the_exit_code_of_a_child_is_kept_until_it_is_asked_for():
    child = start_zombie()
    keep_exit_code(child)
    process = identify(child.pid)

    assert not is_alive(process), "which reaps it"

    assert take_child_exit_code(child.pid) == 7
    assert take_child_exit_code(child.pid) is None


def test_a_process_that_never_was_has_an_identity_that_is_not_alive():
    assert identify(NO_PROCESS) == (NO_PROCESS, 0.0)
    assert not is_alive(identify(NO_PROCESS))


@pytest.mark.skipif(not IS_LINUX, reason="The state of a process is read from /proc.")
def test_a_process_that_a_signal_stopped_is_suspended():
    child = subprocess.Popen(["sleep", "600"])
    assert not is_suspended(child.pid)
    child.send_signal(signal.SIGSTOP)
    os.waitpid(child.pid, os.WUNTRACED)

    assert is_suspended(child.pid)
    assert is_running(child.pid)

    end_child(child)
    assert not is_suspended(child.pid)


@pytest.mark.parametrize("has_pidfd", [True, False])
def test_the_end_of_another_process_is_waited_for(monkeypatch, has_pidfd):
    if not has_pidfd:
        monkeypatch.delattr(os, "pidfd_open", raising=False)
        monkeypatch.setattr(identity, "_POLL_S", 0.01)
    child = subprocess.Popen(["sleep", "600"])
    assert not wait_for_end(child.pid, 0.02)
    ended = threading.Event()

    def wait() -> None:
        wait_for_end(child.pid)
        ended.set()

    threading.Thread(target=wait, daemon=True).start()
    child.kill()

    assert ended.wait(60), "a zombie has ended too"
    child.wait()
    assert wait_for_end(child.pid)


def test_the_process_that_listens_on_a_port_is_known():
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        assert listens_on(os.getpid(), port)
        assert not listens_on(os.getppid(), port)
    assert not listens_on(os.getpid(), port)
    assert not listens_on(NO_PROCESS, port)


def test_the_command_of_a_process_is_read():
    child = subprocess.Popen(["sleep", "600"])
    while read_command(child.pid)[:1] != ["sleep"]:  # the fork has not executed it yet
        time.sleep(0.01)
    assert read_command(child.pid) == ["sleep", "600"]
    end_child(child)
    assert read_command(NO_PROCESS) == []
