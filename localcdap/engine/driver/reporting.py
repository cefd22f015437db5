"""A run's process tells its spool how the run is going."""

from __future__ import annotations

import logging
import threading
import time
from collections import Counter
from typing import Any, Final

import msgspec

from localcdap.engine.driver.blame import current_stage
from localcdap.engine.messages import LogLine, Progress, RunStatus, StatusChanged
from localcdap.engine.plan.counting import StageCounts
from localcdap.engine.tasks.context import STAGE_LOGGER
from localcdap.engine.tasks.plan import FED, CountKey
from localcdap.messaging.spool import SpoolWriter

_SLOWEST_S: Final = 1.0
_SLOWING: Final = 1 / 240
"""Seconds between two messages for each second of the run: many of a long one only fill its record."""
_QUIET: Final = ("pyspark", "py4j", "grpc", "urllib3", "asyncio")
"""Loggers of libraries; only their warnings are of interest."""
_SILENT: Final = ("SQLQueryContextLogger", "DataFrameQueryContextLogger")
"""Loggers of what is raised anyway."""


def status(value: RunStatus) -> StatusChanged:
    """The message that the run is in a state from now on."""
    return StatusChanged(time.time(), value)


class SpoolHandler(logging.Handler):
    """Logging into the spool, with the stage that a line belongs to."""

    def __init__(self, spool: SpoolWriter) -> None:
        super().__init__(logging.INFO)
        self._spool: Final = spool

    def emit(self, record: logging.LogRecord) -> None:
        try:
            stage = current_stage()
            if record.name.startswith(STAGE_LOGGER):
                stage = record.name.removeprefix(STAGE_LOGGER)
            text = self.format(record)
            self._spool.append(LogLine(record.created, record.levelname, stage, text))
        except Exception:  # a full disk must not end a run that could go on
            self.handleError(record)


def log_to(spool: SpoolWriter) -> None:
    """Send all logging of this process to the spool."""
    root = logging.getLogger()
    root.handlers[:] = [SpoolHandler(spool)]
    root.setLevel(logging.INFO)
    for name in _QUIET:
        logging.getLogger(name).setLevel(logging.WARNING)
    for name in _SILENT:
        logging.getLogger(name).disabled = True


class ProgressReport:
    """Puts together how far all actions of a run are, and tells it when it has changed."""

    def __init__(self, spool: SpoolWriter) -> None:
        self._spool: Final = spool
        self._lock: Final = threading.Lock()
        self._operations: Final[dict[str, tuple[int, int, int]]] = {}
        self._began: Final = time.monotonic()
        self._last = 0.0
        self._told: Progress | None = None

    def __call__(
        self, stages: Any, inflight_tasks: int, operation_id: str | None, done: bool
    ) -> None:
        """What Spark Connect says about every half second for each action.

        See ``pyspark.sql.connect.shell.progress.ProgressHandler``.
        """
        with self._lock:
            self._operations[operation_id or ""] = (
                sum(stage.num_completed_tasks for stage in stages or ()),
                sum(stage.num_tasks for stage in stages or ()),
                sum(stage.num_bytes_read for stage in stages or ()),
            )

    def tell(self, counted: Counter[CountKey]) -> None:
        """Tell how far the run is, unless that is known or was told just now.

        :param counted: by the Python workers so far.
        """
        now = time.monotonic()
        if now - self._last < min(_SLOWEST_S, (now - self._began) * _SLOWING):
            return
        with self._lock:
            sums = [sum(values) for values in zip(*self._operations.values(), strict=True)]
        done, tasks, read = sums or (0, 0, 0)
        told = Progress(0.0, done, tasks, read, _by_stage(counted))
        if told != self._told and (tasks or counted):
            self._told, self._last = told, now
            self._spool.append(msgspec.structs.replace(told, time=time.time()))


def _by_stage(counted: Counter[CountKey]) -> dict[str, StageCounts]:
    stages: dict[str, StageCounts] = {}
    for key, number in counted.items():
        counts = stages.setdefault(key.stage, StageCounts())
        if key.what in ("out", FED):
            counts.out += number
        elif key.what == "in":
            counts.in_ += number
        elif key.what == "error":
            counts.error += number
    return stages
