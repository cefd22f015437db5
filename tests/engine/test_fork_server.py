"""Run processes forked from the template of a local engine."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil
import pytest

from localcdap.engine.local.forks import SOCKET, request_fork
from localcdap.engine.local.supervisor import RUN_SERVER, keep_fork_server
from localcdap.processes import fork_protocol as forking
from localcdap.processes.identity import is_alive
from localcdap.runs.startup import processes
from localcdap.runs.startup.processes import RunProcess, take_exit_code

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="templates are for Linux")


@pytest.fixture(autouse=True)
def patience(monkeypatch: pytest.MonkeyPatch) -> None:
    """A template answers in a millisecond; on a machine that has much to do it is waited for."""
    monkeypatch.setattr(forking, "TIMEOUT_S", 60.0)


def wait_until(holds: Callable[[], object]) -> None:
    deadline = time.monotonic() + 60
    while not holds():
        assert time.monotonic() < deadline
        time.sleep(0.02)


class Running:
    """A template in a folder of its own, and the run processes forked from it."""

    def __init__(self, folder: Path) -> None:
        # Longer than the path of a socket may be.
        self.engine = folder / ("engine" * 20)
        self.engine.mkdir()
        self.runs = folder / "runs"
        self.runs.mkdir()
        self.process = self.started()

    def started(self) -> subprocess.Popen[bytes]:
        command = [sys.executable, "-m", "localcdap.engine.fork_server"]
        process = subprocess.Popen(command, cwd=self.engine, stdin=subprocess.DEVNULL)
        wait_until((self.engine / SOCKET).exists)
        return process

    def fork(self, name: str = "run") -> tuple[int | None, int]:
        """Process id of a run process, and the other end of its input."""
        directory = self.runs / name
        directory.mkdir()
        theirs, ours = os.pipe()
        with (directory / "output").open("wb") as output:
            pid = request_fork(self.engine, directory, theirs, output.fileno())
        os.close(theirs)
        return pid, ours


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    found = Running(tmp_path_factory.mktemp("template"))
    yield found
    found.process.kill()
    found.process.wait()


def test_a_forked_run_process_is_as_if_its_caller_had_started_it(
    running: Running, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.chdir(tmp_path)
    pid, input = running.fork("alike")

    assert pid is not None
    process = psutil.Process(pid)
    wait_until(lambda: process.cwd() == str(tmp_path))
    assert os.getsid(pid) == pid
    output = running.runs / "alike" / "output"
    wait_until(lambda: {Path(f"/proc/{pid}/fd/{fd}").readlink() for fd in (1, 2)} == {output})
    os.close(input)


def test_one_that_gets_no_order_leaves_when_its_input_ends(running: Running):
    pid, input = running.fork("left")

    assert pid is not None
    os.close(input)

    wait_until(lambda: not psutil.pid_exists(pid))
    assert (running.runs / "left" / "output").read_text() == ""


def test_one_forked_for_a_run_can_be_cancelled(running: Running):
    process = RunProcess(running.runs, running.engine)

    assert psutil.Process(process.identity.pid).ppid() == running.process.pid
    process.cancel()

    wait_until(lambda: not is_alive(process.identity))
    assert not process.directory.exists()


def test_a_process_that_was_killed_leaves_its_signal(running: Running, monkeypatch):
    process = RunProcess(running.runs, running.engine)
    assert psutil.Process(process.identity.pid).ppid() == running.process.pid
    os.kill(process.identity.pid, signal.SIGSEGV)
    wait_until(lambda: not is_alive(process.identity))
    monkeypatch.setattr(processes, "_EXIT_S", 60.0)
    assert take_exit_code(process.identity, process.directory, waits=True) == -signal.SIGSEGV
    assert take_exit_code(process.identity, process.directory) is None
    process.cancel()


def test_so_does_one_that_was_not_forked(tmp_path: Path):
    process = RunProcess(tmp_path, tmp_path / "no-engine")
    os.kill(process.identity.pid, signal.SIGKILL)
    wait_until(lambda: not is_alive(process.identity))
    assert take_exit_code(process.identity, process.directory) == -signal.SIGKILL
    process.cancel()


def test_another_start_of_python_is_not_forked(running: Running, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("PYTHONPATH", "/elsewhere")

    assert running.fork("other")[0] is None


def test_garbage_does_not_harm_it(running: Running):
    import socket

    for garbage in (b"", b"\xff\xff\xff\xff", b"\3\0\0\0abc", b"GET / HTTP/1.1\r\n\r\n"):
        with socket.socket(socket.AF_UNIX) as end:
            folder = os.open(running.engine, os.O_PATH)
            end.connect(f"/proc/self/fd/{folder}/{SOCKET}")
            os.close(folder)
            end.sendall(garbage)

    pid, input = running.fork("sane")
    os.close(input)
    assert pid is not None


def test_one_whose_caller_waits_no_more_leaves(running: Running, monkeypatch: pytest.MonkeyPatch):
    """Else two processes would have the streams of the caller, who starts another one."""

    def give_up(*_: object) -> None:
        raise OSError

    monkeypatch.setattr(forking, "receive_number", give_up)
    pid, input = running.fork("late")
    assert pid is None

    wait_until(lambda: not psutil.Process(running.process.pid).children())
    os.close(input)


def test_without_a_template_a_process_is_started(tmp_path: Path):
    (tmp_path / SOCKET).touch()
    process = RunProcess(tmp_path / "runs", tmp_path)

    assert psutil.Process(process.identity.pid).ppid() == os.getpid()
    process.cancel()
    assert not process.directory.exists()


@pytest.mark.slow
def test_a_run_process_goes_on_when_the_template_is_killed(tmp_path: Path):
    running = Running(tmp_path)
    pid, input = running.fork()
    assert pid is not None

    running.process.send_signal(signal.SIGKILL)
    running.process.wait()

    assert psutil.Process(pid).is_running()
    os.close(input)
    wait_until(lambda: not psutil.pid_exists(pid) or psutil.Process(pid).status() == "zombie")


@pytest.mark.slow
def test_a_template_with_old_code_leaves(tmp_path: Path):
    """It has loaded a module of the folder that is changed afterwards."""
    script = (
        "import sys; sys.path.insert(0, sys.argv[1]); import edited; sys.path.pop(0); "
        "import runpy; sys.argv[:] = ['template']; "
        "runpy.run_module('localcdap.engine.fork_server', run_name='__main__', alter_sys=True)"
    )
    module = tmp_path / "edited.py"
    module.write_text("")
    command = [sys.executable, "-c", script, str(tmp_path)]
    process = subprocess.Popen(command, cwd=tmp_path, stdin=subprocess.DEVNULL)
    wait_until((tmp_path / SOCKET).exists)
    module.write_text("edited = True")
    theirs, ours = os.pipe()

    assert request_fork(tmp_path, tmp_path, theirs, theirs) is None

    assert process.wait(60) == 0
    os.close(theirs)
    os.close(ours)


def test_the_supervisor_keeps_one_template(tmp_path: Path):
    def templates() -> list[psutil.Process]:
        children = psutil.Process().children()
        return [p for p in children if "localcdap.engine.fork_server" in p.cmdline()]

    before = templates()
    with keep_fork_server(tmp_path, RUN_SERVER) as supervisor:
        supervisor.ensure_running()
        wait_until((tmp_path / SOCKET).exists)
        supervisor.ensure_running()
        assert len(templates()) == len(before) + 1
    assert templates() == before


FORK_WHILE_GRPC_WORKS = """
import os
from localcdap.engine import run_process

run_process.warm_up()
import grpc

channel = grpc.insecure_channel("127.0.0.1:1")
call = channel.unary_unary("/service/method").future(b"", wait_for_ready=True)
child = os.fork()
if not child:
    os._exit(7)
assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
os._exit(0)
"""


@pytest.mark.slow
def test_a_plugin_may_fork_while_threads_of_grpc_work():
    """The handlers of gRPC, which wait for its threads, would log that they were skipped or run."""
    command = [sys.executable, "-c", FORK_WHILE_GRPC_WORKS]

    done = subprocess.run(command, check=True, capture_output=True, text=True, timeout=120)

    assert "fork" not in done.stderr
