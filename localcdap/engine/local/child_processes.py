"""The Python processes next to the local Spark server: the fork servers, and Spark's daemons of workers."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from localcdap.engine.local.server import LEASES
from localcdap.engine.local.worker_slots import list_daemons
from localcdap.processes.identity import ProcessIdentity, read_command
from localcdap.processes.leases import find_oldest_lease
from localcdap.processes.spawn import RestartedProcess, start_process
from localcdap.processes.tree import interrupt, list_children

RUN_SERVER: Final = "localcdap.engine.fork_server"
WORKER_SERVER: Final = "localcdap.engine.worker_server"
_DAEMON: Final = "localcdap.engine.local.worker_daemon"
"""The module of a daemon of workers that was not forked."""
_STANDARD_ERROR: Final = 2
_CLOCK_S: Final = 1.0
"""The most that the times of files and of processes may differ, in seconds."""


def keep_fork_server(
    directory: Path, module: str, environment: Mapping[str, str] | None = None
) -> RestartedProcess:
    """Return a fork server that is started again when it has exited because its code was outdated. Run
    processes go on when it is ended.

    :param directory: of the local engine.
    :param module: ``RUN_SERVER`` or ``WORKER_SERVER``.
    :param environment: by default that of this process.
    """
    return RestartedProcess(
        lambda: start_process(
            [sys.executable, "-m", module],
            errors=_STANDARD_ERROR,
            directory=directory,
            environment=environment,
            new_session=False,
        )
    )


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
        self._idle: set[ProcessIdentity] = set()

    def end_idle(self, fork_server: int | None = None) -> None:
        """End the daemons that are idle now and were idle at the last call.

        :param fork_server: process id of the fork server of daemons; None when there is none.
        """
        idle = self._find_idle(fork_server)
        for process in idle & self._idle:
            interrupt(process, group=False)
        self._idle = idle

    def _find_idle(self, fork_server: int | None) -> set[ProcessIdentity]:
        since = find_oldest_lease(self._engine / LEASES)
        kept = list_daemons(self._engine)
        idle = set()
        for process in find_daemons(self._server, fork_server):
            old = since is None or process.created < since - _CLOCK_S
            if old and process.pid not in kept and not list_children(process.pid):
                idle.add(process)
        return idle


def find_daemons(server: int, fork_server: int | None) -> set[ProcessIdentity]:
    """Return the daemons of workers that a Spark server uses, or has used.

    :param fork_server: process id of the fork server of daemons; None when there is none.
    """
    started = {child for child in list_children(server) if _DAEMON in read_command(child.pid)}
    return started if fork_server is None else {*started, *list_children(fork_server)}
