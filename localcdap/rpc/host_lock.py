"""Which of the processes that want to be the host of an instance is, and the connection to it.

The first one that asks is the host. It holds a lock on ``host.lock`` in the instance's folder, which is never
stale. ``host.json`` and the socket may be stale; the next host replaces them.

A front end never serves the instance itself, but connects to a background process that it starts if needed.
It may end at any moment, with Ctrl-C or with its terminal, and everything that other processes have in
progress in the host would end with it: their calls, previews and tests, and runs that wait for Spark. A
background host has no terminal and stays until nobody needs it.
"""

from __future__ import annotations

import os
import secrets
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from localcdap.api.errors import ConflictError, HostError, HostSilentError, StoreError
from localcdap.processes.identity import is_suspended
from localcdap.processes.single_instance import is_open_file, read_holder, take_lock
from localcdap.rpc.client import Client
from localcdap.rpc.host_record import (
    HostRecord,
    clear_host_record,
    get_socket_address,
    read_host_record,
    write_host_record,
)
from localcdap.rpc.host_start import LOCK_FILE, HostStart, take_start
from localcdap.rpc.methods import Perform, perform_call
from localcdap.rpc.server import Server
from localcdap.store.database_errors import is_disk_full, make_disk_full_error

_PAUSE_S: Final = 0.02


class HostLock:
    """The lock of the host on the instance in ``home``, held until it is closed or this process ends."""

    def __init__(self, home: Path, version: str, lock: int) -> None:
        self.home: Final = home
        self._version = version
        self._lock: int | None = lock
        self._server: Server | None = None
        clear_host_record(home)  # left by a host that was killed; clients must not try to reach it

    @property
    def has_lost_folder(self) -> bool:
        """Whether the folder was removed or moved since this lock was taken. What is in its place then, if
        there is anything, is another instance, which this process must not touch.
        """
        return self._lock is not None and not is_open_file(self._lock, self.home / LOCK_FILE)

    @property
    def connections(self) -> int:
        """The number of open connections of clients; 0 while not listening."""
        return self._server.connections if self._server else 0

    def is_used(self) -> bool:
        """Whether a client is connected that has not hung up; False while not listening."""
        return self._server is not None and self._server.is_used()

    def listen(
        self,
        services: Mapping[str, object],
        fingerprint: str = "",
        perform: Perform = perform_call,
    ) -> HostRecord:
        """Start to answer the calls of clients, each connection in its own thread.

        Clients wait only some seconds for the host to listen, so the services must start quickly.

        :param services: thread-safe services, by name.
        :param fingerprint: see :attr:`HostRecord.fingerprint`.
        :param perform: makes the calls.
        :raises ConflictError: when listening already, or closed.
        :raises HostError: when the socket cannot be created.
        """
        if self._server is not None or self._lock is None:
            raise ConflictError("This host is listening already, or is closed.")
        # While the lock is held, no other file has its number: a host in another folder of this name has
        # another socket.
        address = get_socket_address(self.home, f"#{os.fstat(self._lock).st_ino}")
        key = secrets.token_bytes(32)
        Path(address).unlink(missing_ok=True)
        try:
            self._server = Server(address, key, services, perform)
        except OSError as error:
            raise HostError(f"The socket {address} cannot be created: {error}.") from error
        record = HostRecord(os.getpid(), self._version, address, key.hex(), fingerprint)
        try:
            write_host_record(self.home, record)
        except OSError as error:
            if not is_disk_full(error):
                raise
            raise make_disk_full_error(error, self.home) from error
        return record

    def refuse_if_unused(self, without_pid: int | None = None) -> bool:
        """Refuse new connections from now on, if no other process is connected; return whether none is.

        :param without_pid: a process whose connections do not count; the connection that the current thread
            serves never counts.
        """
        if self._server is None:
            return True
        return self._server.refuse_if_unused(without_pid)

    def clear_record(self) -> None:
        """Have clients find no host from now on."""
        if not self.has_lost_folder:
            clear_host_record(self.home)

    def accept_again(self) -> None:
        """Accept new connections after :meth:`refuse_if_unused`."""
        if self._server is not None:
            self._server.accept_again()

    def stop_listening(self, grace_s: float = 2.0) -> None:
        """Accept no more calls and wait for running ones; keep the lock.

        Call this before closing the database that the services use, and :meth:`close` after that.
        """
        if self._server is not None:
            self.clear_record()
            self._server.close(grace_s)
            self._server = None

    def close(self) -> None:
        """Stop listening and release the lock. May be called twice."""
        self.stop_listening()
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None

    def __enter__(self) -> HostLock:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def connect_or_become_host(home: Path, version: str, wait_s: float = 10.0) -> HostLock | Client:
    """Become the host of the instance in ``home``, or a client of its host.

    The folder is created when it does not exist. The function waits for a host that is starting or closing.

    :param version: the version of this process, which clients find in :attr:`Client.host`.
    :param wait_s: seconds to wait for a host that does not answer.
    :raises StoreError: when the folder cannot be created or written to.
    :raises HostSilentError: when another process holds the lock and does not answer; the message has its id.
    """
    deadline = time.monotonic() + wait_s
    while True:
        lock = _take_lock(home)
        if lock is not None:
            return HostLock(home, version, lock)
        problem = "it does not listen for calls"
        record = read_host_record(home)
        if record is not None:
            try:
                return Client(record, max(0.1, deadline - time.monotonic()))
            except (HostError, ValueError) as error:
                problem = str(error)
        if time.monotonic() >= deadline:
            raise make_silent_error(home, problem)
        time.sleep(_PAUSE_S)


