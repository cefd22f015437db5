"""Only ``localcdap.processes`` starts, forks, signals and watches processes."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

from tests.quality.source_tree import REPOSITORY, list_sources, name_of

OS = (
    "fork", "forkpty", "posix_spawn", "posix_spawnp", "setsid", "setpgid", "kill", "killpg", "wait", "wait3",
    "wait4", "waitid", "waitpid", "pidfd_open", "popen", "system",
)  # fmt: skip
FORBIDDEN = {
    **{f"os.{name}": "processes" for name in OS},
    "subprocess.Popen": "processes.spawn.start_process",
    "asyncio.create_subprocess_exec": "processes.spawn.start_piped",
    "asyncio.create_subprocess_shell": "processes.spawn.start_piped",
    "multiprocessing.Process": "processes.spawn.start_process",
    "signal.pidfd_send_signal": "processes.tree",
    "signal.pthread_kill": "processes.tree",
    "faulthandler.register": "processes.output_log",
    "fcntl.flock": "processes.single_instance.open_locked",
}
"""What no other module may call, and what it calls instead."""
METHODS = ("send_signal", "terminate")
"""Methods of processes. Objects of other kinds have a method ``kill`` too, so it is not among them."""
MODULES = ("psutil",)
ALLOWED = {
    ("localcdap/runs/startup/processes.py", "psutil"): "the memory of the machine",
    (
        "localcdap/messaging/consumer.py",
        "fcntl.flock",
    ): "a file with one writer, which is written to",
}
"""Module and name, with the reason why it may use that."""
WORTH_READING = re.compile(
    "|".join({re.escape(name.rpartition(".")[2]) for name in (*FORBIDDEN, *METHODS, *MODULES)})
)


def find_uses(source: str) -> Iterator[str]:
    """Yield the names of ``FORBIDDEN``, ``METHODS`` and ``MODULES`` that a module uses."""
    for node in ast.walk(ast.parse(source)):
        match node:
            case ast.Import(names=names):
                yield from (name.name for name in names if name.name.partition(".")[0] in MODULES)
            case ast.ImportFrom(module=str(module), names=names):
                if module.partition(".")[0] in MODULES:
                    yield module
                qualified = (f"{module}.{name.name}" for name in names)
                yield from (name for name in qualified if name in FORBIDDEN)
            case ast.Call(func=ast.Attribute(value=ast.Name(id=module), attr=name)) if (
                f"{module}.{name}" in FORBIDDEN
            ):
                yield f"{module}.{name}"
            case ast.Call(func=ast.Attribute(attr=name)) if name in METHODS:
                yield name


def list_modules() -> list[Path]:
    own = REPOSITORY / "localcdap" / "processes"
    return [path for path in list_sources("localcdap") if own not in path.parents]


def test_no_other_package_forks_signals_or_watches_a_process():
    used = {
        (name_of(path), name)
        for path in list_modules()
        if WORTH_READING.search(source := path.read_text("utf-8"))
        for name in find_uses(source)
    }

    assert {f"{path}: {name}" for path, name in used - ALLOWED.keys()} == set()
    assert ALLOWED.keys() - used == set(), "exceptions that are not needed any more"


def test_the_check_notices_all_ways():
    source = """
import psutil
from os import fork, path
from subprocess import Popen as start
import os, subprocess

def stop(process):
    os.killpg(process.pid, 9)
    process.terminate()
    subprocess.Popen(["true"])
    subprocess.run(["true"])
    os.getpid()
"""
    assert sorted(find_uses(source)) == [
        "os.fork", "os.killpg", "psutil", "subprocess.Popen", "subprocess.Popen", "terminate",
    ]  # fmt: skip
