"""Writes the progress and the log of a run process to the spool of the run."""

from __future__ import annotations

import logging
import threading
import time
from collections import Counter
from typing import Any, Final

import msgspec

from localcdap.engine.messages.spool import (
    LogLine,
    Progress,
    RecordCounts,
    RunStatus,
    StatusChanged,
)
from localcdap.engine.plan.error_attribution import get_current_stage
from localcdap.engine.tasks.context import STAGE_LOGGER
from localcdap.engine.tasks.pass_plan import FED, CountKey
from localcdap.messaging.consumer import SpoolWriter

_SLOWEST_S: Final = 1.0
_SLOWING: Final = 1 / 240
"""Seconds between two reports for each second of the run, up to one second: a long run needs fewer."""
_QUIET: Final = ("pyspark", "py4j", "grpc", "urllib3", "asyncio")
"""Loggers of libraries, of which only warnings are reported."""
_SILENT: Final = ("SQLQueryContextLogger", "DataFrameQueryContextLogger")
"""Loggers of errors that are raised as well."""


def create_status(value: RunStatus) -> StatusChanged:
    """Return the message that the run has a status from now on."""
    return StatusChanged(time.time(), value)


class SpoolHandler(logging.Handler):
    """Logs into the spool, with the stage that a line belongs to."""

    def __init__(self, spool: SpoolWriter) -> None:
        super().__init__(logging.INFO)
        self._spool: Final = spool

    def emit(self, record: logging.LogRecord) -> None:
        """See :meth:`logging.Handler.emit`."""
        try:
            stage = get_current_stage()
            if record.name.startswith(STAGE_LOGGER):
                stage = record.name.removeprefix(STAGE_LOGGER)
            text = self.format(record)
            self._spool.append(LogLine(record.created, record.levelname, stage, text))
        except Exception:  # a full disk must not end a run that could go on
            self.handleError(record)


def log_to_spool(spool: SpoolWriter) -> None:
    """Send all logging of this process to the spool."""
    root = logging.getLogger()
    root.handlers[:] = [SpoolHandler(spool)]
    root.setLevel(logging.INFO)
    for name in _QUIET:
        logging.getLogger(name).setLevel(logging.WARNING)
    for name in _SILENT:
        logging.getLogger(name).disabled = True


class ProgressReport:
    """Adds up the progress of all actions of a run, and reports it when it has changed."""

    def __init__(self, spool: SpoolWriter) -> None:
        self._spool: Final = spool
        self._lock: Final = threading.Lock()
        self._operations: Final[dict[str, tuple[int, int, int]]] = {}
        self._began: Final = time.monotonic()
        self._last_time = 0.0
        self._last: Progress | None = None

    def __call__(
        self, stages: Any, inflight_tasks: int, operation_id: str | None, done: bool
    ) -> None:
        """Take the progress of an action, which Spark Connect reports about every half second.

        See ``pyspark.sql.connect.shell.progress.ProgressHandler``.
        """
        with self._lock:
            self._operations[operation_id or ""] = (
                sum(stage.num_completed_tasks for stage in stages or ()),
                sum(stage.num_tasks for stage in stages or ()),
                sum(stage.num_bytes_read for stage in stages or ()),
            )

    def report(self, counted: Counter[CountKey]) -> None:
        """Report the progress, unless it is unchanged or the last report is recent.

        :param counted: by the Python workers so far.
        """
        now = time.monotonic()
        if now - self._last_time < min(_SLOWEST_S, (now - self._began) * _SLOWING):
            return
        with self._lock:
            sums = [sum(values) for values in zip(*self._operations.values(), strict=True)]
        done, tasks, read = sums or (0, 0, 0)
        progress = Progress(0.0, done, tasks, read, _count_by_stage(counted))
        if progress != self._last and (tasks or counted):
            self._last, self._last_time = progress, now
            self._spool.append(msgspec.structs.replace(progress, time=time.time()))


def _count_by_stage(counted: Counter[CountKey]) -> dict[str, RecordCounts]:
    stages: dict[str, RecordCounts] = {}
    for key, number in counted.items():
        counts = stages.setdefault(key.stage, RecordCounts())
        if key.what in ("out", FED):
            counts.out += number
        elif key.what == "in":
            counts.in_ += number
        elif key.what == "error":
            counts.error += number
    return stages
