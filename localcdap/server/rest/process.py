"""The process of the REST server of an instance, of which there is at most one."""

from __future__ import annotations

import contextlib
import fcntl
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

import msgspec

from localcdap.api.errors import BadRequestError, ConflictError, LocalcdapError
from localcdap.decoders import decode_json
from localcdap.files.atomic import write_file
from localcdap.processes.single_instance import is_locked

REPORT: Final = "--report"
"""The option of a background server: the descriptor to which it writes a byte when it listens."""
_PAUSE_S: Final = 0.05
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
        with self._lock.open("a") as lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                raise _make_conflict(self.find_server()) from None
            try:
                yield
            finally:
                self._record.unlink(missing_ok=True)

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
        found = self.find_server()
        if found is not None:
            raise _make_conflict(found)
        self.create()
        reads, writes = os.pipe()
        with self.log.open("wb") as log, os.fdopen(reads, "rb") as report:
            try:
                process = subprocess.Popen(
                    [sys.executable, "-P", "-m", "localcdap.cli", *command, REPORT, str(writes)],
                    stdin=subprocess.DEVNULL,
                    stdout=log,
                    stderr=log,
                    pass_fds=[writes],
                    start_new_session=True,
                )
            finally:
                os.close(writes)
            listens = bool(report.read(1))
        found = self.find_server() if listens else None
        if found is None:
            process.wait()
            raise BadRequestError(
                "The server did not start.",
                self.log.read_text(errors="replace")[-_MOST_LOG:].strip(),
            )
        return found

    def stop(self) -> RestServerRecord | None:
        """Stop the running server and return it; None when there was none.

        :raises LocalcdapError: when it does not end.
        """
        found = self.find_server()
        if found is None:
            return None
        with contextlib.suppress(ProcessLookupError):
            os.kill(found.pid, signal.SIGTERM)
        limit = time.monotonic() + _END_S
        while is_locked(self._lock):
            if time.monotonic() > limit:
                raise LocalcdapError(
                    f"The server (process {found.pid}) does not end.",
                    f"End it: kill -9 {found.pid}",
                )
            time.sleep(_PAUSE_S)
        return found


def report_start(descriptor: int | None) -> None:
    """Tell the process that started this one that the server listens; None: nobody waits."""
    if descriptor is not None:
        with contextlib.suppress(OSError):
            os.write(descriptor, b"1")
            os.close(descriptor)


def _make_conflict(found: RestServerRecord | None) -> ConflictError:
    where = "" if found is None else f" at {found.address} (process {found.pid})"
    return ConflictError(
        f"A server of this instance runs{where}.", "Stop it: localcdap server stop"
    )
