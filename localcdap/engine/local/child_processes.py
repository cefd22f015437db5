"""The Python processes next to the local Spark server: the fork server of runs, and Spark's daemons of
workers.
"""

from __future__ import annotations

import contextlib
import subprocess
import sys
import time
from pathlib import Path
from typing import Final, Self

import psutil

from localcdap.engine.local.leases import find_oldest_lease

_AGAIN_S: Final = 30.0
"""Minimum seconds between two starts, for a fork server that cannot live."""
_DAEMON: Final = "pyspark.worker"
"""The argument of the process from which Spark forks the Python workers of a session."""
_CLOCK_S: Final = 1.0
"""The most that the times of files and of processes may differ, in seconds."""


class ForkServerSupervisor:
    """Starts the fork server, and starts it again when it has exited because its code was outdated.

    :param directory: of the local engine.
    """

    def __init__(self, directory: Path) -> None:
        self._directory: Final = directory
        self._process: subprocess.Popen[bytes] | None = None
        self._started = 0.0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        """End the fork server; run processes go on."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()

    def ensure_running(self) -> None:
        """Start the fork server unless it runs."""
        now = time.monotonic()
        if self._process is not None and (
            self._process.poll() is None or now - self._started < _AGAIN_S
        ):
            return
        self._started = now
        self._process = subprocess.Popen(
            [sys.executable, "-m", "localcdap.engine.fork_server"],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            cwd=self._directory,
        )


class IdleWorkers:
    """The worker daemons of sessions that are over, about 75 MB each, which Spark keeps until the server
    stops.

    A daemon belongs to such a session when it had no worker in two checks in a row and is older than every
    lease. If a process without a lease still uses the session, Spark starts another daemon.

    :param server: process id.
    :param leases: folder of the leases.
    """

    def __init__(self, server: int, leases: Path) -> None:
        self._server: Final = server
        self._leases: Final = leases
        self._idle: set[psutil.Process] = set()

    def end_idle(self) -> None:
        """End the daemons that are idle now and were idle at the last call."""
        idle = self._find_idle()
        for process in idle & self._idle:
            with contextlib.suppress(psutil.Error):
                process.terminate()
        self._idle = idle

    def _find_idle(self) -> set[psutil.Process]:
        since = find_oldest_lease(self._leases)
        idle = set()
        with contextlib.suppress(psutil.Error):
            for process in psutil.Process(self._server).children():
                with contextlib.suppress(psutil.Error):
                    old = since is None or process.create_time() < since - _CLOCK_S
                    if old and _DAEMON in process.cmdline() and not process.children():
                        idle.add(process)
        return idle
