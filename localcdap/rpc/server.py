"""The server at the host's socket, with one thread for each connection."""

from __future__ import annotations

import contextlib
import logging
import os
import select
import socket
import struct
import sys
import threading
import time
from collections.abc import Mapping
from multiprocessing.connection import Connection, Listener
from typing import Final

from localcdap.api.errors import HostError
from localcdap.rpc.frames import greet_client
from localcdap.rpc.methods import Perform, answer_calls, perform_call

_LOG: Final = logging.getLogger(__name__)
_BACKLOG: Final = 128
GREETING_S: Final = 5.0
"""Seconds in which a new connection must prove that it knows the key."""


class Server:
    """Answers calls at a Unix socket until it is closed.

    :param address: the path of the socket, at most about 100 bytes, which must not exist.
    :param services: thread-safe services, by name.
    :param perform: makes the calls.
    """

    def __init__(
        self,
        address: str,
        authkey: bytes,
        services: Mapping[str, object],
        perform: Perform = perform_call,
    ) -> None:
        self.address: Final = address
        self._perform = perform
        self._authkey = authkey
        self._services = services
        self._listener = Listener(address, "AF_UNIX", backlog=_BACKLOG)
        self._sessions: set[_Session] = set()
        self._lock = threading.Lock()
        self._closing = False
        self._refusing = False
        self._thread = threading.Thread(target=self._accept, name="rpc-accept", daemon=True)
        self._thread.start()

    @property
    def connections(self) -> int:
        """The number of open connections; a client has one for each thread that called at the same time."""
        with self._lock:
            return len(self._sessions)

    def is_used(self) -> bool:
        """Whether a client is connected. One that has hung up is not, even if its thread has not noticed."""
        with self._lock:
            return any(session.is_used(None) for session in self._sessions)

    def refuse_if_unused(self, without_pid: int | None = None) -> bool:
        """Refuse new connections from now on, if nobody else is connected; return whether nobody is.

        The test and its effect are one step, so no client is connected afterwards whose calls would be cut.

        :param without_pid: a process whose connections do not count; the connection that the current thread
            serves never counts.
        """
        with self._lock:
            if any(session.is_used(without_pid) for session in self._sessions):
                return False
            self._refusing = True
        return True

    def accept_again(self) -> None:
        """Accept new connections after :meth:`refuse_if_unused`."""
        with self._lock:
            self._refusing = False

    def close(self, grace_s: float = 2.0) -> None:
        """Accept no more calls, wait up to ``grace_s`` seconds for running ones, then abort them.

        A remote method may call this; its own answer is still sent.
        """
        with self._lock:
            if self._closing:
                return
            self._closing = True
            sessions = list(self._sessions)
        self._stop_accepting()
        for session in sessions:
            session.shut(socket.SHUT_RD)
        deadline = time.monotonic() + grace_s
        for session in sessions:
            session.join(max(0.0, deadline - time.monotonic()))
        for session in sessions:
            if not session.is_current:
                session.shut(socket.SHUT_RDWR)

    def _stop_accepting(self) -> None:
        # Closing the socket does not wake accept(), but a connection does.
        with contextlib.suppress(OSError), socket.socket(socket.AF_UNIX) as caller:
            caller.connect(self.address)
            self._thread.join(1.0)
        with contextlib.suppress(FileNotFoundError):
            self._listener.close()

    def _accept(self) -> None:
        while not self._closing:
            try:
                self._open_session(self._listener.accept())
            except (OSError, RuntimeError) as error:  # no more file descriptors, no more threads
                if not self._closing:
                    _LOG.warning("a client could not connect: %s", error)
                    time.sleep(0.05)

    def _open_session(self, connection: Connection) -> None:
        try:
            session = _Session(connection, self)
            with self._lock:
                if self._closing or self._refusing:
                    session.end()
                    return
                self._sessions.add(session)
            session.start()
        except (OSError, RuntimeError):
            connection.close()
            raise

    def serve(self, session: _Session) -> None:
        """Perform the handshake of one connection and answer its calls until it ends, in its own thread."""
        try:
            greet_client(session.connection, self._authkey, GREETING_S)
            answer_calls(session.connection, self._services, self._perform)
        except HostError as error:
            _LOG.warning("a connection was refused: %s", error)
        finally:
            with self._lock:
                self._sessions.discard(session)
            session.end()


class _Session:
    """One connection, its thread, and a second handle of its socket, which wakes that thread."""

    def __init__(self, connection: Connection, server: Server) -> None:
        self.connection = connection
        self._twin = socket.socket(fileno=os.dup(connection.fileno()))
        self._twin_lock = threading.Lock()
        self._thread = threading.Thread(
            target=server.serve, args=(self,), name="rpc-session", daemon=True
        )

    @property
    def is_current(self) -> bool:
        return self._thread is threading.current_thread()

    def is_used(self, without_pid: int | None) -> bool:
        """Whether a process other than ``without_pid`` is connected, unless this thread serves it."""
        if self.is_current:
            return False
        with self._twin_lock:
            if self._twin.fileno() < 0 or _has_hung_up(self._twin):
                return False
            return without_pid is None or _get_peer_pid(self._twin) != without_pid

    def start(self) -> None:
        self._thread.start()

    def join(self, timeout_s: float) -> None:
        if not self.is_current:
            self._thread.join(timeout_s)

    def shut(self, how: int) -> None:
        with self._twin_lock, contextlib.suppress(OSError):  # it may have ended meanwhile
            self._twin.shutdown(how)

    def end(self) -> None:
        self.connection.close()
        with self._twin_lock:
            self._twin.close()


def _has_hung_up(end: socket.socket) -> bool:
    """Return whether the other end is closed. The kernel knows before this end has read everything."""
    poll = select.poll()
    poll.register(end, 0)  # a hang-up is always reported
    return any(event & select.POLLHUP for _, event in poll.poll(0))


def _get_peer_pid(end: socket.socket) -> int:
    """Return the process that opened the connection."""
    if sys.platform == "darwin":
        local_level, local_peer_pid = 0, 2  # <sys/un.h>
        return end.getsockopt(local_level, local_peer_pid)
    pid, _, _ = struct.unpack("3i", end.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12))
    return int(pid)
