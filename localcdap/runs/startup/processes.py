"""Run processes: one for each run, living on when the host does not; and how many a machine can have."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
import time
import uuid
from pathlib import Path
from typing import IO, Final

from localcdap.engine.local.forks import request_fork
from localcdap.engine.messages.orders import EXIT_FILE, ORDER, SPOOL, WorkOrder, write_order
from localcdap.processes.identity import (
    ProcessIdentity,
    identify,
    is_alive,
    keep_exit_code,
    take_child_exit_code,
)
from localcdap.processes.spawn import PIPE, start_process
from localcdap.processes.tree import end_group

OUTPUT_FILE: Final = "process.log"
"""The file in the run's directory with everything that a run process prints."""
_EXIT_S: Final = 0.3
"""Seconds that the fork server may take to write the exit code of a process that has ended."""
_POLL_S: Final = 0.01


class RunProcess:
    """A run process that was started ahead of its order: it loads its libraries meanwhile.

    :param runs: holds one directory for each run.
    :param engine: directory of the local engine, whose template is forked where there is one.
    :param run: the id of the run, whose directory may exist; by default a new one.
    """

    def __init__(self, runs: Path, engine: Path, run: str | None = None) -> None:
        self.run: Final = run or str(uuid.uuid1())
        """The id of the run that this process will carry out."""
        self.directory: Final = runs / self.run
        self.directory.mkdir(parents=True, exist_ok=True)
        # Its end tells the process that no order will come: it is closed with this object.
        self._input, self._process, pid = _start_process(self.directory, engine)
        self.identity: Final = identify(pid)

    def order(self, order: WorkOrder) -> None:
        """Give the order: the process starts to work and does not need its parent any more."""
        write_order(self.directory, order)
        with contextlib.suppress(OSError):  # it looks for its order by itself, too, or has ended
            os.write(self._input.fileno(), b"\n")

    def cancel(self, *, keeps_directory: bool = False) -> None:
        """End the process, which has got no order, and remove its directory."""
        if self._process is not None:
            kill(self.identity)
            self._process.wait()
        if keeps_directory:
            end_process(self.identity, self.directory, waits=True)
        else:
            remove_process(self.identity, self.directory)
        self._input.close()


def has_order(directory: Path) -> bool:
    """Whether the process of a run got its order, or has begun.

    :param directory: of the run.
    """
    return (directory / ORDER).exists() or (directory / SPOOL).exists()


def end_process(process: ProcessIdentity, directory: Path, *, waits: bool = False) -> None:
    """End a process that has got no order, and wait until it has ended.

    :param directory: of the run, which stays.
    :param waits: whether to wait for the exit code that the fork server writes: it is that of this process,
        not of a later one in the same directory.
    """
    kill(process)
    while is_alive(process):
        time.sleep(_POLL_S)
    take_exit_code(process, directory, waits=waits)


def remove_process(process: ProcessIdentity, directory: Path) -> None:
    """End a process that has got no order, and remove the directory of its run."""
    import shutil

    end_process(process, directory)
    shutil.rmtree(directory, ignore_errors=True)
    deadline = time.monotonic() + _EXIT_S
    while directory.exists() and time.monotonic() < deadline:
        # The fork server has written the exit code while the directory was being removed.
        time.sleep(_POLL_S)
        shutil.rmtree(directory, ignore_errors=True)


def _start_process(
    directory: Path, engine: Path
) -> tuple[IO[bytes], subprocess.Popen[bytes] | None, int]:
    """Start a run process; return its input, its handle unless it was forked, and its process id."""
    with (directory / OUTPUT_FILE).open("ab") as output:
        theirs, ours = os.pipe()
        pid = request_fork(engine, directory, theirs, output.fileno())
        if pid is not None:
            os.close(theirs)
            return os.fdopen(ours, "wb"), None, pid
        # One that was forked but did not tell so sees the end of its input.
        os.close(ours)
        os.close(theirs)
        command = [sys.executable, "-m", "localcdap.engine.run_process", str(directory)]
        process = start_process(command, input=PIPE, output=output)
    assert process.stdin is not None
    keep_exit_code(process)
    return process.stdin, process, process.pid


def kill(process: ProcessIdentity) -> None:
    """End a run process at once, with everything it started in its process group."""
    if is_alive(process):
        end_group(process.pid)


def take_exit_code(process: ProcessIdentity, directory: Path, *, waits: bool = False) -> int | None:
    """Return the exit code of a run process that has ended, and forget it; None when it is not known.

    :param directory: of the run.
    :param waits: whether to wait until the fork server has written it.
    """
    code = take_child_exit_code(process.pid)
    if code is not None:
        return code
    file = directory / EXIT_FILE
    deadline = time.monotonic() + _EXIT_S
    while waits and not file.exists() and time.monotonic() < deadline:
        time.sleep(_POLL_S)
    with contextlib.suppress(OSError, ValueError):
        text = file.read_text()
        file.unlink()
        return int(text)
    return None


_UNITS: Final = {"": 1, "k": 2**10, "m": 2**20, "g": 2**30, "t": 2**40}
_MIB: Final = 2**20
_BASE_MB: Final = 768
"""MiB for the host, the Spark server besides its heap, and the warm process from which run processes are
forked, which takes 130. What they share with it counts there, once."""
_RUN_MB: Final = 256
"""MiB for a run: its process has 40 to 100 of its own, and each of its Python workers 40."""


def count_parallel_runs(engine_memory: str) -> int:
    """Return how many runs this machine can have at once: one for each core, fewer when memory is short.

    :param engine_memory: the heap of the local Spark server, in the form of the JVM.
    """
    import psutil

    return fit_runs(os.cpu_count() or 1, psutil.virtual_memory().total, engine_memory)


def fit_runs(cores: int, memory: int, engine_memory: str) -> int:
    """Return how many runs fit, at least one.

    :param memory: the bytes that the machine has.
    """
    number = engine_memory.rstrip("kKmMgGtT")
    heap = int(number) * _UNITS[engine_memory[len(number) :].lower()]
    free = (memory - heap) // _MIB - _BASE_MB
    return max(1, min(cores, free // _RUN_MB))
