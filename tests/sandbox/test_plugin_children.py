"""Processes that a plugin starts: they count in its memory limit, and end with the call."""

from __future__ import annotations

import contextlib
import subprocess
import sys
import time

import psutil
import pytest

from localcdap.processes import tree
from localcdap.processes.limits import IS_LINUX
from localcdap.sandbox.pool import PluginWorker, ProcessPool
from localcdap.sandbox.process import ProcessLauncher
from tests.sandbox.conftest import MEMORY_MB
from tests.sandbox.test_hostile import assert_ends, check_good
from tests.sandbox.test_supervisor import REPOSITORY, packed

linux = pytest.mark.skipif(not IS_LINUX, reason="only Linux lets a process adopt orphans")
TELL = """
def tell():
    os.write(os.open({file!r}, os.O_WRONLY | os.O_APPEND | os.O_CREAT), b'%d ' % os.getpid())
"""
FORKS = """
for number in range(60):
    if os.fork() == 0:
        tell()
        time.sleep(1000)
while len(open({file!r}).read().split()) < 60: time.sleep(0.01)
"""
DAEMON = """
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        os.closerange(0, 1000)
        tell()
        time.sleep(1000)
    os._exit(0)
while not os.path.exists({file!r}) or not open({file!r}).read(): time.sleep(0.01)
os.wait()
"""
DISOWNED = """
switch = ctypes.CDLL(None).prctl
switch(36, 0)
if os.fork() == 0:
    {detach}
    if os.fork() == 0:
        os.closerange(0, 1000)
        tell()
        time.sleep(1000)
    os._exit(0)
os.wait()
while not os.path.exists({file!r}) or not open({file!r}).read(): time.sleep(0.01)
{restore}
"""
"""A process that its worker does not adopt, because the plugin has switched that off."""
RESTLESS = """
if os.fork() == 0:
    for generation in range(100_000):
        if os.fork(): os._exit(0)
        os.setsid()
        time.sleep(0.002)
time.sleep(0.1)
"""
SUBPROCESS = "import subprocess\nsubprocess.Popen(['sleep', '1000'], start_new_session=True)"


@pytest.fixture
def started(tmp_path):
    """A file to which processes write their ids, and the beginning of a plugin whose processes do so."""
    file = tmp_path / "pids"
    return file, lambda body: (TELL + body).replace("{file!r}", repr(str(file)))


def pids_in(file) -> list[int]:
    return [int(word) for word in file.read_text().split()]


def is_running(pid: int) -> bool:
    with contextlib.suppress(psutil.NoSuchProcess):
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    return False


@linux
@pytest.mark.parametrize(("body", "count"), [(FORKS, 60), (DAEMON, 1)])
def test_processes_end_with_the_call(shared_worker, request_of, started, body, count):
    file, make = started
    result = shared_worker.configure(request_of(make(body)))

    assert len(pids_in(file)) == count
    assert not list(filter(is_running, pids_in(file)))
    left = "a process" if count == 1 else f"{count} processes"
    assert [warning.message for warning in result.warnings] == [
        f"Plugin 'P' changed its process, which was replaced: it left {left} behind."
    ]
    check_good(shared_worker, request_of)


@linux
@pytest.mark.parametrize("detach", ["pass", "os.setsid()"])
@pytest.mark.parametrize("restore", ["pass", "switch(36, 1)"])
def test_processes_that_a_plugin_disowns_end_with_the_call(
    shared_worker, request_of, started, detach, restore
):
    file, make = started
    body = DISOWNED.replace("{detach}", detach).replace("{restore}", restore)
    result = shared_worker.configure(request_of(make(body)))

    assert not list(filter(is_running, pids_in(file)))
    assert [warning.message for warning in result.warnings] == [
        "Plugin 'P' changed its process, which was replaced: it left a process behind."
    ]
    check_good(shared_worker, request_of)


@linux
@pytest.mark.parametrize("end", ["os._exit(3)", "while True: pass", "ctypes.string_at(1)"])
def test_processes_end_with_a_crash(shared_worker, hurried, request_of, started, end):
    file, make = started
    with hurried() if end.startswith("while") else contextlib.nullcontext():
        (failure,) = shared_worker.configure(request_of(make(f"{DAEMON}\n{end}"))).failures

    assert "P' of stage 'stage 1' " in failure.message
    assert not list(filter(is_running, pids_in(file)))


