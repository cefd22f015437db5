"""Starting and ending worker processes: forks of a fork server on Linux, new processes elsewhere.

Either way a worker begins without any change that user code has made to another one. macOS has ``fork``
too, but its system libraries may crash in a forked process that does not execute a program (Python's
``multiprocessing`` does not fork there by default either).
"""

from __future__ import annotations

import logging
import socket
import subprocess
import sys
import threading
from contextlib import suppress
from multiprocessing.connection import Pipe
from pathlib import Path
from typing import Final, Protocol

from localcdap.api.errors import LocalcdapError
from localcdap.processes.limits import IS_LINUX
from localcdap.processes.tree import end_group, list_descendants
from localcdap.processes.umask import read_user_umask
from localcdap.rpc.methods import make_proxy
from localcdap.rpc.peer import Caller
from localcdap.sandbox.fork_server import FORK_SERVICE, WorkerForkService

_LOG: Final = logging.getLogger(__name__)
_START_LIMIT_S: Final = 30.0
_END_LIMIT_S: Final = 15.0
# The process must run the same localcdap package as this one. The package's folder is removed from the path
# again, because its other modules could hide those of the standard library.
_MAIN: Final = (
    "import sys; sys.path.insert(0, sys.argv.pop(1)); import localcdap; del sys.path[0]; "
    "from localcdap.sandbox.{module} import main; main(sys.argv[1:])"
)


class WorkerLauncher(Protocol):
    """Starts and ends worker processes. Threads may share it."""

    forks: bool
    """Whether a worker can be called at once, because it has loaded its modules already."""

    def start(self) -> None:
        """Prepare for :meth:`launch`, which else does it.

        :raises OSError: when no process can be started.
        """

    def launch(self, connection: int, output: int, memory_mb: int) -> int:
        """Start a worker, and return its process id.

        :param connection: descriptor of the worker's end of the connection; the caller closes its own.
        :param output: descriptor of its standard output and standard error; the caller closes its own.
        :raises OSError: when no process can be started.
        """

    def end(self, pid: int, descendants: set[int]) -> int | None:
        """End a worker and what it started.

        :param descendants: the processes that it was seen to start; on Linux the others are found too.
        :returns: its exit code, a signal's number negative; None when it is not known.
        """

    def close(self) -> None:
        """End all workers."""


def make_launcher() -> WorkerLauncher:
    """Return the launcher for this system."""
    return ForkingLauncher() if IS_LINUX else ProcessLauncher()


class ForkingLauncher:
    """Has workers forked by a fork server, which it starts, and starts again when it was lost."""

    forks = True

    def __init__(self) -> None:
        self._turn = threading.Lock()
        self._server: _ForkServer | None = None
        self._closed = False

    def start(self) -> None:
        """See :meth:`WorkerLauncher.start`."""
        with self._turn:
            self._get_server()

    def launch(self, connection: int, output: int, memory_mb: int) -> int:
        """See :meth:`WorkerLauncher.launch`."""
        with self._turn:
            try:
                return self._get_server().fork(connection, output, memory_mb)
            except (LocalcdapError, TimeoutError) as error:
                _LOG.info("the fork server of plugin workers is started again: %s", error)
                self._end_server()
            try:
                return self._get_server().fork(connection, output, memory_mb)
            except (LocalcdapError, TimeoutError) as error:
                raise OSError(str(error)) from error

    def end(self, pid: int, descendants: set[int]) -> int | None:
        """See :meth:`WorkerLauncher.end`."""
        with self._turn:
            if self._server is not None and pid in self._server.workers:
                with suppress(LocalcdapError, TimeoutError):
                    return self._server.end(pid)
        end_group(pid)  # its server is lost, or hangs
        return None

    def close(self) -> None:
        """See :meth:`WorkerLauncher.close`."""
        self._closed = True
        server = self._server
        if server is not None and not server.has_forked:
            server.kill()  # it may still load its libraries, and a thread may wait for that
        with self._turn:
            self._end_server()

    def _get_server(self) -> _ForkServer:
        if self._closed:
            raise OSError("The plugin worker was closed.")
        if self._server is None:
            self._server = _ForkServer()
        return self._server

    def _end_server(self) -> None:
        server, self._server = self._server, None
        if server is not None:
            server.close()


class _ForkServer:
    """The host's side of :mod:`localcdap.sandbox.fork_server`. One thread calls at a time."""

    def __init__(self) -> None:
        self.workers: set[int] = set()
        self.has_forked = False
        mine, theirs = Pipe()
        self._channel, their_channel = socket.socketpair()
        with theirs, their_channel:
            descriptors = [theirs.fileno(), their_channel.fileno()]
            self._popen = subprocess.Popen(
                _build_command("fork_server", *descriptors),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                pass_fds=descriptors,
                start_new_session=True,
                umask=read_user_umask(),
            )
        self._caller = Caller(mine, "the fork server of plugin workers")

    def fork(self, connection: int, output: int, memory_mb: int) -> int:
        with suppress(OSError):  # the call reports that the server is lost
            socket.send_fds(self._channel, [b"."], [connection, output])
        pid = self._get_service(_START_LIMIT_S).fork(memory_mb)
        self.workers.add(pid)
        self.has_forked = True
        return pid

    def end(self, pid: int) -> int:
        self.workers.discard(pid)
        return self._get_service(_END_LIMIT_S).end(pid)

    def close(self) -> None:
        """Close the connection, upon which the server ends all workers, and wait for that."""
        self._caller.close()
        self._channel.close()
        if not self.has_forked:
            self._popen.kill()
        with suppress(subprocess.TimeoutExpired):
            self._popen.wait(_END_LIMIT_S)
            return
        self._popen.kill()
        self._popen.wait()

    def kill(self) -> None:
        """End the server, which has not forked anything."""
        self._popen.kill()

    def _get_service(self, limit_s: float) -> WorkerForkService:
        return make_proxy(self._caller, FORK_SERVICE, WorkerForkService, limit_s)


class ProcessLauncher:
    """Starts each worker as a process of its own, in about 0.2 s."""

    forks = False

    def __init__(self) -> None:
        self._workers: dict[int, subprocess.Popen[bytes]] = {}

    def start(self) -> None:
        """See :meth:`WorkerLauncher.start`."""

    def launch(self, connection: int, output: int, memory_mb: int) -> int:
        """See :meth:`WorkerLauncher.launch`."""
        popen = subprocess.Popen(
            _build_command("worker", connection, memory_mb),
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            pass_fds=[connection],
            start_new_session=True,
            umask=read_user_umask(),
        )
        self._workers[popen.pid] = popen
        return popen.pid

    def end(self, pid: int, descendants: set[int]) -> int | None:
        """See :meth:`WorkerLauncher.end`."""
        popen = self._workers.pop(pid, None)
        if popen is None:
            return None
        for each in {*descendants, *list_descendants(pid), pid}:
            end_group(each)
        return popen.wait()

    def close(self) -> None:
        """See :meth:`WorkerLauncher.close`."""
        for pid in list(self._workers):
            self.end(pid, set())


def _build_command(module: str, *arguments: int) -> list[str]:
    package_parent = Path(__file__).parents[2]
    main = _MAIN.format(module=module)
    return [sys.executable, "-P", "-c", main, str(package_parent), *map(str, arguments)]