def _take_lock(home: Path) -> int | None:
    """Return the descriptor of the locked file, or None when another process holds the lock."""
    try:
        home.mkdir(parents=True, exist_ok=True)
        return take_lock(home / LOCK_FILE)
    except OSError as error:
        if is_disk_full(error):
            raise make_disk_full_error(error, home) from error
        raise StoreError(
            f"The instance's folder {home} cannot be used: {error.strerror}.",
            "Choose a writable folder with --home or $LOCALCDAP_HOME.",
        ) from error


def make_silent_error(home: Path, problem: str) -> HostSilentError:
    """Return the error about a host that holds the lock and cannot be called.

    :param problem: why, as the end of a sentence.
    """
    pid = read_holder(home / LOCK_FILE)
    if pid is None:  # it has just ended, or could not write its id
        return HostSilentError(
            f"The host of the instance at {home} does not answer: {problem}", "Try again."
        )
    if is_suspended(pid):
        return HostSilentError(
            f"Process {pid} is the host of the instance at {home} but is suspended.",
            f"Resume it with 'kill -CONT {pid}', or end it with 'kill -9 {pid}'.",
        )
    return HostSilentError(
        f"Process {pid} is the host of the instance at {home} but does not answer: {problem}",
        f"Wait until it ends, or end it with 'kill {pid}'.",
    )


_GREETING_S: Final = 3.0
"""Seconds in which a host must accept a connection. When it does not, another host process is started, which
finds out whether the first one is slow, suspended or gone.
"""
_WAIT_S: Final = 60.0
_UNTIL_NEXT_S: Final = 0.05


def connect_to_host(home: Path, options: Sequence[str] = ()) -> tuple[Client, bool]:
    """Connect to the host of an instance; start a background host when there is none.

    :param options: options of ``python -m localcdap.host`` for a host that is started.
    :returns: the client, and whether its host was started for it just now.
    :raises LocalcdapError: why the instance cannot be opened, as the host process raised it.
    :raises HostSilentError: when the host does not answer.
    """
    deadline = time.monotonic() + _WAIT_S
    start = take_start(home)
    while True:
        if start is not None:
            start.wait()
        record = read_host_record(home)
        problem = "it does not listen for calls"
        if record is not None:
            try:
                return Client(record, _GREETING_S), start is not None and start.pid == record.pid
            except (HostError, ValueError) as error:
                problem = str(error)
        if time.monotonic() > deadline:
            raise make_silent_error(home, problem)
        if start is not None:  # the host that was found has ended meanwhile
            time.sleep(_UNTIL_NEXT_S)
        start = HostStart(home, options)
