"""The process that owns the local Spark server: it starts the server, stops it when idle, and ends with it.

``python -m localcdap.engine.local.supervisor DIRECTORY`` reads its options as JSON from standard input, locks
``server.lock``, which contains its process id, while the server runs, and writes ``server.json`` when the
server can be reached. It stops when that file is removed.

Next to the server it has Python processes: the fork servers, and Spark's daemons of workers.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import secrets
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from types import FrameType
from typing import Final

import msgspec

from localcdap.decoders import decode_json
from localcdap.engine.local.launch import (
    ClassArchive,
    TrainingServer,
    build_server_command,
    build_server_environment,
    build_worker_environment,
    compute_program_digest,
    find_java,
    write_configuration,
)
from localcdap.engine.local.server import (
    LEASES,
    LOCK,
    OUTPUT,
    RECORD,
    ServerOptions,
    ServerRecord,
    is_port_open,
    read_server_record,
)
from localcdap.engine.local.worker_slots import list_daemons
from localcdap.files.atomic import write_internal_file
from localcdap.processes.identity import ProcessIdentity, listens_on, read_command, wait_for_end
from localcdap.processes.limits import protect_new_files
from localcdap.processes.single_instance import (
    REPORT,
    StartReport,
    are_leases_held,
    find_oldest_lease,
    is_locked,
    take_lock,
)
from localcdap.processes.spawn import RestartedProcess, start_process
from localcdap.processes.tree import end_child, interrupt, kill, list_children

RUN_SERVER: Final = "localcdap.engine.fork_server"
WORKER_SERVER: Final = "localcdap.engine.worker_server"
_DAEMON: Final = "localcdap.engine.local.worker_daemon"
"""The module of a daemon of workers that was not forked."""
_STANDARD_ERROR: Final = 2
_CLOCK_S: Final = 1.0
"""The most that the times of files and of processes may differ, in seconds."""


def keep_fork_server(
    directory: Path, module: str, environment: Mapping[str, str] | None = None
) -> RestartedProcess:
    """Return a fork server that is started again when it has exited because its code was outdated. Run
    processes go on when it is ended.

    :param directory: of the local engine.
    :param module: ``RUN_SERVER`` or ``WORKER_SERVER``.
    :param environment: by default that of this process.
    """
    return RestartedProcess(
        lambda: start_process(
            [sys.executable, "-m", module],
            errors=_STANDARD_ERROR,
            directory=directory,
            environment=environment,
            new_session=False,
        )
    )


class IdleWorkers:
    """The worker daemons of sessions that are over, up to 75 MB each, which Spark keeps until it stops.

    A daemon belongs to such a session when it had no worker in two checks in a row, is older than every
    lease and does not serve a slot. If a process without a lease still uses the session, Spark starts
    another daemon.

    :param server: process id of the Spark server, which has started the daemons that were not forked.
    :param engine: the directory of the local engine.
    """

    def __init__(self, server: int, engine: Path) -> None:
        self._server: Final = server
        self._engine: Final = engine
        self._idle: set[ProcessIdentity] = set()

    def end_idle(self, fork_server: int | None = None) -> None:
        """End the daemons that are idle now and were idle at the last call.

        :param fork_server: process id of the fork server of daemons; None when there is none.
        """
        idle = self._find_idle(fork_server)
        for process in idle & self._idle:
            interrupt(process, group=False)
        self._idle = idle

    def _find_idle(self, fork_server: int | None) -> set[ProcessIdentity]:
        since = find_oldest_lease(self._engine / LEASES)
        kept = list_daemons(self._engine)
        idle = set()
        for process in find_daemons(self._server, fork_server):
            old = since is None or process.created < since - _CLOCK_S
            if old and process.pid not in kept and not list_children(process.pid):
                idle.add(process)
        return idle


def find_daemons(server: int, fork_server: int | None) -> set[ProcessIdentity]:
    """Return the daemons of workers that a Spark server uses, or has used.

    :param fork_server: process id of the fork server of daemons; None when there is none.
    """
    started = {child for child in list_children(server) if _DAEMON in read_command(child.pid)}
    return started if fork_server is None else {*started, *list_children(fork_server)}


_START_S: Final = 180.0
_STOP_S: Final = 10.0
_LOCK_S: Final = 2.0
"""Other processes hold the lock for an instant when they check whether it is held."""
_WORKERS_S: Final = 30.0
"""Between two checks for Python processes that nobody uses."""
_FORK_SERVER_S: Final = 5.0
"""Age of the Spark server from which it has a fork server although it is in use.

