"""Starting and ending worker processes: forks of a fork server on Linux, new processes elsewhere.

Either way a worker begins without any change that user code has made to another one. macOS has ``fork``
too, but its system libraries may crash in a forked process that does not execute a program (Python's
``multiprocessing`` does not fork there by default either).
"""

from __future__ import annotations

import logging
import os
import threading
from contextlib import suppress
from typing import TYPE_CHECKING, Final

from localcdap.processes.fork_server import OwnedForkServer
from localcdap.processes.limits import IS_LINUX
from localcdap.processes.spawn import build_main_command, start_process
from localcdap.processes.tree import end_group, end_tree

if TYPE_CHECKING:
    import subprocess

_LOG: Final = logging.getLogger(__name__)
_START_LIMIT_S: Final = 30.0
_FORK_SERVER: Final = "localcdap.sandbox.fork_server"
_WORKER: Final = "localcdap.sandbox.worker"


class ForkingLauncher:
    """Has workers forked by a fork server, which it starts, and starts again when it was lost.

    Threads may share it.
    """

    forks = True
    """Whether a worker can be called at once, because it has loaded its modules already."""

    def __init__(self) -> None:
        self._turn = threading.Lock()
        self._server: OwnedForkServer | None = None
        self._closed = False

    def start(self) -> None:
        """Prepare for :meth:`launch`, which else does it.

        :raises OSError: when no process can be started.
        """
        with self._turn:
            self._get_server()

    def launch(self, connection: int, output: int, memory_mb: int) -> int:
        """Start a worker, and return its process id.

        :param connection: descriptor of the worker's end of the connection; the caller closes its own.
        :param output: descriptor of its standard output and standard error; the caller closes its own.
        :raises OSError: when no process can be started.
        """
        with self._turn:
            server = self._get_server()
            try:
                return _fork_worker(server, connection, output, memory_mb)
            except OSError as error:
                _LOG.info("the fork server of plugin workers is started again: %s", error)
                self._end_server()
            return _fork_worker(self._get_server(), connection, output, memory_mb)

    def end(self, pid: int, descendants: set[int]) -> int | None:
        """End a worker and what it started.

        :param descendants: the processes that it was seen to start; on Linux the others are found too.
        :returns: its exit code, a signal's number negative; None when it is not known.
        """
        with self._turn:
            if self._server is not None and pid in self._server.pids:
                with suppress(OSError):
                    return self._server.end(pid)
        end_group(pid)  # its server is lost, or hangs
        return None

    def close(self) -> None:
        """End all workers."""
        self._closed = True
        server = self._server
        if server is not None and not server.has_forked:
            server.kill()  # it may still load its libraries, and a thread may wait for that
        with self._turn:
            self._end_server()

    def _get_server(self) -> OwnedForkServer:
        if self._closed:
            raise OSError("The plugin worker was closed.")
        if self._server is None:
            self._server = OwnedForkServer(build_main_command(_FORK_SERVER))
        return self._server

    def _end_server(self) -> None:
        server, self._server = self._server, None
        if server is not None:
            server.close()


def _fork_worker(server: OwnedForkServer, connection: int, output: int, memory_mb: int) -> int:
    nothing = os.open(os.devnull, os.O_RDONLY)
    try:
        streams = (nothing, output, output, connection)
        return server.fork(str(memory_mb).encode(), streams, _START_LIMIT_S)
    finally:
        os.close(nothing)


class ProcessLauncher:
    """Starts each worker as a process of its own, in about 0.2 s."""

    forks = False

    def __init__(self) -> None:
        self._workers: dict[int, subprocess.Popen[bytes]] = {}

    def start(self) -> None:
        """See :meth:`ForkingLauncher.start`."""

    def launch(self, connection: int, output: int, memory_mb: int) -> int:
        """See :meth:`ForkingLauncher.launch`."""
        command = build_main_command(_WORKER, connection, memory_mb)
        worker = start_process(command, output=output, descriptors=[connection])
        self._workers[worker.pid] = worker
        return worker.pid

    def end(self, pid: int, descendants: set[int]) -> int | None:
        """See :meth:`ForkingLauncher.end`."""
        worker = self._workers.pop(pid, None)
        return None if worker is None else end_tree(worker, seen=descendants)

    def close(self) -> None:
        """See :meth:`ForkingLauncher.close`."""
        for pid in list(self._workers):
            self.end(pid, set())


WorkerLauncher = ForkingLauncher | ProcessLauncher


def make_launcher() -> WorkerLauncher:
    """Return the launcher for this system."""
    return ForkingLauncher() if IS_LINUX else ProcessLauncher()
