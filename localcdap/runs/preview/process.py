"""The process of a preview, stage debugging or pipeline test: it is started, read, stopped, its folder
removed.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Final

from localcdap.api.serialization.value_types import unpack
from localcdap.engine.messages.orders import SPOOL, WorkOrder, describe_exit
from localcdap.engine.messages.spool import PreviewMessage, StatusChanged
from localcdap.messaging.consumer import SpoolReader
from localcdap.processes.identity import is_alive, wait_for_end
from localcdap.processes.tree import interrupt
from localcdap.runs.startup.processes import RunProcess, kill, take_exit_code
from localcdap.runs.startup.provisioners import Provisioner

_PAUSE_S: Final = 0.01
_GRACE_S: Final = 5.0
"""Seconds that a process may take to stop by itself before it is killed."""


class PreviewProcesses:
    """Starts preview processes, which use the local engine.

    :param directory: of the sub-directories of running processes.
    :param engine_directory: of the local engine.
    :param engine: provisions the local engine for each process.
    """

    def __init__(self, directory: Path, engine_directory: Path, engine: Provisioner) -> None:
        self._directory: Final = directory
        self._engine_directory: Final = engine_directory
        self._engine: Final = engine

    def start(self) -> PreviewProcess:
        """Start a process, which imports its libraries and waits for its order."""
        return PreviewProcess(RunProcess(self._directory, self._engine_directory), self._engine)


class PreviewProcess:
    """A process that carries out the order of a preview. It ends with its owner."""

    def __init__(self, process: RunProcess, engine: Provisioner) -> None:
        self._process: Final = process
        self._engine: Final = engine
        self._offset = 0

    @property
    def run(self) -> str:
        """The id of the preview."""
        return self._process.run

    @property
    def directory(self) -> Path:
        """The folder of the preview, which is removed with it."""
        return self._process.directory

    def carry_out(
        self,
        order: WorkOrder,
        on_message: Callable[[PreviewMessage], None],
        is_over: Callable[[], bool],
    ) -> bool:
        """Complete the order, send it, and return when the process has ended.

        :param on_message: called with every message.
        :param is_over: called repeatedly; says whether the process is to be stopped.
        :returns: whether the process reported its end.
        :raises EngineError: when the engine cannot be started.
        """
        with self._engine.provision() as engine:
            engine.write_into(order)
            order.run_id = self.run
            self._process.order(order)
            has_ended = False
            while not has_ended and is_alive(self._process.identity) and not is_over():
                has_ended = self._read_messages(on_message)
                time.sleep(_PAUSE_S)
            return has_ended or self._read_messages(on_message)

    def describe_exit(self) -> str:
        """Return a sentence that says how the process ended; empty when that is not known."""
        process = self._process
        return describe_exit(take_exit_code(process.identity, process.directory, waits=True))

    def close(self) -> None:
        """End the process and Spark's work for it, and remove its folder."""
        process = self._process.identity
        interrupt(process)
        if is_alive(process) and not wait_for_end(process.pid, _GRACE_S):
            from localcdap.engine.driver.recovery import stop_spark_work

            kill(process)
            stop_spark_work(self._process.directory)
        self._process.cancel()

    def _read_messages(self, on_message: Callable[[PreviewMessage], None]) -> bool:
        """Pass on the new messages; return whether the end was among them."""
        is_last = False
        for offset, data in SpoolReader(self._process.directory / SPOOL).read(self._offset):
            self._offset = offset
            message = unpack(data, PreviewMessage)
            is_last = isinstance(message, StatusChanged) and message.status.is_end
            on_message(message)
        return is_last
