"""How processes are started: streams, umask, session, limits, and starting one again."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from localcdap.processes import spawn
from localcdap.processes.identity import is_running
from localcdap.processes.limits import IS_LINUX, read_user_umask
from localcdap.processes.spawn import (
    PIPE,
    RestartedProcess,
    build_main_command,
    end_piped,
    start_piped,
    start_process,
)

PRIVATE = """
import os, subprocess
from localcdap.processes.spawn import PIPE, start_process
from localcdap.processes.limits import protect_new_files

os.umask(0o027)
protect_new_files()
child = start_process(["sh", "-c", "umask"], output=PIPE)
print(child.communicate()[0].decode().strip(), oct(os.umask(0)))
"""


def wait_until(holds: Callable[[], object]) -> None:
    deadline = time.monotonic() + 60
    while not holds():
        assert time.monotonic() < deadline
        time.sleep(0.01)


def test_a_process_has_nothing_to_read_and_a_session_of_its_own():
    script = "import os, sys; print(repr(sys.stdin.read()), os.getsid(0) == os.getpid())"
    child = start_process([sys.executable, "-c", script], output=PIPE)

    assert child.communicate()[0] == b"'' True\n"


def test_its_errors_go_where_its_output_goes(tmp_path: Path):
    with (tmp_path / "output").open("wb") as output:
        child = start_process(["sh", "-c", "echo 1; echo 2 >&2"], output=output)
        assert child.wait() == 0

    assert (tmp_path / "output").read_text() == "1\n2\n"


def test_it_gets_the_umask_of_the_user_from_a_process_whose_files_are_private():
    done = subprocess.run(
        [sys.executable, "-c", PRIVATE], capture_output=True, text=True, check=True
    )

    assert done.stdout == "0027 0o77\n"


def test_a_descriptor_environment_and_directory_are_handed_down(tmp_path: Path):
    reads, writes = os.pipe()
    child = start_process(
        ["/bin/sh", "-c", f"echo $WORD $PWD > /dev/fd/{writes}"],
        descriptors=[writes],
        environment={"WORD": "given"},
        directory=tmp_path,
    )
    os.close(writes)

    with os.fdopen(reads) as pipe:
        assert pipe.read() == f"given {tmp_path}\n"
    assert child.wait() == 0


def test_the_main_function_of_a_module_gets_its_arguments_and_no_module_of_the_working_directory(
    tmp_path: Path,
):
    (tmp_path / "json.py").write_text("raise SystemExit('not the library')")
    command = build_main_command("localcdap.sandbox.worker", "no number", 1)
    child = start_process(command, output=PIPE, directory=tmp_path)

    output = child.communicate()[0].decode()
    assert "ValueError: invalid literal for int() with base 10: 'no number'" in output


@pytest.mark.skipif(not IS_LINUX, reason="Only Linux signals the end of the parent.")
def test_it_ends_with_its_parent_if_asked_to():
    script = (
        "import sys, time; from localcdap.processes.spawn import start_process\n"
        "print(start_process(['sleep', '600'], ends_with_parent=True, low_priority=True).pid)\n"
        "sys.stdout.flush(); time.sleep(600)"
    )
    parent = subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE)
    assert parent.stdout is not None
    pid = int(parent.stdout.readline())
    assert os.getpriority(os.PRIO_PROCESS, pid) == 19

    parent.kill()
    parent.wait()

    wait_until(lambda: not is_running(pid))


def test_a_process_that_has_ended_is_started_again_but_not_at_once(monkeypatch):
    children: list[subprocess.Popen[bytes]] = []

    def start() -> subprocess.Popen[bytes]:
        children.append(start_process(["sleep", "600"]))
        return children[-1]

    with RestartedProcess(start) as process:
        assert process.pid is None
        process.ensure_running()
        process.ensure_running()
        assert [child.pid for child in children] == [process.pid]
        children[0].kill()
        children[0].wait()
        process.ensure_running()
        assert len(children) == 1
        monkeypatch.setattr(spawn, "_AGAIN_S", 0.0)
        process.ensure_running()
        assert [child.pid for child in children][1:] == [process.pid]
    assert children[1].returncode == -signal.SIGKILL


@pytest.mark.parametrize(
    ("trap", "code"), [("", -signal.SIGHUP), ("trap '' HUP;", -signal.SIGKILL)]
)
def test_a_process_with_pipes_is_asked_to_end_and_then_killed(trap, code):
    async def run() -> int | None:
        process = await start_piped(
            ["sh", "-c", f"{trap} umask; read line; exec sleep 600"], dict(os.environ)
        )
        assert process.stdout is not None
        assert int(await process.stdout.readline(), 8) == read_user_umask()
        await end_piped(process, signal.SIGHUP, 60 if not trap else 0.01)
        return await process.wait()

    assert asyncio.run(run()) == code
