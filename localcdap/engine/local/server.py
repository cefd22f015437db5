"""The local Spark Connect server of an instance: started on demand and shared by its processes.

Its directory has the record of the running server, by which the processes find it.
"""

from __future__ import annotations

import contextlib
import math
import os
import re
import signal
import socket
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import msgspec

from localcdap.api.errors import EngineError
from localcdap.decoders import decode_json
from localcdap.engine.endpoint import Endpoint
from localcdap.engine.local.launch import compute_program_digest, find_java, find_spark_home
from localcdap.processes.single_instance import (
    BackgroundStart,
    are_leases_held,
    end_holder,
    is_locked,
    open_locked,
)
from localcdap.processes.spawn import open_log

LOCK: Final = "server.lock"
"""Locked while a supervisor lives; contains its process id."""
RECORD: Final = "server.json"
LEASES: Final = "leases"
OUTPUT: Final = "server.out"
"""The file with the output of the server."""
LOG: Final = "spark.log"
"""The log file of the server."""
SUPERVISOR_ERRORS: Final = "supervisor.err"
"""The file with the output of the supervisor."""
_BUSY_S: Final = 10.0
"""A port without a listener refuses at once; a server that takes longer is busy and must not be replaced."""


class ServerOptions(msgspec.Struct, frozen=True):
    """The settings with which the server is started."""

    cores: str
    memory: str
    idle_minutes: float
    """0: the server never stops as idle."""


class ServerRecord(msgspec.Struct, frozen=True):
    """The address and token of the server. Only its user can read the file."""

    url: str
    token: str
    supervisor: int
    """Process id."""
    server: int
    """Process id."""
    started: float
    """Seconds since 1970."""
    options: ServerOptions
    python: str
    """The interpreter that runs the server's Python workers."""
    spark: str
    """Version."""
    program: str = ""
    """The digest of the server's main class, which other versions of localcdap have otherwise."""

    @property
    def port(self) -> int:
        """The port of the URL."""
        return int(self.url.rpartition(":")[2])


def read_server_record(directory: Path) -> ServerRecord | None:
    """Read the record of the server that was started last; None when there is no readable one."""
    try:
        return decode_json((directory / RECORD).read_bytes(), type=ServerRecord)
    except (OSError, msgspec.DecodeError):
        return None


def is_port_open(port: int) -> bool:
    """Whether a process listens on a port of this machine."""
    with socket.socket() as probe:
        probe.settimeout(_BUSY_S)
        return probe.connect_ex(("127.0.0.1", port)) == 0


_STARTING: Final = "starting.lock"
_SUPERVISOR: Final = "localcdap.engine.local.supervisor"
_END_STEPS: Final = ((signal.SIGTERM, 20.0), (signal.SIGKILL, 5.0))
"""The signals that end a supervisor, and the seconds that it gets after each."""
_REASON: Final = re.compile(
    r"error|exception|invalid|unrecognized|could not|no space", re.IGNORECASE
)
_UNINFORMATIVE: Final = (
    "at ",
    "WARNING:",
    "Error: Could not create the Java Virtual Machine",
    "Error: A fatal exception has occurred",
    "Error: A JNI error has occurred",
)
"""Beginnings of lines that name no cause."""


class EngineStatus(msgspec.Struct, rename="camel"):
    """The status of the local server."""

    running: bool
    url: str | None = None
    pid: int | None = None
    started: float | None = None
    """Seconds since 1970."""
    in_use: bool = False
    cores: str | None = None
    memory: str | None = None
    outdated: bool = False
    """Whether it was started with settings other than the current ones."""

    @property
    def summary(self) -> str:
        """The status in one line."""
        if not self.running:
            return "The local Spark server is not running; the next run starts it."
        used = "in use" if self.in_use else "idle"
        old = "; started with older settings: after 'localcdap engine stop' the next run starts a new one"
        return (
            f"The local Spark server runs at {self.url} (process {self.pid}, local[{self.cores}], "
            f"{self.memory}, {used}{old if self.outdated else ''})."
        )


