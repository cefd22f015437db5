"""The process from which run processes are forked: it has imported what each of them needs, and no plugin.

``python -m localcdap.engine.local.template``, in the engine's directory. The supervisor of the local
Spark server starts it, and it ends with that one. Importing is most of what the start of a run costs.
"""

from __future__ import annotations

import contextlib
import ctypes
import gc
import os
import signal
import socket
import sys
import time
from pathlib import Path
from typing import Final

import msgspec

from localcdap.engine.local.forking import (
    PATIENCE_S,
    SOCKET,
    Forked,
    ForkRequest,
    origin,
    receive_request,
    send_answer,
)

_PR_SET_PDEATHSIG: Final = 1
_BACKLOG: Final = 16


class LoadedCode:
    """The files that this process has loaded modules from, as they were then."""

    def __init__(self, began: float) -> None:
        """:param began: before the first of them was loaded, in seconds since 1970."""
        self._files: Final = {file: _state(file) for file in _files()}
        times = (state[0] for state in self._files.values() if state is not None)
        self._is_certain: Final = max(times, default=0) < began * 1e9

    @property
    def is_current(self) -> bool:
        """Whether a new process would load the same: no file was edited, replaced or removed."""
        return self._is_certain and all(_state(f) == s for f, s in self._files.items())


class Template:
    """Answers requests to fork."""

    def __init__(self, listener: socket.socket, code: LoadedCode) -> None:
        self._listener: Final = listener
        self._code: Final = code
        self._origin: Final = origin(dict(os.environb))

    def serve(self) -> ForkRequest | None:
        """Wait for requests and fork.

        :returns: in each forked process, what it is to be; in this one None, when its code is not current.
        """
        while self._code.is_current:
            connection, _ = self._listener.accept()
            with connection, contextlib.suppress(OSError, EOFError, msgspec.DecodeError):
                connection.settimeout(PATIENCE_S)
                request, descriptors = receive_request(connection)
                try:
                    if self._may_be(request) and not os.fork():
                        self._listener.close()
                        os.setsid()
                        send_answer(connection, Forked(os.getpid()))
                        _take_over(*descriptors)
                        return request
                finally:
                    for each in descriptors:
                        os.close(each)
        return None

    def _may_be(self, request: ForkRequest) -> bool:
        return request.origin == self._origin and self._code.is_current


def become(request: ForkRequest) -> None:
    """Make a forked process what its caller would have started."""
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    os.chdir(request.working_directory)
    os.umask(request.umask)
    os.environb.clear()
    os.environb.update(request.environment)
    time.tzset()
    # With ``-m`` it is the folder in which a process was started.
    sys.path[0] = os.fsdecode(request.working_directory)


def _take_over(input: int, output: int) -> None:
    for theirs, ours in ((input, 0), (output, 1), (output, 2)):
        os.dup2(theirs, ours)


def _bound() -> socket.socket:
    """The socket, in the folder in which this process was started."""
    Path(SOCKET).unlink(missing_ok=True)
    listener = socket.socket(socket.AF_UNIX)
    os.umask(0o077)
    listener.bind(SOCKET)
    listener.listen(_BACKLOG)
    return listener


def _files() -> set[str]:
    found = (getattr(module, "__file__", None) for module in list(sys.modules.values()))
    return {file for file in found if file is not None}


def _state(file: str) -> tuple[int, int, int] | None:
    try:
        found = os.stat(file)  # noqa: PTH116 - a thousand of them for each fork
    except OSError:
        return None
    return found.st_mtime_ns, found.st_size, found.st_ino


def _die_with_parent() -> None:
    with contextlib.suppress(OSError, AttributeError):
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)


def main() -> None:
    """Be the template; in a forked process carry out a run."""
    began = time.time()
    _die_with_parent()
    # Run processes are not waited for: the kernel clears them away.
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    from localcdap.engine.driver import run

    run.warm_up()
    gc.collect()
    gc.freeze()
    request = Template(_bound(), LoadedCode(began)).serve()
    if request is not None:
        become(request)
        run.leave(run.main([os.fsdecode(request.run_directory)]))


if __name__ == "__main__":
    main()
