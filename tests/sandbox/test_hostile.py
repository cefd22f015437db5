"""Artifacts that do their worst. One failure on their stage, and the next one works."""

from __future__ import annotations

import contextlib
import json
import os
import time

import psutil
import pytest

from localcdap.api.errors import PluginError
from localcdap.artifacts.directories.contents import compute_digest
from tests.artifacts.authoring import source, write
from tests.sandbox.conftest import MEMORY_MB, TIME_LIMIT_S

ENDLESS_REGEX = "re.match(r'(a+)+$', 'a' * 60 + 'b')"
BOMB = "x = []\nwhile True: x.append(bytearray(10_000_000))"
DEATHS = {
    "exit": ("os._exit(3)", "ended its process with exit code 3."),
    "quiet exit": ("os._exit(0)", "ended its process with exit code 0."),
    "segfault": ("ctypes.string_at(1)", "crashed its process: Segmentation fault."),
    "abort": ("os.abort()", "crashed its process: Aborted."),
    "endless loop": ("while True: pass", f"did not finish within {TIME_LIMIT_S:g} s."),
    "endless regex": (ENDLESS_REGEX, f"did not finish within {TIME_LIMIT_S:g} s."),
    "sleep": ("time.sleep(1000)", f"did not finish within {TIME_LIMIT_S:g} s."),
    "memory bomb": (BOMB, f"took more than {MEMORY_MB} MiB of memory."),
    "one huge list": ("[0] * 10**12", f"took more than {MEMORY_MB} MiB of memory."),
    "closed descriptors": ("os.closerange(3, 1000)", "P' of stage 'stage 1' "),
    "interrupt": ("raise KeyboardInterrupt", "P' of stage 'stage 1' "),
}
HANGING = ("endless loop", "endless regex", "sleep")
TRAPS = {
    "prints": "print('x' * 10_000_000); os.write(1, b'\\xff\\x00' * 100_000)",
    "reads": "print(repr(sys.stdin.read()))",
    "modules": "sys.modules.clear()",
    "api modules": "[sys.modules.pop(m) for m in list(sys.modules) if 'localcdap' in m]",
    "streams": "os.close(0); os.close(1); os.close(2)",
    "stream objects": "sys.stdout = sys.stderr = None",
    "builtins": "import builtins; builtins.len = builtins.isinstance = builtins.any = None",
    "thread": "threading.Thread(target=lambda: time.sleep(100)).start()",
    "raw thread": "import _thread; _thread.start_new_thread(time.sleep, (100,))",
    "subreaper": "ctypes.CDLL(None).prctl(36, 0)",
    "timer": "threading.Timer(0.3, os._exit, (9,)).start()",
    "directory": "os.chdir('/tmp')",
    "removed directory": "d='/tmp/no-%d' % os.getpid(); os.mkdir(d); os.chdir(d); os.rmdir(d)",
    "path": "sys.path.clear()",
    "environment": "os.environ.clear()",
    "fork": "os.fork()",
    "exit handler": "import atexit; atexit.register(time.sleep, 1000)",
    "recursion limit": "sys.setrecursionlimit(20_000)",
}


def check_good(worker, request_of):
    """Another artifact is inspected and configured as if nothing had been."""
    good = request_of("stage.failures.add(str(len([1, 2])))", name=f"good{time.time_ns()}")
    assert [f.message for f in worker.configure(good).failures] == ["2"]
    path = good.plugin.path
    assert [p.name for p in worker.inspect(path, good.plugin.digest).plugins] == ["P"]


@pytest.mark.parametrize("death", DEATHS)
def test_death_in_configure_is_one_failure(shared_worker, hurried, request_of, death):
    body, reported = DEATHS[death]

    with hurried() if death in HANGING else contextlib.nullcontext():
        (failure,) = shared_worker.configure(request_of(body)).failures

    assert failure.stage == "stage 1"
    assert failure.message.startswith("Plugin 'P' of stage 'stage 1' ")
    assert reported in failure.message
    assert failure.corrective_action
    if death in (*HANGING, "segfault"):
        (cause,) = failure.causes
        frames = json.loads(cause.attributes["stacktrace"])
        assert frames[-1].startswith("thing-1.0.0.py:")
        assert frames[-1].endswith("in configure")
    check_good(shared_worker, request_of)


