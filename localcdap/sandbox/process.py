"""One worker process, from the supervisor's side: starting it, calling it within limits, ending it.

It is a fork of a fork server on Linux, and a new process elsewhere. Either way a worker begins without any
change that user code has made to another one. macOS has ``fork`` too, but its system libraries may crash in a
forked process that does not execute a program (Python's ``multiprocessing`` does not fork there by default
either).
"""

from __future__ import annotations

import enum
import logging
import os
import signal
import threading
import time
from contextlib import suppress
from multiprocessing.connection import Pipe, wait
from typing import TYPE_CHECKING, Any, Final

import msgspec

from localcdap.api.serialization.value_types import unpack
from localcdap.processes.fork_server import OwnedForkServer
from localcdap.processes.identity import is_running
from localcdap.processes.limits import IS_LINUX
from localcdap.processes.spawn import OutputPipe, build_main_command, request_stack, start_process
from localcdap.processes.tree import (
    end_group,
    end_tree,
    find_session,
    list_descendants,
    measure_delay,
    measure_memory,
)
from localcdap.rpc.frames import Answer, Call, Fault, receive, send, to_error
from localcdap.rpc.methods import make_proxy
from localcdap.sandbox.worker import OUT_OF_MEMORY, WORKER_SERVICE, JobResult, WorkerService

if TYPE_CHECKING:
    import subprocess


_FORK_SERVER: Final = "localcdap.sandbox.fork_server"
_WORKER: Final = "localcdap.sandbox.worker"


class ForkingLauncher:
    """Has workers forked by a fork server, which it starts, and starts again when it was lost.

    Threads may share it.
    """

    forks = True
    """Whether a worker can be called at once, because it has loaded its modules already."""

    def __init__(self) -> None:
        self._turn = threading.Lock()
        self._server: OwnedForkServer | None = None
        self._closed = False

    def start(self) -> None:
        """Prepare for :meth:`launch`, which else does it.

        :raises OSError: when no process can be started.
        """
        with self._turn:
            self._get_server()

    def launch(self, connection: int, output: int, memory_mb: int) -> int:
        """Start a worker, and return its process id.

        :param connection: descriptor of the worker's end of the connection; the caller closes its own.
        :param output: descriptor of its standard output and standard error; the caller closes its own.
        :raises OSError: when no process can be started.
        """
        with self._turn:
            server = self._get_server()
            try:
                return _fork_worker(server, connection, output, memory_mb)
            except OSError as error:
                _LOG.info("the fork server of plugin workers is started again: %s", error)
                self._end_server()
            return _fork_worker(self._get_server(), connection, output, memory_mb)

    def list_orphans(self, pid: int) -> list[int]:
        """Return the running processes that a worker has started and disowned, so that the server has them.

        A session tells those of another worker. Those of none count, too.
        """
        server = self._server
        if server is None or not server.list_orphans():
            return []
        with self._turn:  # meanwhile nothing is forked that is not known yet
            others = server.pids - {pid}
            return [each for each in server.list_orphans() if find_session(each) not in others]

    def end(self, pid: int, descendants: set[int]) -> int | None:
        """End a worker and what it started.

        :param descendants: the processes that it was seen to start; on Linux the others are found too.
        :returns: its exit code, a signal's number negative; None when it is not known.
        """
        with self._turn:
            if self._server is not None and pid in self._server.pids:
                with suppress(OSError):
                    return self._server.end(pid)
        end_group(pid)  # its server is lost, or hangs
        return None

    def close(self) -> None:
        """End all workers."""
        self._closed = True
        server = self._server
        if server is not None and not server.has_forked:
            server.kill()  # it may still load its libraries, and a thread may wait for that
        with self._turn:
            self._end_server()

    def _get_server(self) -> OwnedForkServer:
        if self._closed:
            raise OSError("The plugin worker was closed.")
        if self._server is None:
            self._server = OwnedForkServer(build_main_command(_FORK_SERVER))
        return self._server

    def _end_server(self) -> None:
        server, self._server = self._server, None
        if server is not None:
            server.close()


def _fork_worker(server: OwnedForkServer, connection: int, output: int, memory_mb: int) -> int:
    nothing = os.open(os.devnull, os.O_RDONLY)
    try:
        streams = (nothing, output, output, connection)
        return server.fork(str(memory_mb).encode(), streams, _START_LIMIT_S)
    finally:
        os.close(nothing)


