"""One worker process, from the supervisor's side: starting it, calling it within limits, killing it."""

from __future__ import annotations

import enum
import logging
import os
import signal
import subprocess
import sys
import threading
import time
from collections import deque
from collections.abc import Sequence
from contextlib import suppress
from multiprocessing.connection import Pipe
from pathlib import Path
from typing import Any, Final

import msgspec

from localcdap.api.serialization.structs import unpack
from localcdap.rpc.frames import Answer, Call, Fault, receive, send, to_error
from localcdap.rpc.methods import make_proxy
from localcdap.sandbox.worker import OUT_OF_MEMORY, WorkerService

_LOG: Final = logging.getLogger(__name__)
_MEMORY_CHECKED_EVERY_S: Final = 0.1
_START_LIMIT_S: Final = 30.0
_OUTPUT_KEPT: Final = 400
"""The last lines of a plugin's output, which are kept to explain a crash."""
# The worker must run the same localcdap package as the supervisor. The package's folder is removed from the
# path again, because its other modules could hide those of the standard library.
_MAIN: Final = (
    "import sys; sys.path.insert(0, sys.argv.pop(1)); import localcdap; del sys.path[0]; "
    "from localcdap.sandbox.worker import main; main(sys.argv[1:])"
)


class ExitReason(enum.Enum):
    """The reason why a worker process ended during a call."""

    TIME = "time"
    MEMORY = "memory"
    CRASH = "crash"


class WorkerLostError(Exception):
    """The worker did not answer and has ended.

    :param detail: how the process ended, as the end of a sentence whose subject is the plugin.
    :param output: the last lines that it wrote to standard output and standard error.
    """

    def __init__(self, reason: ExitReason, detail: str, output: str) -> None:
        super().__init__(detail)
        self.reason = reason
        self.detail = detail
        self.output = output


class WorkerProcess:
    """A running worker. One thread calls at a time; any thread may kill it."""

    def __init__(self, memory_mb: int) -> None:
        """:raises WorkerLostError: when the process cannot be started."""
        self._memory_bytes = memory_mb * 1024 * 1024
        self._connection, theirs = Pipe()
        self._output: deque[str] = deque(maxlen=_OUTPUT_KEPT)
        self._output_read = threading.Event()
        self._popen: subprocess.Popen[bytes] | None = None
        started = threading.Event()
        # The thread that starts a process must live as long as it: Linux treats the thread as the parent.
        thread = threading.Thread(
            target=self._run,
            args=(_build_command(theirs.fileno(), memory_mb), theirs.fileno(), started),
            name="localcdap-plugin-worker",
            daemon=True,
        )
        thread.start()
        started.wait()
        theirs.close()
        self.digests: set[str] = set()
        """The digests of the artifacts whose code has run in the process."""
        make_proxy(self, "worker", WorkerService, _START_LIMIT_S).ready()

    @property
    def pid(self) -> int:
        return self._popen.pid if self._popen else 0

    @property
    def is_usable(self) -> bool:
        """Whether the process is alive and waits for a call; another program may have killed it."""
        if self._popen is None or self._popen.poll() is not None or self._connection.closed:
            return False
        return not self._connection.poll()  # between calls only a closed connection is readable

    def get_service(self, time_limit_s: float) -> WorkerService:
        """Return the worker's service. A call that exceeds a limit, or loses the process, raises
        WorkerLostError.
        """
        return make_proxy(self, "worker", WorkerService, time_limit_s)

    def call(self, call: Call, result: Any = Any, timeout_s: float | None = None) -> Any:
        """Make one call; see :class:`localcdap.rpc.methods.CallChannel`."""
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
        """End the process and everything that it started."""
        if self._popen is not None:
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(self._popen.pid, signal.SIGKILL)
            self._popen.wait()
        with suppress(OSError):  # the thread that waits for an answer closes it too
            self._connection.close()

    def _run(self, command: Sequence[str], descriptor: int, started: threading.Event) -> None:
        try:
            self._popen = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                pass_fds=[descriptor],
                start_new_session=True,
            )
        except OSError as error:
            self._output.append(str(error))
        started.set()
        if self._popen is not None and self._popen.stdout is not None:
            self._read_output(self._popen.stdout.fileno())
        self._output_read.set()

    def _read_output(self, stream: int) -> None:
        rest = b""
        while data := os.read(stream, 65536):
            # A plugin may write a line without end.
            *lines, rest = (rest + data)[-1_000_000:].split(b"\n")
            for line in lines:
                text = line.decode("utf-8", "replace")
                self._output.append(text)
                _LOG.debug("%s", text)
        self._output.append(rest.decode("utf-8", "replace"))

    def _wait(self, limit_s: float) -> None:
        """Wait for an answer within the limits."""
        end = time.monotonic() + limit_s
        while not self._connection.poll(
            min(_MEMORY_CHECKED_EVERY_S, max(0.0, end - time.monotonic()))
        ):
            if time.monotonic() >= end:
                self._dump_stack()
                raise self._kill_and_report(ExitReason.TIME, f"did not finish within {limit_s:g} s")
            if self._get_resident_bytes() > self._memory_bytes:
                raise self._kill_and_report(ExitReason.MEMORY, "took too much memory")

    def _get_resident_bytes(self) -> int:
        import psutil

        try:
            return int(psutil.Process(self.pid).memory_info().rss)
        except psutil.Error:  # the process ended, which the connection reports
            return 0

    def _dump_stack(self) -> None:
        """Make the process write its stack, which works inside C code too."""
        with suppress(ProcessLookupError):
            os.kill(self.pid, signal.SIGUSR1)
            time.sleep(0.1)

    def _make_lost_error(self, error: Exception) -> WorkerLostError:
        """Return an error that says how the process ended, or that its connection broke."""
        if self._popen is None:
            return self._kill_and_report(
                ExitReason.CRASH, "could not be run: no process could be started"
            )
        with suppress(subprocess.TimeoutExpired):
            self._popen.wait(1.0)
        code = self._popen.returncode
        if code == OUT_OF_MEMORY:
            return self._kill_and_report(ExitReason.MEMORY, "took too much memory")
        if code is None:
            return self._kill_and_report(
                ExitReason.CRASH, f"broke the connection of its process ({error})"
            )
        if code >= 0:
            return self._kill_and_report(
                ExitReason.CRASH, f"ended its process with exit code {code}"
            )
        return self._kill_and_report(
            ExitReason.CRASH, f"crashed its process: {signal.strsignal(-code)}"
        )

    def _kill_and_report(self, reason: ExitReason, detail: str) -> WorkerLostError:
        self.kill()
        # Processes that the plugin moved to another group may keep the stream open.
        self._output_read.wait(0.5)
        return WorkerLostError(reason, detail, "\n".join(self._output))


def _build_command(connection: int, memory_mb: int) -> list[str]:
    package_parent = Path(__file__).parents[2]
    arguments = (package_parent, connection, os.getpid(), memory_mb)
    return [sys.executable, "-P", "-c", _MAIN, *map(str, arguments)]
