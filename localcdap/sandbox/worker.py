"""The plugin worker: the process in which user code is inspected, configured and called.

It is forked from :mod:`localcdap.sandbox.fork_server`, or started as a process of its own, see
:mod:`localcdap.sandbox.process`, and gets one end of a connection. Standard output and standard error
belong to the plugins; the connection is the only way to the host. A worker starts as fast as the modules
that are imported here load.
"""

from __future__ import annotations

import os
import sys
from multiprocessing.connection import Connection
from typing import Final, NoReturn

import msgspec

import localcdap.sandbox.plugin_calls
import localcdap.sandbox.stage_configuration  # noqa: F401 - loaded before the first call
from localcdap.api.serialization.structs import pack
from localcdap.processes.limits import adopt_orphans, limit_memory
from localcdap.processes.spawn import write_stack_on_request
from localcdap.rpc.frames import Fault, to_fault
from localcdap.rpc.methods import answer_calls
from localcdap.sandbox.jobs import run_job
from localcdap.sandbox.process_guard import ProcessGuard

WORKER_SERVICE: Final = "worker"
"""The name under which the supervisor calls :class:`WorkerService`."""
OUT_OF_MEMORY: Final = 97
"""Exit code of a worker that reached its memory limit."""


class JobResult(msgspec.Struct):
    """The outcome of one job."""

    answer: msgspec.Raw
    """None when the job raised."""
    fault: Fault | None
    damage: str | None
    """Why the process must not be used again; None when it can be."""
    has_children: bool
    """Whether processes that user code started may still run."""


class WorkerService:
    """The service that a worker offers to its supervisor."""

    def __init__(self, guard: ProcessGuard) -> None:
        self._guard = guard

    def ready(self) -> bool:
        """Answer as soon as the process has started."""
        return True

    def run(self, job: str, request: msgspec.Raw, is_last: bool = False) -> JobResult:
        """Run a job (see :mod:`localcdap.sandbox.jobs`), and restore the process after it.

        :param is_last: whether the process ends with the job, so that nothing is to be restored.
        """
        try:
            answer, fault = self._run(job, request), None
        except Exception as error:  # code of localcdap too may raise, when user code has changed it
            answer, fault = msgspec.Raw(pack(None)), to_fault(error)
        if is_last:
            return JobResult(answer, fault, None, False)
        return JobResult(answer, fault, self._guard.restore(), self._guard.reap_children())

    def _run(self, job: str, request: msgspec.Raw) -> msgspec.Raw:
        try:
            return run_job(job, request)
        except MemoryError:
            # Too little memory is left to answer, or to run anything else reliably.
            os._exit(OUT_OF_MEMORY)
        finally:
            self._guard.exit_if_forked()


def serve(connection: int, memory_mb: int, guard: ProcessGuard) -> NoReturn:
    """Answer calls until the supervisor closes the connection, and end the process.

    :param connection: descriptor of the connection.
    :param guard: made before any user code ran.
    """
    os.set_inheritable(connection, False)
    adopt_orphans()
    limit_memory(memory_mb)
    write_stack_on_request()
    answer_calls(Connection(connection), {WORKER_SERVICE: WorkerService(guard)})
    # Not sys.exit: threads and exit handlers of plugins must not keep the process alive.
    os._exit(0)


def main(arguments: list[str]) -> None:
    """Run as a process of its own.

    :param arguments: descriptor of the connection, memory limit in MiB.
    """
    connection, memory_mb = (int(argument) for argument in arguments)
    serve(connection, memory_mb, ProcessGuard())


if __name__ == "__main__":
    main(sys.argv[1:])