class ProcessLauncher:
    """Starts each worker as a process of its own, in about 0.2 s."""

    forks = False

    def __init__(self) -> None:
        self._workers: dict[int, subprocess.Popen[bytes]] = {}

    def start(self) -> None:
        """See :meth:`ForkingLauncher.start`."""

    def launch(self, connection: int, output: int, memory_mb: int) -> int:
        """See :meth:`ForkingLauncher.launch`."""
        command = build_main_command(_WORKER, connection, memory_mb)
        worker = start_process(command, output=output, descriptors=[connection])
        self._workers[worker.pid] = worker
        return worker.pid

    def list_orphans(self, _pid: int) -> list[int]:
        """See :meth:`ForkingLauncher.list_orphans`; here there is no server that could adopt them."""
        return []

    def end(self, pid: int, descendants: set[int]) -> int | None:
        """See :meth:`ForkingLauncher.end`."""
        worker = self._workers.pop(pid, None)
        return None if worker is None else end_tree(worker, seen=descendants)

    def close(self) -> None:
        """See :meth:`ForkingLauncher.close`."""
        for pid in list(self._workers):
            self.end(pid, set())


WorkerLauncher = ForkingLauncher | ProcessLauncher


def make_launcher() -> WorkerLauncher:
    """Return the launcher for this system."""
    return ForkingLauncher() if IS_LINUX else ProcessLauncher()


_LOG: Final = logging.getLogger(__name__)
_LIMITS_CHECKED_EVERY_S: Final = 0.1
_START_LIMIT_S: Final = 30.0
_MOST_DELAY: Final = 5
"""By how many time limits a call may be held up by other processes before it is ended all the same."""
_ENDING_S: Final = 0.2
"""Seconds that processes which are about to end when a call has ended may take for it."""
_PAUSE_S: Final = 0.002
_DUMP_S: Final = 0.1
"""Seconds that a process gets to write its stack."""
_OUTPUT_KEPT: Final = 400
"""The last lines of a plugin's output, which are kept to explain a crash."""


class ExitReason(enum.Enum):
    """The reason why a worker process ended during a call."""

    TIME = "time"
    MEMORY = "memory"
    CRASH = "crash"
    KILLED = "killed"
    """By somebody else, as far as is known: a user, or a system without free memory."""


class WorkerLostError(Exception):
    """The worker did not answer and has ended.

    :param detail: how the process ended, as the end of a sentence whose subject is the plugin.
    :param output: the last lines that it wrote to standard output and standard error.
    """

    def __init__(self, reason: ExitReason, detail: str, output: str = "") -> None:
        super().__init__(detail)
        self.reason = reason
        self.detail = detail
        self.output = output


