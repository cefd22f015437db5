"""The process of the REST server of an instance, of which there is at most one, and the token of requests."""

from __future__ import annotations

import contextlib
import os
import signal
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final

import msgspec

from localcdap.api.errors import BadRequestError, ConflictError, LocalcdapError, StoreError
from localcdap.decoders import decode_json
from localcdap.files.atomic import write_file
from localcdap.processes.single_instance import (
    BackgroundStart,
    end_holder,
    is_locked,
    take_lock,
)
from localcdap.processes.spawn import open_log, read_end
from localcdap.server.access import are_equal, create_secret

_PATIENCE_S: Final = 2.0
"""Seconds to wait for the lock of a server that is ending or asked about."""
_END_S: Final = 15.0
_MOST_LOG: Final = 2000
"""The last characters of the log that an error shows."""


class RestServerRecord(msgspec.Struct, rename="camel"):
    """A running server."""

    pid: int
    address: str
    is_open: bool
    """Whether requests need no token."""


class ServerFolder:
    """The files of the server of an instance.

    :param path: of the folder, which only its user may enter.
    """

    def __init__(self, path: Path) -> None:
        self.path: Final = path
        self.token: Final = path / "token"
        self.log: Final = path / "server.log"
        self._record: Final = path / "server.json"
        self._lock: Final = path / "server.lock"

    @contextlib.contextmanager
    def hold(self) -> Iterator[None]:
        """Be the server of the instance for the time of a block.

        :raises ConflictError: when there is another one.
        """
        self.create()
        other = self.find_server()
        lock = take_lock(self._lock, _PATIENCE_S) if other is None else None
        if lock is None:
            raise _make_conflict(other or self.find_server())
        try:
            yield
        finally:
            self._record.unlink(missing_ok=True)
            os.close(lock)

    def create(self) -> None:
        """Create the folder."""
        self.path.mkdir(mode=0o700, parents=True, exist_ok=True)

    def write(self, record: RestServerRecord) -> None:
        """Write where this server listens."""
        write_file(self._record, msgspec.json.encode(record).decode())

    def find_server(self) -> RestServerRecord | None:
        """Return the running server; None when there is none."""
        if not is_locked(self._lock):
            return None
        try:
            return decode_json(self._record.read_bytes(), RestServerRecord)
        except (OSError, msgspec.DecodeError):  # it is starting or ending
            return None

    def start(self, command: Sequence[str]) -> RestServerRecord:
        """Start a server in the background, and wait until it listens.

        :param command: the arguments of ``localcdap`` that serve in the foreground.
        :raises ConflictError: when there is one.
        :raises BadRequestError: when it cannot start, with the end of its log.
        """
        server = self.find_server()
        if server is not None:
            raise _make_conflict(server)
        self.create()
        with open_log(self.log) as log:
            start = BackgroundStart([sys.executable, "-P", "-m", "localcdap.cli", *command], log)
        server = self.find_server() if start.read_report() else None
        if server is None:
            start.wait()
            raise BadRequestError(
                "The server did not start.", read_end(self.log, _MOST_LOG).strip()
            )
        return server

    def stop(self) -> RestServerRecord | None:
        """Stop the running server and return it; None when there was none.

        :raises LocalcdapError: when it does not end.
        """
        server = self.find_server()
        if server is not None and not end_holder(self._lock, (signal.SIGTERM, _END_S)):
            raise LocalcdapError(
                f"The server (process {server.pid}) does not end.", f"End it: kill -9 {server.pid}"
            )
        return server


def _make_conflict(server: RestServerRecord | None) -> ConflictError:
    where = "" if server is None else f" at {server.address} (process {server.pid})"
    return ConflictError(
        f"A server of this instance runs{where}.", "Stop it: localcdap server stop"
    )


_MODE = 0o600


def read_token(file: Path) -> str:
    """Return the token, which is made if there is none. It stays the same, so that clients can keep it.

    :raises StoreError: when the file cannot be used, or other users can read it.
    """
    try:
        with file.open(encoding="ascii") as found:
            if os.fstat(found.fileno()).st_mode & 0o077:
                raise StoreError(
                    f"Other users can read the token in {file}.",
                    f"Remove the file; the next start makes another token: rm '{file}'",
                )
            token = found.read().strip()
    except FileNotFoundError:
        return _create_token(file)
    except (OSError, UnicodeDecodeError) as error:
        raise StoreError(f"The token in {file} cannot be read: {error}.") from None
    if not token:
        raise StoreError(f"There is no token in {file}.", f"Remove the file: rm '{file}'")
    return token


def _create_token(file: Path) -> str:
    token = create_secret()
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, _MODE)
        with os.fdopen(descriptor, "w", encoding="ascii") as created:
            created.write(f"{token}\n")
    except FileExistsError:  # another server was faster
        return read_token(file)
    except OSError as error:
        raise StoreError(f"The token cannot be written to {file}: {error.strerror}.") from None
    return token


def has_token(headers: Mapping[str, str], token: str) -> bool:
    """Return whether a request has the token, as ``Authorization: Bearer TOKEN``."""
    scheme, _, given = headers.get("Authorization", "").partition(" ")
    return scheme.lower() == "bearer" and are_equal(given.strip(), token)
