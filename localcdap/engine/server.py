"""The local Spark Connect server of an instance: started on first need, shared, found again."""

from __future__ import annotations

import contextlib
import fcntl
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path
from typing import Final

import msgspec

from localcdap.api.errors import EngineError
from localcdap.engine.java import find_java
from localcdap.engine.launch import spark_home
from localcdap.engine.leases import are_held, is_locked
from localcdap.engine.supervisor import (
    LEASES,
    LOCK,
    OUTPUT,
    RECORD,
    ServerOptions,
    ServerRecord,
    is_open,
)

_STARTING: Final = "starting.lock"
_PAUSE_S: Final = 0.02
_STOP_S: Final = 20.0


class Endpoint(msgspec.Struct, frozen=True):
    """Where a Spark Connect server listens."""

    url: str
    """``sc://host:port``"""
    token: str | None
    """What a client must show; None for a server that asks for nothing."""


class EngineStatus(msgspec.Struct, rename="camel"):
    """The local server, as it stands."""

    running: bool
    url: str | None = None
    pid: int | None = None
    started: float | None = None
    """Seconds since 1970."""
    in_use: bool = False
    cores: str | None = None
    memory: str | None = None
    outdated: bool = False
    """Whether it was started with other settings than those in force."""

    @property
    def summary(self) -> str:
        """The status in one line."""
        if not self.running:
            return "The local Spark server is not running; the next run starts it."
        used = "in use" if self.in_use else "idle"
        old = "; started with older settings, 'localcdap engine stop' lets the next run renew it"
        return (
            f"The local Spark server runs at {self.url} (process {self.pid}, local[{self.cores}], "
            f"{self.memory}, {used}{old if self.outdated else ''})."
        )


class EngineServer:
    """The server that keeps its files in ``directory``; processes that name the same one share it.

    :param cores: threads, ``*`` for as many as the machine has.
    :param memory: heap, as the JVM writes it (``2g``).
    :param idle_minutes: after which it stops when nobody uses it; 0 for never.
    """

    def __init__(
        self, directory: Path, cores: str = "*", memory: str = "2g", idle_minutes: float = 30.0
    ) -> None:
        self.directory: Final = directory
        self._options = ServerOptions(cores, memory, idle_minutes)

    def ensure(self) -> Endpoint:
        """The running server; starts it first where there is none, which takes some seconds.

        One that was started with other settings is started anew unless somebody uses it.

        :raises EngineError: when it cannot be started; says why and where its log is.
        """
        record = self._running()
        if record is not None and (self._is_current(record) or self._in_use()):
            return Endpoint(record.url, record.token)
        with self._alone():
            record = self._running()
            if record is not None and not self._is_current(record) and not self._in_use():
                self._stop(record)
                record = None
            if record is None:
                record = self._start()
            return Endpoint(record.url, record.token)

    @property
    def leases(self) -> Path:
        """Folder of the leases that keep the server from stopping; see :mod:`localcdap.engine.leases`."""
        return self.directory / LEASES

    def status(self) -> EngineStatus:
        record = self._running()
        if record is None:
            return EngineStatus(running=False)
        return EngineStatus(
            running=True,
            url=record.url,
            pid=record.server,
            started=record.started,
            in_use=self._in_use(),
            cores=record.options.cores,
            memory=record.options.memory,
            outdated=not self._is_current(record),
        )

    def stop(self) -> None:
        """Stop the server, also when runs use it; nothing happens when there is none."""
        with self._alone():
            record = self._running()
            if record is not None:
                self._stop(record)

    def _running(self) -> ServerRecord | None:
        """The record of a server that lives and listens."""
        record = self._record()
        if record is None or not is_locked(self.directory / LOCK):
            return None
        return record if is_open(int(record.url.rpartition(":")[2])) else None

    def _record(self) -> ServerRecord | None:
        try:
            return msgspec.json.decode((self.directory / RECORD).read_bytes(), type=ServerRecord)
        except (OSError, msgspec.DecodeError):
            return None

    def _is_current(self, record: ServerRecord) -> bool:
        return (
            record.options == self._options
            and record.python == sys.executable
            and record.spark == metadata.version("pyspark")
        )

    def _in_use(self) -> bool:
        return are_held(self.leases)

    @contextlib.contextmanager
    def _alone(self) -> Iterator[None]:
        """Keep other processes from starting or stopping the server at the same time."""
        try:
            self.directory.mkdir(parents=True, exist_ok=True, mode=0o700)
            lock = os.open(self.directory / _STARTING, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        except OSError as error:
            raise EngineError(
                f"The engine's directory {self.directory} cannot be used: {error.strerror}.",
                "Set engine.directory to a folder that you may write to.",
            ) from error
        try:
            fcntl.flock(lock, fcntl.LOCK_EX)
            yield
        finally:
            os.close(lock)

    def _start(self) -> ServerRecord:
        find_java()
        spark_home()
        self._wait_for_leftover()
        supervisor = subprocess.Popen(
            [sys.executable, "-m", "localcdap.engine.supervisor", str(self.directory)],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            start_new_session=True,
        )
        assert supervisor.stdin is not None
        with contextlib.suppress(BrokenPipeError):
            supervisor.stdin.write(msgspec.json.encode(self._options))
            supervisor.stdin.close()
        while supervisor.poll() is None:
            record = self._record()
            if record is not None and record.supervisor == supervisor.pid:
                return record
            time.sleep(_PAUSE_S)
        raise self._failure(supervisor)

    def _wait_for_leftover(self) -> None:
        """A supervisor whose server died notices soon and leaves; one that hangs is ended."""
        deadline = time.monotonic() + 3.0
        while is_locked(self.directory / LOCK) and time.monotonic() < deadline:
            time.sleep(_PAUSE_S)
        record = self._record()
        if record is not None and is_locked(self.directory / LOCK):
            self._stop(record)

    def _stop(self, record: ServerRecord) -> None:
        _signal(record.supervisor, signal.SIGTERM)
        deadline = time.monotonic() + _STOP_S
        while is_locked(self.directory / LOCK):
            if time.monotonic() > deadline:
                _signal(record.server, signal.SIGKILL)
                _signal(record.supervisor, signal.SIGKILL)
            time.sleep(_PAUSE_S)

    def _failure(self, supervisor: subprocess.Popen[bytes]) -> EngineError:
        """Why the server did not start, in its own words."""
        assert supervisor.stderr is not None
        said = supervisor.stderr.read().decode(errors="replace")
        output = self.directory / OUTPUT
        with contextlib.suppress(OSError):
            said = output.read_text(errors="replace") + said
        lines = [line.strip() for line in said.splitlines() if line.strip()]
        useful = [line for line in lines if "rror" in line or "Exception" in line] or lines
        reason = " ".join(useful[-2:]) or f"it exited with {supervisor.returncode}"
        return EngineError(
            f"The local Spark server did not start: {reason[:600]}",
            f"See {output} and {self.directory / 'spark.log'}; 'localcdap doctor' checks the machine.",
        )


def _signal(pid: int, number: signal.Signals) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.kill(pid, number)