@pytest.mark.slow
@pytest.mark.parametrize("death", ["exit", "segfault", "endless loop", "memory bomb"])
def test_death_at_import_is_one_error(shared_worker, hurried, request_of, death):
    body, reported = DEATHS[death]
    plugin = request_of(at_import=f"{body}\n").plugin

    with (
        hurried() if death in HANGING else contextlib.nullcontext(),
        pytest.raises(PluginError) as caught,
    ):
        shared_worker.inspect(plugin.path, plugin.digest)

    assert caught.value.message == f"thing-1.0.0.py: its code {reported}"
    check_good(shared_worker, request_of)


@pytest.mark.parametrize("trap", TRAPS)
def test_trap_hurts_nobody(shared_worker, request_of, trap):
    request = request_of(TRAPS[trap])

    assert len(shared_worker.configure(request).failures) <= 1
    check_good(shared_worker, request_of)
    time.sleep(0.4 if trap == "timer" else 0)
    check_good(shared_worker, request_of)


@pytest.mark.parametrize("trap", TRAPS)
def test_trap_at_import_hurts_nobody(shared_worker, request_of, trap):
    plugin = request_of(at_import=f"{TRAPS[trap]}\n").plugin

    with contextlib.suppress(PluginError):
        assert len(shared_worker.inspect(plugin.path, plugin.digest).errors) <= 1
    check_good(shared_worker, request_of)


@pytest.mark.parametrize(
    ("text", "reported"),
    [
        ("1/0", "x-1.0.py:1: ZeroDivisionError: division by zero"),
        ("def f(:", "x-1.0.py:1: SyntaxError: invalid syntax"),
        ("import nowhere_to_be_found", "Install it: pip install nowhere_to_be_found"),
    ],
)
def test_ordinary_mistakes_are_errors_of_the_inspection(shared_worker, tmp_path, text, reported):
    path = write(tmp_path / "x-1.0.py", text)

    (error,) = shared_worker.inspect(str(path), compute_digest(path)).errors

    assert reported in error


def test_children_of_a_plugin_end_with_it(shared_worker, hurried, request_of, tmp_path):
    pid_file = tmp_path / "pid"
    body = (
        "import subprocess\n"
        f"open({str(pid_file)!r}, 'w').write(str(subprocess.Popen(['sleep', '1000']).pid))\n"
        "while True: pass"
    )

    with hurried():
        assert len(shared_worker.configure(request_of(body)).failures) == 1

    assert_ends(int(pid_file.read_text()))


def test_plugin_of_another_artifact_does_not_pay(shared_worker, request_of):
    """A mine that the first artifact lays goes off in the process of the second one."""
    mine = "import localcdap.api.config as c; c.PluginConfig.build = classmethod(lambda *a: os._exit(5))"
    shared_worker.configure(request_of(mine, name="layer"))

    check_good(shared_worker, request_of)


def test_memory_that_others_hold_does_not_count(shared_worker, request_of):
    hoard = "import builtins, localcdap; localcdap.hoard = bytearray(170_000_000)"
    assert shared_worker.configure(request_of(hoard, name="hoarder")).failures == []

    needs = request_of("x = bytearray(130_000_000)", name="needs")

    assert shared_worker.configure(needs).failures == []


def test_source_with_plugins_is_still_found(shared_worker, tmp_path):
    path = write(tmp_path / "hasher-1.0.py", source())

    assert [p.name for p in shared_worker.inspect(str(path), compute_digest(path)).plugins] == [
        "Hasher"
    ]


def assert_ends(pid: int) -> None:
    until = time.monotonic() + 60
    while time.monotonic() < until:
        try:
            if psutil.Process(pid).status() == psutil.STATUS_ZOMBIE:
                return
        except psutil.NoSuchProcess:
            return
        time.sleep(0.01)
    os.kill(pid, 9)
    pytest.fail(f"process {pid} was left behind")
