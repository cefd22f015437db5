"""Ends the Python processes that sessions leave behind on the local Spark server."""

from __future__ import annotations

import contextlib
from pathlib import Path
from typing import Final

import psutil

from localcdap.engine.local.leases import oldest

_DAEMON: Final = "pyspark.worker"
"""The argument of the process from which Spark forks the Python workers of a session."""
_CLOCK_S: Final = 1.0
"""By how much the times of files and of processes may differ."""


class IdleWorkers:
    """Spark keeps one process per session, about 75 MB each, until the server stops.

    One that has had no worker for two looks in a row and is older than every lease belongs to a session
    that is over. Should somebody without a lease use it still, Spark starts another.

    :param server: process id.
    :param leases: folder of the leases.
    """

    def __init__(self, server: int, leases: Path) -> None:
        self._server: Final = server
        self._leases: Final = leases
        self._idle: set[psutil.Process] = set()

    def end(self) -> None:
        """Look, and end what was idle the last time too."""
        idle = self._look()
        for process in idle & self._idle:
            with contextlib.suppress(psutil.Error):
                process.terminate()
        self._idle = idle

    def _look(self) -> set[psutil.Process]:
        since = oldest(self._leases)
        idle = set()
        with contextlib.suppress(psutil.Error):
            for process in psutil.Process(self._server).children():
                with contextlib.suppress(psutil.Error):
                    old = since is None or process.create_time() < since - _CLOCK_S
                    if old and _DAEMON in process.cmdline() and not process.children():
                        idle.add(process)
        return idle
