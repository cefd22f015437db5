"""Fork servers: processes with loaded libraries and without user code, from which other processes are forked.

A fork is as if its caller had started a process, but takes milliseconds. A server has one thread, because a
fork copies only the thread that forks. Two ways lead to a server, and its forks may be of two kinds:

* :class:`SocketEntrance` is a socket with a name, for any process of the user, which calls
  :func:`localcdap.processes.fork_protocol.fork_at`. :class:`InheritedEntrance` is a socket that only the
  process has which started the server as :class:`OwnedForkServer`; the server ends with it.
* :class:`FreeForks` go on when their server ends. :class:`OwnedForks` are killed with all that they started.
"""

from __future__ import annotations

import contextlib
import errno
import gc
import os
import signal
import socket
import subprocess
import sys
import traceback
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Final, NamedTuple

import msgspec

from localcdap.processes.fork_protocol import (
    TIMEOUT_S,
    EndRequest,
    ForkRequest,
    apply_state,
    close_descriptors,
    receive_number,
    receive_request,
    reply_and_wait,
    send_message,
)
from localcdap.processes.limits import end_with_parent
from localcdap.processes.spawn import start_process
from localcdap.processes.tree import end_adopted, end_group, list_strays, reap_children

_END_S: Final = 15.0
"""Seconds that a server may take to end a fork with all that it started."""
_BACKLOG: Final = 16
_STREAMS: Final = 3


class OwnedForkServer:
    """A server of :class:`OwnedForks` that this process has started. One thread calls at a time.

    The server ends, and all its forks with it, when it is closed and when this process ends.

    :param command: its program and arguments; the descriptor for :class:`InheritedEntrance` is added.
    :raises OSError: when it cannot be started.
    """

    def __init__(self, command: Sequence[str]) -> None:
        self.pids: Final[set[int]] = set()
        """The ids of the forks that were not ended by :meth:`end`."""
        self.has_forked: bool = False
        self._channel, theirs = socket.socketpair()
        with theirs:
            descriptor = theirs.fileno()
            self._process = start_process([*command, str(descriptor)], descriptors=[descriptor])

    def fork(self, argument: bytes, streams: Sequence[int], limit_s: float) -> int:
        """Have a process forked, in a session of its own; return its id.

        :param streams: the descriptors of its standard streams, and those that it gets besides.
        :raises OSError: when the server cannot fork, is lost, or does not answer in time.
        """
        with self._open_connection(limit_s) as connection:
            send_message(connection, ForkRequest(argument, new_session=True), streams)
            pid = receive_number(connection)
        if pid < 0:
            raise OSError(-pid, os.strerror(-pid))
        self.pids.add(pid)
        self.has_forked = True
        return pid

    def list_orphans(self) -> list[int]:
        """Return the running processes that forks have started, and that the server has adopted since."""
        return list_strays(self._process.pid, self.pids)

    def end(self, pid: int) -> int:
        """End a fork and all that it started; return its exit code, a signal's number negative.

        :raises OSError: when the server is lost, or does not answer in time.
        """
        self.pids.discard(pid)
        with self._open_connection(_END_S) as connection:
            send_message(connection, EndRequest(pid))
            return receive_number(connection)

    def close(self) -> None:
        """Have the server end, which ends all forks first, and wait for that."""
        self._channel.close()
        if not self.has_forked:
            self.kill()
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(_END_S)
            return
        self.kill()
        self._process.wait()

    def kill(self) -> None:
        """Kill the server, which may still load its libraries. Only before it has forked anything."""
        self._process.kill()

    @contextlib.contextmanager
    def _open_connection(self, limit_s: float) -> Iterator[socket.socket]:
        mine, theirs = socket.socketpair()
        with mine:
            mine.settimeout(limit_s)
            with theirs:
                socket.send_fds(self._channel, [b"."], [theirs.fileno()])
            try:
                yield mine
            except (EOFError, msgspec.DecodeError):
                raise ConnectionResetError("the fork server is lost") from None


