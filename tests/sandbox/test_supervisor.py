"""The worker as its owner sees it: started, remembered, shared, replaced, ended."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from localcdap.api.errors import HostLostError
from localcdap.api.locations import Locations
from localcdap.api.schema import Schema
from localcdap.sandbox.pool import PluginWorker
from tests.sandbox.test_hostile import TRAPS, assert_ends

REPOSITORY = Path(__file__).resolve().parents[2]
COUNTED = "with open({file!r}, 'a') as file: file.write('x')"
HERE = Locations({}, "/")
SCHEMA = Schema.parse_record(
    '{"type": "record", "name": "r", "fields": [{"name": "a", "type": "string"}]}'
)


@pytest.fixture
def worker():
    worker = PluginWorker(time_limit_s=100, memory_mb=1024)
    with contextlib.closing(worker):
        yield worker


def test_schemas_cross_and_come_back(worker, request_of):
    body = "stage.output_schema = stage.input_schema"

    result = worker.configure(request_of(body, input_schemas={"a": None, "b": SCHEMA}))

    assert result.output_schema == SCHEMA


def test_same_request_is_answered_from_memory(worker, request_of, tmp_path):
    calls = tmp_path / "calls"
    body = COUNTED.format(file=str(calls))
    for _ in range(3):
        worker.configure(request_of(body, input_schemas={"a": SCHEMA}))
    assert calls.read_text() == "x"

    worker.configure(request_of(body, input_schemas={"b": SCHEMA}))
    worker.configure(request_of(body, input_schemas={"a": None}))
    worker.configure(request_of(body, input_schemas={"a": SCHEMA}, properties={"column": "z"}))
    worker.configure(request_of(body, input_schemas={"a": SCHEMA}, macros=["secret"]))
    worker.configure(request_of(body, input_schemas={"a": SCHEMA}, output_ports=["p"]))
    assert calls.read_text() == "x" * 6


def test_connected_checks_are_made_every_time(worker, request_of, tmp_path):
    calls = tmp_path / "calls"
    for _ in range(2):
        worker.configure(request_of(COUNTED.format(file=str(calls)), locations=HERE))

    assert calls.read_text() == "xx"


def test_threads_share_it(worker, request_of):
    requests = [request_of(f"stage.failures.add('{i}')", name=f"t{i}") for i in range(20)]
    with ThreadPoolExecutor(8) as pool:
        results = list(pool.map(worker.configure, requests))

    assert [r.failures[0].message for r in results] == [str(i) for i in range(20)]


def test_started_ahead(worker, request_of):
    worker.start()

    assert worker.configure(request_of()).failures == []


def test_killed_from_outside_while_idle(worker, request_of):
    pid = pid_of(worker, request_of)
    os.kill(pid, signal.SIGKILL)
    assert_ends(pid)

    assert pid_of(worker, request_of) != pid


KILLED_ONCE = """
if not os.path.exists({file!r}):
    open({file!r}, "w").close()
    os.kill({process}, 9)
    time.sleep(60)
