"""The process that owns the local Spark server: starts it, stops it when idle, falls with it.

``python -m localcdap.engine.local.supervisor DIRECTORY`` reads its options as JSON from standard input,
holds the lock ``server.lock``, in which its process id stands, while the server runs, and writes
``server.json`` when the server can be reached. It stops when that file is removed.
"""

from __future__ import annotations

import contextlib
import ctypes
import fcntl
import os
import secrets
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path
from types import FrameType
from typing import Final

import msgspec
import psutil

from localcdap.engine.local.archive import ClassArchive, Training
from localcdap.engine.local.idle_workers import IdleWorkers
from localcdap.engine.local.java import find_java
from localcdap.engine.local.keeper import TemplateKeeper
from localcdap.engine.local.launch import server_command, server_environment, write_configuration
from localcdap.engine.local.leases import are_held, is_locked
from localcdap.engine.local.record import (
    LEASES,
    LOCK,
    OUTPUT,
    RECORD,
    ServerOptions,
    ServerRecord,
    is_open,
    read_host_record,
)

_START_S: Final = 180.0
_STOP_S: Final = 10.0
_LOCK_S: Final = 2.0
"""Others hold the lock for an instant when they ask whether it is held."""
_WORKERS_S: Final = 30.0
"""Between two looks for Python processes that nobody uses."""
_PR_SET_PDEATHSIG: Final = 1


class _StopAsked(BaseException):
    """A signal asked to stop."""


def supervise(directory: Path, options: ServerOptions) -> None:
    """Start the server and stay until it ends, is told to end, or is idle for too long.

    Returns at once when another supervisor has the directory.
    """
    directory.mkdir(parents=True, exist_ok=True, mode=0o700)
    lock = _take_lock(directory / LOCK)
    if lock is None:
        return
    signal.signal(signal.SIGTERM, _stop)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    with contextlib.suppress(_StopAsked):
        was_idle = _serve(directory, options)
        os.close(lock)
        if was_idle:
            _train(directory, options)


def _serve(directory: Path, options: ServerOptions) -> bool:
    """Run the server to its end; says whether it was stopped because nobody used it."""
    server: subprocess.Popen[bytes] | None = None
    record = directory / RECORD
    try:
        _end_orphan(directory)
        record.unlink(missing_ok=True)
        _clear(directory / "tmp")
        port, token = _free_port(), secrets.token_urlsafe(32)
        archive = ClassArchive(directory, find_java())
        server = _start(directory, options, port, token, archive.options)
        if _wait_until_open(server, port):
            _write(record, _record(server, options, port, token))
            return _watch(server, directory, options)
        return False
    finally:
        record.unlink(missing_ok=True)
        if server is not None:
            _end(server)


def _train(directory: Path, options: ServerOptions) -> None:
    """Let the next server start faster."""
    folder = directory / "training"

    def start(jvm_options: list[str]) -> Training:
        port = _free_port()
        server = _start(folder, options, port, secrets.token_urlsafe(32), jvm_options, patient=True)
        return Training(server, folder, lambda: is_open(port) and _listens(server, port))

    ClassArchive(directory, find_java()).make(start, lambda: is_locked(directory / LOCK))


def _take_lock(path: Path) -> int | None:
    """The lock, which is held until it is closed; None when another process has it."""
    lock = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    deadline = time.monotonic() + _LOCK_S
    while True:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() > deadline:
                os.close(lock)
                return None
            time.sleep(0.02)
        else:
            os.ftruncate(lock, 0)
            os.pwrite(lock, str(os.getpid()).encode(), 0)
            return lock


def _end_orphan(directory: Path) -> None:
    """End the server of a killed supervisor, where the kernel did not (outside of Linux)."""
    record = read_host_record(directory)
    if record is None:
        return
    with contextlib.suppress(psutil.Error):
        orphan = psutil.Process(record.server)
        if any(argument.startswith(f"{directory}{os.sep}") for argument in orphan.cmdline()):
            orphan.kill()
            orphan.wait(_STOP_S)


def _start(
    directory: Path,
    options: ServerOptions,
    port: int,
    token: str,
    jvm_options: list[str],
    *,
    patient: bool = False,
) -> subprocess.Popen[bytes]:
    write_configuration(directory, port, options.cores, options.memory)
    java, *arguments = server_command(find_java(), options.cores, options.memory, directory)
    with (directory / OUTPUT).open("wb") as output:
        return subprocess.Popen(
            [java, *jvm_options, *arguments],
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            env=server_environment(token),
            cwd=directory,
            preexec_fn=_be_patient if patient else _die_with_parent,  # noqa: PLW1509 - one thread
        )


def _be_patient() -> None:
    _die_with_parent()
    os.nice(19)


def _die_with_parent() -> None:
    """Have the kernel end the server when its supervisor is killed (Linux only)."""
    with contextlib.suppress(OSError, AttributeError):
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)


def _wait_until_open(server: subprocess.Popen[bytes], port: int) -> bool:
    deadline = time.monotonic() + _START_S
    while time.monotonic() < deadline and server.poll() is None:
        if is_open(port) and _listens(server, port):
            return True
        time.sleep(0.05)
    return False


def _listens(server: subprocess.Popen[bytes], port: int) -> bool:
    """Whether it is our server that has the port: the token is for nobody else."""
    with contextlib.suppress(psutil.Error):
        sockets = psutil.Process(server.pid).net_connections("tcp")
        return any(s.laddr.port == port and s.status == psutil.CONN_LISTEN for s in sockets)
    return False


def _watch(server: subprocess.Popen[bytes], directory: Path, options: ServerOptions) -> bool:
    """Stay until the server is not needed or there any more; says whether it was idle."""
    workers = IdleWorkers(server.pid, directory / LEASES)
    used = looked = time.monotonic()
    limit = options.idle_minutes * 60
    pause = min(1.0, limit / 4) if limit else 1.0
    with TemplateKeeper(directory) as template:
        while True:
            with contextlib.suppress(subprocess.TimeoutExpired):
                server.wait(pause)
                return False
            now = time.monotonic()
            if are_held(directory / LEASES):
                used = now
            else:
                template.keep()
            if now - looked > _WORKERS_S:
                workers.end()
                looked = now
            if limit and now - used > limit:
                return True
            if not (directory / RECORD).exists():
                return False


def _end(server: subprocess.Popen[bytes]) -> None:
    server.terminate()
    try:
        server.wait(_STOP_S)
    except (subprocess.TimeoutExpired, _StopAsked):
        server.kill()
        server.wait()


def _record(
    server: subprocess.Popen[bytes], options: ServerOptions, port: int, token: str
) -> ServerRecord:
    from importlib import metadata

    return ServerRecord(
        url=f"sc://localhost:{port}",
        token=token,
        supervisor=os.getpid(),
        server=server.pid,
        started=time.time(),
        options=options,
        python=sys.executable,
        spark=metadata.version("pyspark"),
    )


def _write(path: Path, record: ServerRecord) -> None:
    draft = path.with_name(f".{path.name}")
    descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(descriptor, "wb") as file:
        file.write(msgspec.json.encode(record))
    draft.rename(path)


def _clear(folder: Path) -> None:
    """Remove what a server that was killed left behind."""
    import shutil

    shutil.rmtree(folder, ignore_errors=True)


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def _stop(_number: int, _frame: FrameType | None) -> None:
    raise _StopAsked


if __name__ == "__main__":
    supervise(Path(sys.argv[1]), msgspec.json.decode(sys.stdin.buffer.read(), type=ServerOptions))