class Fork(NamedTuple):
    """What a process that was forked is to do."""

    argument: bytes
    descriptors: list[int]
    """The descriptors that went with the request, without those of the standard streams."""


class SocketEntrance:
    """A socket in the working directory. Every process that may write to it can start processes.

    New files of this process are private from now on.

    :param name: of the socket, which replaces that of a server which has ended.
    """

    patience_s: float | None = TIMEOUT_S
    """Seconds that the server waits for a caller's message; None for no limit."""

    def __init__(self, name: str) -> None:
        Path(name).unlink(missing_ok=True)
        self._listener = socket.socket(socket.AF_UNIX)
        os.umask(0o077)
        # The name appears when requests are taken: between bind and listen they would be refused.
        unnamed = f"{name}.new"
        Path(unnamed).unlink(missing_ok=True)
        self._listener.bind(unnamed)
        self._listener.listen(_BACKLOG)
        Path(unnamed).rename(name)

    def accept(self) -> socket.socket | None:
        """Wait for a connection; None when there will be none."""
        return self._listener.accept()[0]

    def close(self) -> None:
        """Close it, in a process that was forked."""
        self._listener.close()


class InheritedEntrance:
    """The socket that :class:`OwnedForkServer` has given to the server, on which it sends connections.

    Its caller is waited for without a limit, because it is the only one, and its end is noticed.
    """

    patience_s: float | None = None

    def __init__(self, descriptor: int) -> None:
        os.set_inheritable(descriptor, False)
        self._channel = socket.socket(fileno=descriptor)

    def accept(self) -> socket.socket | None:
        """See :meth:`SocketEntrance.accept`."""
        try:
            _, descriptors, _, _ = socket.recv_fds(self._channel, 1, 1)
        except ConnectionError:
            return None
        return socket.socket(fileno=descriptors[0]) if descriptors else None

    def close(self) -> None:
        """See :meth:`SocketEntrance.close`."""
        self._channel.close()


class FreeForks:
    """Processes that go on when their server ends. The server lets the kernel forget those that have ended.

    :param on_end: called in the server with the request's argument and the exit code, a signal's number
        negative, of each process that has ended. It may be called at any time.
    """

    def __init__(self, on_end: Callable[[bytes, int], None] | None = None) -> None:
        self._on_end: Final = on_end
        self._arguments: Final[dict[int, bytes]] = {}
        signal.signal(signal.SIGCHLD, lambda *_: self._take_ended())

    def fork(self, argument: bytes) -> int:
        """Fork; return the process id of the new process, and 0 in it."""
        # A process that ends at once must not be reaped before its argument is known.
        signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGCHLD])
        try:
            pid = os.fork()
            if pid:
                self._arguments[pid] = argument
            else:
                signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            return pid
        finally:
            signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGCHLD])

    def _take_ended(self) -> None:
        with contextlib.suppress(ChildProcessError):  # there is none
            for pid, code in reap_children():
                argument = self._arguments.pop(pid, None)
                if argument is not None and self._on_end is not None:
                    self._on_end(argument, code)


