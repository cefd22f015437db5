"""The server at the host's socket, with one thread for each connection."""

from __future__ import annotations

import contextlib
import logging
import os
import socket
import threading
import time
from collections.abc import Mapping
from multiprocessing.connection import Connection, Listener
from typing import Final

from localcdap.api.errors import HostError
from localcdap.rpc.handshake import greet_client
from localcdap.rpc.peer import answer_calls

_LOG: Final = logging.getLogger(__name__)
_BACKLOG: Final = 128
GREETING_S: Final = 5.0
"""Seconds in which a new connection must prove that it knows the key."""


class Server:
    """Answers calls at a Unix socket until it is closed.

    :param address: the path of the socket, at most about 100 bytes, which must not exist.
    :param services: thread-safe services, by name.
    """

    def __init__(self, address: str, authkey: bytes, services: Mapping[str, object]) -> None:
        self.address: Final = address
        self._authkey = authkey
        self._services = services
        self._listener = Listener(address, "AF_UNIX", backlog=_BACKLOG)
        self._sessions: set[_Session] = set()
        self._lock = threading.Lock()
        self._closing = False
        self._thread = threading.Thread(target=self._accept, name="rpc-accept", daemon=True)
        self._thread.start()

    @property
    def connections(self) -> int:
        """The number of open connections; a client has one for each thread that called at the same time."""
        with self._lock:
            return len(self._sessions)

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
                if self._closing:
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
            answer_calls(session.connection, self._services)
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