class WorkerProcess:
    """A running worker. One thread calls at a time; any thread may kill it."""

    def __init__(self, launcher: WorkerLauncher, memory_mb: int) -> None:
        """:raises WorkerLostError: when the process cannot be started."""
        self._launcher = launcher
        self._memory_bytes = memory_mb * 1024 * 1024
        self._connection, theirs = Pipe()
        output, their_output = os.pipe()
        self._output = OutputPipe(output, _OUTPUT_KEPT, _log_line)
        self._descendants: set[int] = set()
        self._ending = threading.Lock()
        # A descriptor that is closed twice, or while it is read, may belong to another worker by then.
        self._using = threading.RLock()
        self._ended = False
        self._exit_code: int | None = None
        try:
            self.pid = launcher.launch(theirs.fileno(), their_output, memory_mb)
        except OSError as error:
            self._connection.close()
            self._output.close()
            detail = f"could not be run: no process could be started ({error})"
            raise WorkerLostError(ExitReason.CRASH, detail) from None
        finally:
            theirs.close()
            os.close(their_output)
        if (
            not launcher.forks
        ):  # the start takes long, and the time of the first call does not include it
            make_proxy(self, WORKER_SERVICE, WorkerService, _START_LIMIT_S).ready()

    @property
    def is_usable(self) -> bool:
        """Whether the process is alive and waits for a call; another program may have killed it."""
        with self._using:
            if self._ended or self._connection.closed or not is_running(self.pid):
                return False
            return not self._connection.poll()  # between calls only a closed one is readable

    def run(
        self, job: str, request: msgspec.Raw, time_limit_s: float, *, is_last: bool = False
    ) -> JobResult:
        """Run a job; see :meth:`localcdap.sandbox.worker.WorkerService.run`.

        The damage in the result includes processes that the job has left behind.

        :raises WorkerLostError: when the job exceeds a limit, or the process ends.
        """
        service = make_proxy(self, WORKER_SERVICE, WorkerService, time_limit_s)
        result = service.run(job, request, is_last)
        if not is_last and (result.has_children or IS_LINUX) and (left := self._list_left_behind()):
            count = f"{len(left):,} processes" if len(left) > 1 else "a process"
            result.damage = f"it left {count} behind"
        return result

    def call(self, call: Call, result: Any = Any, timeout_s: float | None = None) -> Any:
        """Make one call; see :class:`localcdap.rpc.methods.CallChannel`."""
        with self._using:
            try:
                send(self._connection, call)
                self._wait(timeout_s if timeout_s is not None else _START_LIMIT_S)
                answer: Answer = receive(self._connection, Answer)
                if isinstance(answer, Fault):
                    raise to_error(answer)
                return unpack(answer.value, result)
            except (ConnectionError, msgspec.DecodeError, OSError) as error:
                raise self._make_lost_error(error) from None

    def kill(self) -> None:
        """End the process and everything that it started, and a call of another thread with it."""
        with self._ending:
            if not self._ended:
                self._ended = True
                self._exit_code = self._launcher.end(self.pid, self._descendants)
        with self._using:
            self._connection.close()

    def _wait(self, limit_s: float) -> None:
        """Wait for an answer within the limits.

        The time in which the process was held up by others does not count, up to a multiple of the limit.
        """
        begin, delay = time.monotonic(), measure_delay(self.pid)
        end = begin + limit_s
        check = time.monotonic() + _LIMITS_CHECKED_EVERY_S
        while True:
            now = time.monotonic()
            ready = wait(self._output.add_to([self._connection]), max(0.0, min(end, check) - now))
            if self._connection in ready:
                return
            if ready:
                self._output.read()
            now = time.monotonic()
            if now >= end:
                held_up_s = min(measure_delay(self.pid) - delay, _MOST_DELAY * limit_s)
                end = begin + limit_s + max(0.0, held_up_s)
            if now >= end:
                self._dump_stack()
                raise self._kill_and_report(ExitReason.TIME, f"did not finish within {limit_s:g} s")
            if now >= check:
                check = now + _LIMITS_CHECKED_EVERY_S
                self._check_processes()

    def _check_processes(self) -> None:
        """Notice what the plugin has started, how much memory it takes, and that the process has ended."""
        if not is_running(self.pid):
            # A process that the plugin started may keep the connection open.
            if not self._connection.poll():
                raise ConnectionResetError
            return
        descendants = list_descendants(self.pid)
        self._descendants.update(descendants)
        limit = self._memory_bytes
        if measure_memory([self.pid, *descendants], limit) > limit:
            raise self._kill_and_report(ExitReason.MEMORY, "took too much memory")

    def _list_left_behind(self) -> set[int]:
        """Return the processes that user code has started and that do not end."""
        end = time.monotonic() + _ENDING_S
        while left := {
            *list_descendants(self.pid),
            *self._launcher.list_orphans(self.pid),
            *filter(is_running, self._descendants),
        }:
            if time.monotonic() >= end:
                self._descendants = left
                return left
            time.sleep(_PAUSE_S)
        self._descendants.clear()
        return left

    def _dump_stack(self) -> None:
        """Make the process write its stack."""
        if request_stack(self.pid):
            time.sleep(_DUMP_S)

    def end(self) -> str:
        """End a process that :attr:`is_usable` no more.

        :returns: how it ended, as the end of a sentence whose subject is the process.
        """
        has_ended, code = self._find_end()
        if not has_ended or code is None:
            return "broke its connection"
        if code == OUT_OF_MEMORY:
            return "took too much memory"
        if code >= 0:
            return f"ended with exit code {code}"
        return f"was ended by a signal: {signal.strsignal(-code)}"

    def _find_end(self) -> tuple[bool, int | None]:
        """End the process; return whether it had ended by itself, and its exit code if that is known."""
        end = time.monotonic() + 1.0
        while (is_alive := is_running(self.pid)) and time.monotonic() < end:
            time.sleep(_PAUSE_S)
        self.kill()
        return not is_alive, self._exit_code

    def _make_lost_error(self, error: Exception) -> WorkerLostError:
        """Return an error that says how the process ended, or that its connection broke."""
        has_ended, code = self._find_end()
        if not has_ended:
            return self._kill_and_report(
                ExitReason.CRASH, f"broke the connection of its process ({error})"
            )
        if code is None or code == -signal.SIGKILL:  # None: together with the server that forked it
            detail = "lost its process, which was killed, as a user or a system without memory does"
            return self._kill_and_report(ExitReason.KILLED, detail)
        if code == OUT_OF_MEMORY:
            return self._kill_and_report(ExitReason.MEMORY, "took too much memory")
        if code >= 0:
            return self._kill_and_report(
                ExitReason.CRASH, f"ended its process with exit code {code}"
            )
        return self._kill_and_report(
            ExitReason.CRASH, f"crashed its process: {signal.strsignal(-code)}"
        )

    def _kill_and_report(self, reason: ExitReason, detail: str) -> WorkerLostError:
        self.kill()
        return WorkerLostError(reason, detail, self._output.read_rest())


def _log_line(line: str) -> None:
    _LOG.debug("%s", line)