class OwnedForks:
    """Processes that the kernel kills when their server ends.

    The server must adopt orphans (:func:`localcdap.processes.limits.adopt_orphans`): it ends each process
    with all that it has started. One that has ended by itself stays a zombie until then, so that its exit
    code is known and its id means no other process.
    """

    def __init__(self) -> None:
        self._pids: Final[set[int]] = set()

    def fork(self, argument: bytes) -> int:
        """Fork; return the process id of the new process, the negative number of an error, and 0 in it."""
        server = os.getpid()
        try:
            pid = os.fork()
        except OSError as error:
            return -(error.errno or errno.EAGAIN)
        if pid:
            self._pids.add(pid)
        else:
            end_with_parent(server)
        return pid

    def end(self, pid: int) -> int:
        """End one with all that it started, and return its exit code, a signal's number negative.

        :raises ProcessLookupError: when it is not one of these processes.
        """
        if pid not in self._pids:
            raise ProcessLookupError(pid)
        end_group(pid)
        _, status = os.waitpid(pid, 0)
        self._pids.discard(pid)
        end_adopted(self._pids)
        return os.waitstatus_to_exitcode(status)

    def close(self) -> None:
        """End all of them with all that they started."""
        end_adopted(())


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

    :param code: ends the server when it is outdated; None for a server that has its code in common with its
        only caller.
    :param origin: see :func:`describe_origin`; of this process as it was started. A request of another origin
        is not served.
    """

    def __init__(
        self,
        entrance: SocketEntrance | InheritedEntrance,
        forks: FreeForks | OwnedForks,
        code: LoadedCode | None = None,
        origin: Sequence[str] = (),
    ) -> None:
        self._entrance: Final = entrance
        self._forks: Final = forks
        self._code: Final = code
        self._origin: Final = list(origin)

    def serve(self) -> Fork | None:
        """Wait for requests and fork. What is loaded now is shared with the forks.

        :returns: in each forked process what it is to do; in this process None, when its code is outdated or
            its only caller has ended.
        """
        # The collector would write to every object, and so copy it.
        gc.freeze()
        while self._is_current() and (connection := self._entrance.accept()) is not None:
            with connection, contextlib.suppress(OSError, EOFError, msgspec.DecodeError):
                connection.settimeout(self._entrance.patience_s)
                fork = self._answer(connection)
                if fork is not None:
                    return fork
        if isinstance(self._forks, OwnedForks):
            self._forks.close()
        return None

    def _is_current(self) -> bool:
        return self._code is None or self._code.is_current

    def _answer(self, connection: socket.socket) -> Fork | None:
        """Answer a request; return what this process is to do when it is the forked one."""
        request, descriptors = receive_request(connection)
        streams, others = descriptors[:_STREAMS], descriptors[_STREAMS:]
        try:
            if isinstance(request, EndRequest):
                if isinstance(self._forks, OwnedForks):
                    send_message(connection, self._forks.end(request.pid))
            elif self._can_serve(request, streams):
                pid = self._forks.fork(request.argument)
                if not pid:
                    self._begin(request, connection, streams)
                    fork = Fork(request.argument, others)
                    others = []
                    return fork
                # The caller of an owned fork ends this server when it waits no more, so that the new process
                # need not ask whether it does; the reply comes sooner from here.
                if isinstance(self._forks, OwnedForks):
                    send_message(connection, pid)
            return None
        finally:
            close_descriptors(*streams, *others)

    def _begin(self, request: ForkRequest, connection: socket.socket, streams: list[int]) -> None:
        """Take the streams and the state of the caller, in a forked process; exit when the caller waits no
        more, since it does without this process.
        """
        self._entrance.close()
        try:
            if request.new_session:
                os.setsid()
            if isinstance(self._forks, FreeForks):
                reply_and_wait(connection)
        except (OSError, EOFError):
            os._exit(0)
        try:
            for number, stream in enumerate(streams):
                os.dup2(stream, number)
            signal.signal(signal.SIGINT, signal.default_int_handler)
            if request.state is not None:
                apply_state(request.state)
        except BaseException:  # this process must not go on as a server
            traceback.print_exc()
            os._exit(1)

    def _can_serve(self, request: ForkRequest, streams: list[int]) -> bool:
        origin = [] if request.state is None else request.state.origin
        return len(streams) == _STREAMS and origin == self._origin and self._is_current()


def _list_loaded_files() -> set[str]:
    files = (getattr(module, "__file__", None) for module in list(sys.modules.values()))
    return {file for file in files if file is not None}


def _read_state(file: str) -> tuple[int, int, int] | None:
    try:
        status = os.stat(file)  # noqa: PTH116 - a thousand of them for each fork
    except OSError:
        return None
    return status.st_mtime_ns, status.st_size, status.st_ino
