"""The fork server: the process from which run processes are forked, with everything imported except plugins.

``python -m localcdap.engine.fork_server`` is started by the supervisor of the local Spark server, in the
engine's directory, and ends with it. Imports are most of the start time of a run.
"""

from __future__ import annotations

import contextlib
import gc
import os
import signal
import socket
import sys
import time
from pathlib import Path
from typing import Final

import msgspec

from localcdap.engine.exit_codes import EXIT_FILE, REPORTED
from localcdap.engine.local.fork_protocol import (
    SOCKET,
    TIMEOUT_S,
    ForkReply,
    ForkRequest,
    describe_origin,
    receive_request,
    send_reply,
)
from localcdap.processes.limits import end_with_parent

_BACKLOG: Final = 16


class LoadedCode:
    """The files from which this process has loaded modules, and their state at that time."""

    def __init__(self, began: float) -> None:
        """Record the state of the files.

        :param began: a time before the first module was loaded, in seconds since 1970.
        """
        self._files: Final = {file: _read_state(file) for file in _list_loaded_files()}
        times = (state[0] for state in self._files.values() if state is not None)
        self._is_certain: Final = max(times, default=0) < began * 1e9

    @property
    def is_current(self) -> bool:
        """Whether a new process would load the same code: no file was edited, replaced or removed."""
        return self._is_certain and all(_read_state(f) == s for f, s in self._files.items())


class ForkServer:
    """Serves requests to fork.

    :param origin: see :func:`describe_origin`; of this process as it was started.
    """

    def __init__(self, listener: socket.socket, code: LoadedCode, origin: list[str]) -> None:
        self._listener: Final = listener
        self._code: Final = code
        self._origin: Final = origin
        self._directories: Final[dict[int, bytes]] = {}
        """The run directory of each forked run process."""
        signal.signal(signal.SIGCHLD, lambda *_: self._take_ended())

    def serve(self) -> ForkRequest | None:
        """Wait for requests and fork.

        :returns: in each forked process the request; in this process None, when its code is outdated.
        """
        while self._code.is_current:
            connection, _ = self._listener.accept()
            with connection, contextlib.suppress(OSError, EOFError, msgspec.DecodeError):
                connection.settimeout(TIMEOUT_S)
                request, descriptors = receive_request(connection)
                try:
                    if self._can_serve(request) and not self._fork(request):
                        self._listener.close()
                        self._begin(request, connection, descriptors)
                        return request
                finally:
                    for each in descriptors:
                        os.close(each)
        return None

    @staticmethod
    def _begin(request: ForkRequest, connection: socket.socket, streams: list[int]) -> None:
        """Take the streams of the caller; exit when it waits no more, since it does without this process."""
        try:
            if request.run_directory:
                os.setsid()
            # A caller that has the reply counts on this process, however slow the machine is.
            connection.settimeout(None)
            send_reply(connection, ForkReply(os.getpid()))
        except (OSError, EOFError):
            os._exit(0)
        for number, stream in enumerate(streams):
            os.dup2(stream, number)

    def _fork(self, request: ForkRequest) -> int:
        """Fork; return the process id of the new process, and 0 in it."""
        # A process that ends at once must not be reaped before its directory is known.
        signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGCHLD])
        try:
            pid = os.fork()
            if pid and request.run_directory:
                self._directories[pid] = request.run_directory
            elif not pid:
                signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            return pid
        finally:
            signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGCHLD])

    def _take_ended(self) -> None:
        """Let the kernel remove processes that have ended, and write how those ended that did not say so."""
        with contextlib.suppress(ChildProcessError):  # there is none
            while (ended := os.waitpid(-1, os.WNOHANG))[0]:
                pid, status = ended
                directory = self._directories.pop(pid, None)
                code = os.waitstatus_to_exitcode(status)
                if directory is not None and code not in REPORTED:
                    with contextlib.suppress(OSError):
                        Path(os.fsdecode(directory), EXIT_FILE).write_text(str(code))

    def _can_serve(self, request: ForkRequest) -> bool:
        return request.origin == self._origin and self._code.is_current


def apply_request(request: ForkRequest) -> None:
    """Give a forked process the state of a process that the caller would have started."""
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    os.chdir(request.working_directory)
    os.umask(request.umask)
    os.environb.clear()
    os.environb.update(request.environment)
    time.tzset()
    # With ``python -m`` it is the working directory.
    sys.path[0] = os.fsdecode(request.working_directory)


def bind_socket(name: str) -> socket.socket:
    """Create the socket of a fork server in the working directory."""
    Path(name).unlink(missing_ok=True)
    listener = socket.socket(socket.AF_UNIX)
    os.umask(0o077)
    # The name appears when requests are taken: between bind and listen they would be refused.
    unnamed = f"{name}.new"
    Path(unnamed).unlink(missing_ok=True)
    listener.bind(unnamed)
    listener.listen(_BACKLOG)
    Path(unnamed).rename(name)
    return listener


def _list_loaded_files() -> set[str]:
    found = (getattr(module, "__file__", None) for module in list(sys.modules.values()))
    return {file for file in found if file is not None}


def _read_state(file: str) -> tuple[int, int, int] | None:
    try:
        found = os.stat(file)  # noqa: PTH116 - a thousand of them for each fork
    except OSError:
        return None
    return found.st_mtime_ns, found.st_size, found.st_ino


def main() -> None:
    """Serve requests; in a forked process carry out a run."""
    began = time.time()
    origin = describe_origin(dict(os.environb))
    end_with_parent(os.getppid())
    from localcdap.engine import run_process

    run_process.warm_up()
    gc.collect()
    gc.freeze()
    request = ForkServer(bind_socket(SOCKET), LoadedCode(began), origin).serve()
    if request is not None:
        apply_request(request)
        run_process.leave(run_process.main([os.fsdecode(request.run_directory)]))


if __name__ == "__main__":
    main()