def test_process_that_holds_the_connection_does_not_hide_a_crash(shared_worker, request_of):
    body = "if os.fork() == 0: time.sleep(1000)\nos._exit(3)"

    (failure,) = shared_worker.configure(request_of(body)).failures

    assert "ended its process with exit code 3." in failure.message


@linux
def test_process_that_forks_all_the_time_ends(shared_worker, request_of):
    shared_worker.configure(request_of(RESTLESS))
    check_good(shared_worker, request_of)

    # The server adopts whatever a worker leaves behind. Other fork servers of the machine do not matter.
    processes = shared_worker._processes
    processes._ending.submit(lambda: None).result()  # the pool ends what it does not keep
    server = processes._launcher._server
    left = tree.list_descendants(server._process.pid)
    assert [pid for pid in left if pid not in server.pids] == []


@linux
def test_daemon_of_a_plugin_ends_with_a_killed_host(request_of, started, tmp_path):
    file, make = started
    body = make(f"{DAEMON}\nwhile True: pass")
    (tmp_path / "request").write_bytes(packed(request_of(body)))
    program = (
        "import sys, pathlib\n"
        "from localcdap.api.serialization.value_types import unpack\n"
        "from localcdap.sandbox.stage_configuration import ConfigureRequest\n"
        "from localcdap.sandbox.pool import PluginWorker\n"
        "request = unpack(pathlib.Path(sys.argv[1]).read_bytes(), ConfigureRequest)\n"
        "PluginWorker(100, 512).configure(request)"
    )
    owner = subprocess.Popen(
        [sys.executable, "-c", program, str(tmp_path / "request")], cwd=REPOSITORY
    )
    while not file.exists() or not file.read_text():
        assert owner.poll() is None
        time.sleep(0.02)
    owner.kill()
    owner.wait()

    assert_ends(*pids_in(file))


def test_memory_of_children_counts(shared_worker, request_of):
    eat = f"x = bytearray({MEMORY_MB * 600_000}); print(sum(x[::4096])); import time; time.sleep(1000)"
    body = (
        "import subprocess\n"
        f"children = [subprocess.Popen([sys.executable, '-c', {eat!r}]) for _ in range(2)]\n"
        "children[0].wait()"
    )

    (failure,) = shared_worker.configure(request_of(body)).failures

    assert f"took more than {MEMORY_MB} MiB of memory." in failure.message
    check_good(shared_worker, request_of)


@linux
def test_memory_that_forks_share_counts_once(shared_worker, request_of):
    body = f"""
x = bytes(1) * {MEMORY_MB * 400_000}
children = [os.fork() for _ in range(1)]
if children[0] == 0: time.sleep(0.5); os._exit(0)
more = os.fork()
if more == 0: time.sleep(0.5); os._exit(0)
os.waitpid(children[0], 0); os.waitpid(more, 0)
"""
    result = shared_worker.configure(request_of(body))

    assert (result.failures, result.warnings) == ([], [])


def test_children_that_end_in_time_are_no_damage(shared_worker, request_of):
    body = "import subprocess\nstage.failures.add(subprocess.check_output(['echo', 'x'], text=True).strip())"
    result = shared_worker.configure(request_of(body))

    assert [failure.message for failure in result.failures] == ["x"]
    assert result.warnings == []


def test_children_of_a_started_process_are_found_by_polling(request_of, tmp_path):
    file = tmp_path / "pid"
    body = f"{SUBPROCESS}\n".replace("subprocess.Popen", "child = subprocess.Popen")
    body += f"open({str(file)!r}, 'w').write(str(child.pid))"
    processes = ProcessPool(MEMORY_MB, ProcessLauncher())
    with contextlib.closing(processes):
        result = PluginWorker(60, processes=processes).configure(request_of(body))
        assert "it left a process behind" in result.warnings[0].message
        assert_ends(int(file.read_text()))


@linux
def test_lost_fork_server_is_started_again(shared_worker, request_of):
    check_good(shared_worker, request_of)
    server = shared_worker._processes._launcher._server._process
    server.kill()
    server.wait()

    check_good(shared_worker, request_of)