class EngineServer:
    """The server whose files are in ``directory``; all processes that use the same directory share it.

    :param cores: threads, ``*`` for as many as the machine has.
    :param memory: heap size in the notation of the JVM (``2g``).
    :param idle_minutes: after which an unused server stops; 0 for never.
    """

    def __init__(
        self, directory: Path, cores: str = "*", memory: str = "2g", idle_minutes: float = 30.0
    ) -> None:
        self.directory: Final = directory
        self._options = ServerOptions(cores, memory, idle_minutes)

    def ensure(self) -> Endpoint:
        """Return the running server; start one when there is none, which takes some seconds.

        A server that was started with other settings is replaced unless another process uses it.

        :raises EngineError: when it cannot be started; says why and where its log is.
        """
        record = self._find_running()
        if record is not None and self._is_usable(record):
            return Endpoint(record.url, record.token)
        with self._lock():
            record = self._find_running()
            if record is None or not self._is_usable(record):
                self._end_supervisor()
                record = self._start()
            return Endpoint(record.url, record.token)

    @property
    def leases(self) -> Path:
        """Folder of the leases that prevent the server from stopping,
        :mod:`localcdap.processes.single_instance`.
        """
        return self.directory / LEASES

    def get_status(self) -> EngineStatus:
        """Return the status of the server."""
        record = self._find_running()
        if record is None:
            return EngineStatus(running=False)
        return EngineStatus(
            running=True,
            url=record.url,
            pid=record.server,
            started=record.started,
            in_use=are_leases_held(self.leases),
            cores=record.options.cores,
            memory=record.options.memory,
            outdated=not self._is_current(record),
        )

    def stop(self) -> None:
        """Stop the server, even when runs use it; do nothing when there is none."""
        if self.directory.is_dir():
            with self._lock():
                self._end_supervisor()

    def stop_if_unused(self) -> bool:
        """Stop the server unless a process other than this one uses it; return whether none runs now."""
        if not self.directory.is_dir():
            return True
        with self._lock():
            if are_leases_held(self.leases, by_others=True):
                return False
            self._end_supervisor()
        return True

    def _find_running(self) -> ServerRecord | None:
        """Return the record of a server that lives and listens."""
        record = read_server_record(self.directory)
        if record is None or not is_locked(self.directory / LOCK):
            return None
        return record if is_port_open(record.port) else None

    def _is_usable(self, record: ServerRecord) -> bool:
        # The caller may hold a lease already, so that the server cannot stop before it is used.
        if self._is_current(record) or not are_leases_held(self.leases, by_others=True):
            return self._is_current(record)
        if record.program != compute_program_digest():
            raise EngineError(
                f"The Spark server in {self.directory} is that of another version of localcdap, and in use.",
                "Wait until its runs have ended, or stop it: localcdap engine stop.",
            )
        return True

    def _is_current(self, record: ServerRecord) -> bool:
        from importlib import metadata

        return (
            record.options == self._options
            and _is_this_python(Path(record.python))
            and record.spark == metadata.version("pyspark")
            and record.program == compute_program_digest()
        )

    @contextlib.contextmanager
    def _lock(self) -> Iterator[None]:
        """Prevent other processes from starting or stopping the server at the same time."""
        try:
            self.directory.mkdir(parents=True, exist_ok=True, mode=0o700)
            lock = open_locked(self.directory / _STARTING, math.inf)
        except OSError as error:
            raise EngineError(
                f"The engine's directory {self.directory} cannot be used: {error.strerror}.",
                "Set engine.directory to a folder that you may write to.",
            ) from error
        assert lock is not None
        try:
            yield
        finally:
            os.close(lock)

    def _start(self) -> ServerRecord:
        find_java()
        find_spark_home()
        (self.directory / OUTPUT).unlink(missing_ok=True)
        with open_log(self.directory / SUPERVISOR_ERRORS) as errors:
            # In the engine's folder: it outlives the caller, whose folder may be removed, and imports
            # nothing from there.
            supervisor = BackgroundStart(
                [sys.executable, "-m", _SUPERVISOR, str(self.directory.resolve())],
                errors=errors,
                input=msgspec.json.encode(self._options),
                directory=self.directory,
            )
        record = read_server_record(self.directory) if supervisor.read_report() else None
        if record is None or record.supervisor != supervisor.pid:
            raise create_start_error(self.directory)
        return record

    def _end_supervisor(self) -> None:
        """End the supervisor, and its server with it; do nothing when there is none."""
        if not end_holder(self.directory / LOCK, *_END_STEPS):
            raise EngineError(
                f"The local Spark server in {self.directory} does not stop.",
                "Kill the process whose id is in the file 'server.lock' there.",
            )


def _is_this_python(interpreter: Path) -> bool:
    """Whether an interpreter is that of this process; it has several names: python, python3, python3.12."""
    this = Path(sys.executable)
    return interpreter.parent == this.parent and interpreter.resolve() == this.resolve()


def create_start_error(directory: Path) -> EngineError:
    """Return the error of a server that did not start, with the reason from its log."""
    output, log = directory / OUTPUT, directory / LOG
    reason = " ".join(_find_reasons(output) or _find_reasons(directory / SUPERVISOR_ERRORS))
    return EngineError(
        f"The local Spark server did not start: {reason[:600] or 'it ended without a message'}",
        f"See {output} and {log}; 'localcdap doctor' checks the machine.",
    )


def _find_reasons(path: Path) -> list[str]:
    """Return the lines of a log that name a reason: the first with an error, and the last cause."""
    try:
        lines = [line.strip() for line in path.read_text(errors="replace").splitlines()]
    except OSError:
        return []
    lines = [line for line in lines if line and not line.startswith(_UNINFORMATIVE)]
    reasons = [line for line in lines if _REASON.search(line)] or lines[-1:]
    causes = [line for line in reasons[1:] if line.startswith("Caused by:")]
    return [*reasons[:1], *causes[-1:]] if path.name == OUTPUT else reasons[-1:]
