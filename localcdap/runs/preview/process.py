"""The process of a trial as its owner sees it: started, heard, killed, its folder removed."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Final

from localcdap.api.serialization.structs import unpack
from localcdap.engine.driver.recovery import stop_spark_work
from localcdap.engine.messages.orders import SPOOL, WorkOrder
from localcdap.engine.messages.spool import PreviewMessage, StatusChanged
from localcdap.messaging.spool import SpoolReader
from localcdap.runs.processes import RunProcess, interrupt, is_alive, kill
from localcdap.runs.provisioners import Provisioner

_PAUSE_S: Final = 0.01
_GRACE_S: Final = 5.0
"""Seconds that a process may take to stop by itself before it is killed."""


class PreviewProcesses:
    """Starts processes of trials, which use the local engine.

    :param directory: holds one sub-directory for each trial while it goes on.
    :param engine_directory: of the local engine.
    :param engine: gives each trial the local engine.
    """

    def __init__(self, directory: Path, engine_directory: Path, engine: Provisioner) -> None:
        self._directory: Final = directory
        self._engine_directory: Final = engine_directory
        self._engine: Final = engine

    def start(self) -> PreviewProcess:
        return PreviewProcess(RunProcess(self._directory, self._engine_directory), self._engine)


class PreviewProcess:
    """A process that carries out the order of a trial. It ends with its owner."""

    def __init__(self, process: RunProcess, engine: Provisioner) -> None:
        self._process: Final = process
        self._engine: Final = engine
        self._offset = 0

    @property
    def run(self) -> str:
        """The id of what it carries out."""
        return self._process.run

    def carry_out(
        self,
        order: WorkOrder,
        heard: Callable[[PreviewMessage], None],
        is_over: Callable[[], bool],
    ) -> bool:
        """Give the order, which this completes, and stay until the process has ended.

        :param heard: is told every message.
        :param is_over: asked all the time whether the process is to be stopped.
        :returns: whether it came to an end by itself, and said so.
        :raises EngineError: when the engine cannot be had.
        """
        with self._engine.provision() as engine:
            engine.write_into(order)
            order.run_id = self.run
            self._process.order(order)
            has_ended = False
            while not has_ended and is_alive(self._process.identity) and not is_over():
                has_ended = self._hear(heard)
                time.sleep(_PAUSE_S)
            return has_ended or self._hear(heard)

    def close(self) -> None:
        """End the process, and what Spark does for it; remove its folder."""
        if is_alive(self._process.identity):
            interrupt(self._process.identity)
            deadline = time.monotonic() + _GRACE_S
            while is_alive(self._process.identity) and time.monotonic() < deadline:
                time.sleep(_PAUSE_S)
        if is_alive(self._process.identity):
            kill(self._process.identity)
            stop_spark_work(self._process.directory)
        self._process.cancel()

    def _hear(self, heard: Callable[[PreviewMessage], None]) -> bool:
        """Pass on what was said since the last time; says whether the last word was among it."""
        is_last = False
        for offset, data in SpoolReader(self._process.directory / SPOOL).read(self._offset):
            self._offset = offset
            message = unpack(data, PreviewMessage)
            is_last = isinstance(message, StatusChanged) and message.status.is_end
            heard(message)
        return is_last
