"""The Python processes next to the local Spark server: the fork servers, and Spark's daemons of workers."""

from __future__ import annotations

import contextlib
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Final, Self

import psutil

from localcdap.engine.local.leases import find_oldest_lease
from localcdap.engine.local.server_record import LEASES
from localcdap.engine.local.worker_slots import list_daemons

_AGAIN_S: Final = 30.0
"""Minimum seconds between two starts, for a fork server that cannot live."""
RUN_SERVER: Final = "localcdap.engine.fork_server"
WORKER_SERVER: Final = "localcdap.engine.worker_server"
_DAEMON: Final = "localcdap.engine.local.worker_daemon"
"""The module of a daemon of workers that was not forked."""
_CLOCK_S: Final = 1.0
"""The most that the times of files and of processes may differ, in seconds."""


class ForkServerSupervisor:
    """Starts a fork server, and starts it again when it has exited because its code was outdated.

    :param directory: of the local engine.
    :param module: ``RUN_SERVER`` or ``WORKER_SERVER``.
    :param environment: by default that of this process.
    """

    def __init__(
        self, directory: Path, module: str, environment: Mapping[str, str] | None = None
    ) -> None:
        self._directory: Final = directory
        self._module: Final = module
        self._environment: Final = environment
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
            [sys.executable, "-m", self._module],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            cwd=self._directory,
            env=self._environment,
        )

    @property
    def pid(self) -> int | None:
        """The process id of the fork server; None when it has not been started."""
        return None if self._process is None else self._process.pid


class IdleWorkers:
    """The worker daemons of sessions that are over, up to 75 MB each, which Spark keeps until it stops.

    A daemon belongs to such a session when it had no worker in two checks in a row, is older than every
    lease and does not serve a slot. If a process without a lease still uses the session, Spark starts
    another daemon.

    :param server: process id of the Spark server, which has started the daemons that were not forked.
    :param engine: the directory of the local engine.
    """

    def __init__(self, server: int, engine: Path) -> None:
        self._server: Final = server
        self._engine: Final = engine
        self._idle: set[psutil.Process] = set()

    def end_idle(self, fork_server: int | None = None) -> None:
        """End the daemons that are idle now and were idle at the last call.

        :param fork_server: process id of the fork server of daemons; None when there is none.
        """
        idle = self._find_idle(fork_server)
        for process in idle & self._idle:
            with contextlib.suppress(psutil.Error):
                process.terminate()
        self._idle = idle

    def _find_idle(self, fork_server: int | None) -> set[psutil.Process]:
        since = find_oldest_lease(self._engine / LEASES)
        kept = list_daemons(self._engine)
        idle = set()
        for process in find_daemons(self._server, fork_server):
            with contextlib.suppress(psutil.Error):
                old = since is None or process.create_time() < since - _CLOCK_S
                if old and process.pid not in kept and not process.children():
                    idle.add(process)
        return idle


def find_daemons(server: int, fork_server: int | None) -> set[psutil.Process]:
    """Return the daemons of workers that a Spark server uses, or has used.

    :param fork_server: process id of the fork server of daemons; None when there is none.
    """
    found = set()
    with contextlib.suppress(psutil.Error):
        for process in psutil.Process(server).children():
            with contextlib.suppress(psutil.Error):
                if _DAEMON in process.cmdline():
                    found.add(process)
    if fork_server is not None:
        with contextlib.suppress(psutil.Error):
            found.update(psutil.Process(fork_server).children())
    return found
