"""Fork servers whose forks end with them, and what a fork takes over from its caller."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator

import psutil
import pytest

from localcdap.processes.fork_server import OwnedForkServer
from localcdap.processes.identity import is_running

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="fork servers are for Linux")

SERVER = """
import os, sys, time
from localcdap.processes.fork_server import ForkServer, InheritedEntrance, OwnedForks
from localcdap.processes.limits import adopt_orphans

adopt_orphans()
fork = ForkServer(InheritedEntrance(int(sys.argv[1])), OwnedForks()).serve()
if fork is not None:
    exec(fork.argument, {"descriptors": fork.descriptors})
    os._exit(0)
"""
"""Its forks execute the text that they get."""
SLEEP = "import time; time.sleep(600)"
STRAY = """
import os, subprocess, time
stray = subprocess.Popen(["setsid", "sleep", "600"], start_new_session=True).pid
os.write(1, str(stray).encode() + b"\\n")
time.sleep(600)
"""


def wait_until(holds: Callable[[], object]) -> None:
    deadline = time.monotonic() + 60
    while not holds():
        assert time.monotonic() < deadline
        time.sleep(0.01)


@pytest.fixture
def server() -> Iterator[OwnedForkServer]:
    with contextlib.closing(OwnedForkServer([sys.executable, "-c", SERVER])) as server:
        yield server


def fork(server: OwnedForkServer, script: str, *more: int) -> tuple[int, int]:
    """Process id of a fork, and the descriptor from which its output is read."""
    output, theirs = os.pipe()
    nothing = os.open(os.devnull, os.O_RDONLY)
    try:
        return server.fork(script.encode(), (nothing, theirs, theirs, *more), 60), output
    finally:
        os.close(nothing)
        os.close(theirs)


def read_all(descriptor: int) -> str:
    with os.fdopen(descriptor) as output:
        return output.read()


def test_a_fork_has_a_session_its_streams_and_the_descriptors_that_were_sent(server):
    ours, theirs = os.pipe()
    script = (
        "import os, sys; print(os.getsid(0) == os.getpid(), sys.stdin.read() == '', flush=True)\n"
        "os.write(descriptors[0], b'more'); os.close(descriptors[0])"
    )
    pid, output = fork(server, script, theirs)
    os.close(theirs)

    assert read_all(output) == "True True\n"
    assert read_all(ours) == "more"
    assert psutil.Process(pid).ppid() == server._process.pid
    assert server.end(pid) == 0


@pytest.mark.parametrize(
    ("script", "code"),
    [
        ("import os; os._exit(7)", 7),
        ("import os, signal; os.kill(os.getpid(), signal.SIGSEGV)", -signal.SIGSEGV),
    ],
)
def test_one_that_has_ended_by_itself_keeps_its_exit_code(server, script, code):
    pid, output = fork(server, script)
    os.close(output)
    wait_until(lambda: not is_running(pid))

    assert server.end(pid) == code


def test_one_that_runs_is_killed_with_what_it_started_in_another_session(server):
    pid, output = fork(server, STRAY)
    other, other_output = fork(server, SLEEP)
    with os.fdopen(output) as lines:
        stray = int(lines.readline())

    assert server.end(pid) == -signal.SIGKILL

    assert not is_running(stray)
    assert is_running(other)
    os.close(other_output)


def test_the_reason_why_no_process_can_be_forked_is_reported():
    limited = SERVER.replace(
        "adopt_orphans()",
        "adopt_orphans(); os.fork = lambda: (_ for _ in ()).throw(OSError(11, ''))",
    )
    with contextlib.closing(OwnedForkServer([sys.executable, "-c", limited])) as server:
        with pytest.raises(BlockingIOError, match="Resource temporarily unavailable"):
            fork(server, SLEEP)
        with pytest.raises(BlockingIOError):
            fork(server, SLEEP)


def test_a_server_that_is_closed_takes_all_along(server):
    pid, output = fork(server, STRAY)
    with os.fdopen(output) as lines:
        stray = int(lines.readline())

    server.close()

    assert not is_running(pid)
    assert not is_running(stray)


def test_a_server_that_is_killed_takes_its_forks_along_and_is_reported_as_lost(server):
    pid, output = fork(server, SLEEP)
    os.close(output)
    server._process.kill()
    server._process.wait()

    wait_until(lambda: not is_running(pid))
    with pytest.raises(OSError):
        fork(server, SLEEP)
    with pytest.raises(OSError):
        server.end(pid)


def test_a_server_whose_owner_is_killed_takes_all_along():
    script = (
        "import os, sys, time\n"
        "from localcdap.processes.fork_server import OwnedForkServer\n"
        f"server = OwnedForkServer([sys.executable, '-c', {SERVER!r}])\n"
        f"print(server.fork({STRAY!r}.encode(), (0, 1, 2), 60), flush=True)\n"
        "time.sleep(600)"
    )
    owner = subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True)
    assert owner.stdout is not None
    below = [int(owner.stdout.readline()), int(owner.stdout.readline())]

    owner.kill()
    owner.wait()

    wait_until(lambda: not any(map(is_running, below)))


def test_a_process_that_the_server_does_not_own_is_not_ended(server):
    pid, output = fork(server, SLEEP)
    os.close(output)

    with pytest.raises(OSError):
        server.end(os.getpid())

    assert server.end(pid) == -signal.SIGKILL


def test_a_forked_process_has_the_environment_of_its_caller():
    """``apply_state`` changes the whole process, so that another one has to try it."""
    script = (
        "import os, subprocess, sys, time\n"
        "from localcdap.processes.fork_protocol import CallerState, apply_state\n"
        "apply_state(CallerState(b'/', 0o27, {b'TZ': b'Asia/Tokyo', b'ODD': b'\\xff'}, []))\n"
        "assert dict(os.environb) == {b'TZ': b'Asia/Tokyo', b'ODD': b'\\xff'}\n"
        "assert subprocess.run(['/usr/bin/env'], capture_output=True).stdout.count(b'\\n') == 2\n"
        "assert time.tzname[0] == 'JST' and os.umask(0) == 0o27\n"
        "assert (os.getcwd(), sys.path[0]) == ('/', '/')\n"
    )
    subprocess.run([sys.executable, "-c", script], check=True, timeout=120)