"""


@pytest.mark.parametrize("process", ["os.getpid()", "os.getppid()"])
def test_killed_from_outside_in_a_call_that_another_process_repeats(
    worker, request_of, tmp_path, process
):
    """As by a system without memory; the parent is the server that has forked it."""
    once = KILLED_ONCE.format(file=str(tmp_path / "killed"), process=process)

    assert worker.configure(request_of(once)).failures == []

    request = request_of(at_import=KILLED_ONCE.format(file=str(tmp_path / "too"), process=process))
    (found,) = worker.inspect(request.plugin.path, request.plugin.digest).plugins
    assert found.name == "P"


def test_a_plugin_that_is_killed_each_time_is_one_failure(worker, request_of):
    (failure,) = worker.configure(request_of("os.kill(os.getpid(), 9)")).failures

    assert "Plugin 'P' of stage 'stage 1' lost its process, which was killed" in failure.message
    assert "too little memory" in failure.corrective_action


DAMAGING = ("modules", "api modules", "streams", "builtins", "thread", "raw thread", "timer")
HARMLESS = ("prints", "stream objects", "directory", "path", "environment", "exit handler")


def body_with(trap: str) -> str:
    """A plugin that falls for the trap when its property says so, and else returns its process."""
    return (
        f"if self.config.column == 'trap':\n    {TRAPS[trap]}\n    return\n"
        "stage.failures.add(str(os.getpid()))"
    )


@pytest.mark.parametrize("trap", DAMAGING)
def test_damaged_process_is_replaced_before_anything_else_runs_in_it(worker, request_of, trap):
    body = body_with(trap)
    pid = pid_of(worker, request_of, body)
    worker.configure(request_of(body, properties={"column": "trap"}))

    assert pid_of(worker, request_of, body) != pid
    assert_ends(pid)


@pytest.mark.parametrize("trap", HARMLESS)
def test_process_that_can_be_put_right_is_kept(worker, request_of, trap):
    body = body_with(trap)
    pid = pid_of(worker, request_of, body)
    worker.configure(request_of(body, properties={"column": "trap"}))

    assert pid_of(worker, request_of, body) == pid


def test_path_environment_and_directory_are_restored(worker, request_of):
    change = (
        "sys.path.clear()\n    os.environ['LOCALCDAP_TRAP'] = '1'\n    os.chdir('/')\n    return"
    )
    body = f"if self.config.column == 'change':\n    {change}\n"
    body += "stage.failures.add(str([sys.path, sorted(os.environ.items()), os.getcwd()]))"
    before = worker.configure(request_of(body, locations=HERE)).failures[0].message
    assert worker.configure(request_of(body, properties={"column": "change"})).failures == []

    assert worker.configure(request_of(body, locations=HERE)).failures[0].message == before


def test_closing_ends_a_call_and_the_process(worker, request_of, tmp_path):
    begun = tmp_path / "begun"
    slow = request_of(f"open({str(begun)!r}, 'w').close()\ntime.sleep(100)", name="slow")
    pid = pid_of(worker, request_of)
    results = []
    call = threading.Thread(target=lambda: results.append(worker.configure(slow)))
    call.start()
    while not begun.exists():
        time.sleep(0.01)
    worker.close()
    call.join(60)

    assert [f.message for f in results[0].failures] == ["The plugin worker was closed."]
    assert_ends(pid)
    with pytest.raises(HostLostError, match="closed"):
        worker.inspect("/nowhere.py", "0" * 64)


@pytest.mark.parametrize("body", ["pass", "while True: pass"])
def test_worker_dies_with_a_killed_supervisor(request_of, tmp_path, body):
    pid_file = tmp_path / "pid"
    request = request_of(f"open({str(pid_file)!r}, 'w').write(str(os.getpid()))\n{body}")
    (tmp_path / "request").write_bytes(packed(request))
    program = (
        "import sys, pathlib, time\n"
        "from localcdap.api.serialization.value_types import unpack\n"
        "from localcdap.sandbox.stage_configuration import ConfigureRequest\n"
        "from localcdap.sandbox.pool import PluginWorker\n"
        "request = unpack(pathlib.Path(sys.argv[1]).read_bytes(), ConfigureRequest)\n"
        "PluginWorker(100, 512).configure(request); time.sleep(100)"
    )
    command = [sys.executable, "-c", program, str(tmp_path / "request")]
    owner = subprocess.Popen(command, cwd=REPOSITORY)
    while not pid_file.exists() or not pid_file.read_text():
        assert owner.poll() is None
        time.sleep(0.02)
    owner.kill()
    owner.wait()

    assert_ends(int(pid_file.read_text()))


def test_caller_thread_may_end_before_the_worker(worker, request_of):
    pids = []
    first = threading.Thread(target=lambda: pids.append(pid_of(worker, request_of)))
    first.start()
    first.join()
    time.sleep(0.2)

    assert pid_of(worker, request_of) == pids[0]


@pytest.mark.parametrize("module", ["pyarrow", "pandas", "py_mini_racer"])
def test_big_libraries_fit_into_the_memory_limit(worker, request_of, module):
    use = "\npy_mini_racer.MiniRacer().eval('1 + 1')" if module == "py_mini_racer" else ""

    assert worker.configure(request_of(f"import {module}{use}")).failures == []
    assert worker.configure(request_of("stage.failures.add('next')", name="next")).failures


def pid_of(worker, request_of, body: str = "stage.failures.add(str(os.getpid()))") -> int:
    request = request_of(body, locations=HERE)
    return int(worker.configure(request).failures[0].message)


def packed(request) -> bytes:
    from localcdap.api.serialization.value_types import pack

    return pack(request)