Loading the libraries takes a second of the processor, which the run that started the Spark server needs.
Each later run saves that second: 0.5 s instead of 1.8 s of its process."""


class _StopRequested(BaseException):
    """A signal requested the stop."""


def supervise(directory: Path, options: ServerOptions, report: StartReport) -> None:
    """Start the server and return when it has ended, was asked to end, or was idle for too long.

    Returns at once when another supervisor has locked the directory.

    :param report: sent when the server can be reached.
    """
    directory.mkdir(parents=True, exist_ok=True, mode=0o700)
    lock = take_lock(directory / LOCK, _LOCK_S)
    if lock is None:
        return
    signal.signal(signal.SIGTERM, _request_stop)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    with contextlib.suppress(_StopRequested):
        was_idle = _serve(directory, options, report)
        os.close(lock)
        if was_idle:
            _train(directory, options)


def _serve(directory: Path, options: ServerOptions, report: StartReport) -> bool:
    """Run the server to its end; return whether it was stopped because nobody used it."""
    server: subprocess.Popen[bytes] | None = None
    record = directory / RECORD
    try:
        _end_orphan(directory)
        record.unlink(missing_ok=True)
        _remove_folder(directory / "tmp")
        port, token = _find_free_port(), secrets.token_urlsafe(32)
        archive = ClassArchive(directory, find_java())
        server = _start_server(directory, options, port, token, archive.options)
        if _wait_until_open(server, port):
            _write_record(record, _create_record(server, options, port, token))
            report.send(b"listens")
            return _watch_server(server, directory, options)
        return False
    finally:
        record.unlink(missing_ok=True)
        if server is not None:
            end_child(server, _STOP_S)


def _train(directory: Path, options: ServerOptions) -> None:
    """Record the class archive, with which the next server starts faster."""
    folder = directory / "training"

    def start(jvm_options: list[str]) -> TrainingServer:
        port = _find_free_port()
        server = _start_server(
            folder, options, port, secrets.token_urlsafe(32), jvm_options, low_priority=True
        )
        return TrainingServer(
            server, folder, lambda: is_port_open(port) and listens_on(server.pid, port)
        )

    ClassArchive(directory, find_java()).create(start, lambda: is_locked(directory / LOCK))


def _end_orphan(directory: Path) -> None:
    """End the server of a supervisor that was killed, if the kernel did not (outside of Linux)."""
    record = read_server_record(directory)
    if record is None:
        return
    folder = f"{directory}{os.sep}"
    if any(argument.startswith(folder) for argument in read_command(record.server)):
        kill(record.server)
        wait_for_end(record.server, _STOP_S)


def _start_server(
    directory: Path,
    options: ServerOptions,
    port: int,
    token: str,
    jvm_options: list[str],
    *,
    low_priority: bool = False,
) -> subprocess.Popen[bytes]:
    write_configuration(directory, port, options.cores, options.memory)
    java, *arguments = build_server_command(find_java(), options.cores, options.memory, directory)
    with (directory / OUTPUT).open("wb") as output:
        return start_process(
            [java, *jvm_options, *arguments],
            output=output,
            directory=directory,
            environment=build_server_environment(token),
            new_session=False,
            ends_with_parent=True,
            low_priority=low_priority,
        )


def _wait_until_open(server: subprocess.Popen[bytes], port: int) -> bool:
    deadline = time.monotonic() + _START_S
    while time.monotonic() < deadline and server.poll() is None:
        # No other process may receive the token of the server.
        if is_port_open(port) and listens_on(server.pid, port):
            return True
        time.sleep(0.05)
    return False


def _watch_server(server: subprocess.Popen[bytes], directory: Path, options: ServerOptions) -> bool:
    """Return when the server has ended or is not needed any more; the result says whether it was idle."""
    workers = IdleWorkers(server.pid, directory)
    began = used = checked = time.monotonic()
    limit = options.idle_minutes * 60
    pause = min(1.0, limit / 4) if limit else 1.0
    with (
        keep_fork_server(directory, RUN_SERVER) as run_server,
        keep_fork_server(directory, WORKER_SERVER, build_worker_environment()) as worker_server,
    ):
        while True:
            with contextlib.suppress(subprocess.TimeoutExpired):
                server.wait(pause)
                return False
            now = time.monotonic()
            if are_leases_held(directory / LEASES):
                used = now
            if used < now or now - began > _FORK_SERVER_S:
                run_server.ensure_running()
                worker_server.ensure_running()
            if now - checked > _WORKERS_S:
                workers.end_idle(worker_server.pid)
                checked = now
            if limit and now - used > limit:
                return True
            if not (directory / RECORD).exists():
                return False


def _create_record(
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
        program=compute_program_digest(),
    )


def _write_record(path: Path, record: ServerRecord) -> None:
    write_internal_file(path, msgspec.json.encode(record), mode=0o600, is_synced=False)


def _remove_folder(folder: Path) -> None:
    """Remove the temporary files of a server that was killed."""
    import shutil

    shutil.rmtree(folder, ignore_errors=True)


def _find_free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def _request_stop(_number: int, _frame: FrameType | None) -> None:
    raise _StopRequested


if __name__ == "__main__":
    protect_new_files()
    parser = argparse.ArgumentParser()
    parser.add_argument("directory", type=Path)
    parser.add_argument(REPORT, type=int)
    arguments = parser.parse_args()
    read_options = decode_json(sys.stdin.buffer.read(), type=ServerOptions)
    supervise(arguments.directory, read_options, StartReport(arguments.report))
