"""The plugin worker: the process in which user code is inspected and configured.

Started by :mod:`localcdap.sandbox.process`, which hands it one end of a connection. Standard output and
standard error belong to the plugins; the connection is the only way to the host. The modules imported
here are all that a start costs.
"""

from __future__ import annotations

import faulthandler
import os
import signal
import sys
from collections.abc import Callable
from multiprocessing.connection import Connection
from typing import Final, TypeVar

import msgspec

from localcdap.api.errors import LocalcdapError
from localcdap.api.serialization.structs import pack
from localcdap.artifacts.inspection import inspect_artifact
from localcdap.artifacts.model import Inspection
from localcdap.rpc.frames import Fault, to_fault
from localcdap.rpc.peer import answer_calls
from localcdap.sandbox.jobs import run_job
from localcdap.sandbox.process_guard import ProcessGuard
from localcdap.sandbox.process_limits import end_with_parent, limit_memory
from localcdap.sandbox.stage_configuration import ConfigureRequest, ConfigureResult, configure_stage

OUT_OF_MEMORY: Final = 97
"""Exit code of a worker that reached its memory limit."""
_T = TypeVar("_T")


class Inspected(msgspec.Struct):
    """An inspection, and why the worker must not be used again (None when it may)."""

    inspection: Inspection
    damage: str | None


class Configured(msgspec.Struct):
    """A configured stage, and why the worker must not be used again (None when it may)."""

    result: ConfigureResult
    damage: str | None


class Done(msgspec.Struct):
    """What came of a job, and why the worker must not be used again (None when it may)."""

    answer: msgspec.Raw
    """None when the job raised."""
    fault: Fault | None
    damage: str | None


class WorkerService:
    """What a worker does for its supervisor."""

    def __init__(self) -> None:
        self._health = ProcessGuard()

    def ready(self) -> bool:
        return True

    def inspect(self, path: str, digest: str) -> Inspected:
        found = self._guarded(lambda: inspect_artifact(path, digest))
        return Inspected(found, self._health.restore())

    def configure(self, request: ConfigureRequest) -> Configured:
        result = self._guarded(lambda: configure_stage(request))
        return Configured(result, self._health.restore())

    def do(self, job: str, request: msgspec.Raw) -> Done:
        """Do a job, see :mod:`localcdap.sandbox.jobs`."""
        try:
            answer, fault = self._guarded(lambda: run_job(job, request)), None
        except LocalcdapError as error:
            answer, fault = msgspec.Raw(pack(None)), to_fault(error)
        return Done(answer, fault, self._health.restore())

    def _guarded(self, call: Callable[[], _T]) -> _T:
        try:
            return call()
        except MemoryError:
            # Too little is left to answer, or to run anything else reliably.
            os._exit(OUT_OF_MEMORY)
        finally:
            self._health.exit_if_forked()


def main(arguments: list[str]) -> None:
    """Answer calls until the supervisor closes the connection.

    :param arguments: descriptor of the connection, process id of the supervisor, memory limit in MiB.
    """
    connection, supervisor, memory_mb = (int(argument) for argument in arguments)
    os.set_inheritable(connection, False)
    end_with_parent(supervisor)
    limit_memory(memory_mb)
    # A descriptor of its own, so that the dump comes through when a plugin has closed the others.
    errors = os.dup(2)
    faulthandler.enable(errors, all_threads=False)
    faulthandler.register(signal.SIGUSR1, errors, all_threads=False)
    answer_calls(Connection(connection), {"worker": WorkerService()})
    # Not sys.exit: threads and exit handlers of plugins must not hold the process.
    os._exit(0)


if __name__ == "__main__":
    main(sys.argv[1:])
