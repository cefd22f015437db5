"""Run processes: one for each run, living on when the host does not."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import uuid
from pathlib import Path
from typing import Final

import psutil

from localcdap.engine.order import WorkOrder, write_order
from localcdap.runs.records import ProcessIdentity

OUTPUT_FILE: Final = "process.log"
"""What a run process prints that is not a log line of its spool, in the run's directory."""


class RunProcess:
    """A run process that was started ahead of its order: it loads its libraries meanwhile.

    :param runs: holds one directory for each run.
    """

    def __init__(self, runs: Path) -> None:
        self.run: Final = str(uuid.uuid1())
        """The id of the run that this process will carry out."""
        self.directory: Final = runs / self.run
        self.directory.mkdir(parents=True)
        with (self.directory / OUTPUT_FILE).open("ab") as output:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "localcdap.engine.run", str(self.directory)],
                stdin=subprocess.PIPE,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        self.identity: Final = ProcessIdentity(
            self._process.pid, psutil.Process(self._process.pid).create_time()
        )

    def order(self, order: WorkOrder) -> None:
        """Give the order: the process starts to work and does not need its parent any more."""
        write_order(self.directory, order)

    def cancel(self) -> None:
        """End the process, which has got no order, and remove its directory."""
        import shutil

        self._process.kill()
        self._process.wait()
        shutil.rmtree(self.directory, ignore_errors=True)


def is_alive(process: ProcessIdentity) -> bool:
    """Whether a run process still runs; one that has ended and waits to be reaped does not."""
    with contextlib.suppress(psutil.NoSuchProcess):
        found = psutil.Process(process.pid)
        same = bool(abs(found.create_time() - process.created) < 1.0)
        if same and found.status() == psutil.STATUS_ZOMBIE:
            _reap(process.pid)
            return False
        return same
    return False


def interrupt(process: ProcessIdentity) -> None:
    """Ask a run process to stop."""
    _signal(process, signal.SIGTERM)


def kill(process: ProcessIdentity) -> None:
    """End a run process at once, with everything it started."""
    _signal(process, signal.SIGKILL)


def _signal(process: ProcessIdentity, number: signal.Signals) -> None:
    if is_alive(process):
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, number)


def _reap(pid: int) -> None:
    with contextlib.suppress(ChildProcessError):
        os.waitpid(pid, os.WNOHANG)
