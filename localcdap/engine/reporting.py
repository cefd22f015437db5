"""A run's process tells its spool how the run is going."""

from __future__ import annotations

import logging
import threading
import time
from typing import Any, Final

from localcdap.engine.blame import current_stage
from localcdap.engine.messages import LogLine, Progress, RunStatus, StatusChanged
from localcdap.engine.tasks.context import STAGE_LOGGER
from localcdap.messaging.spool import SpoolWriter

_INTERVAL_S: Final = 1.0
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
    """Adds up the progress of all actions; Spark Connect calls it, about every half second for each."""

    def __init__(self, spool: SpoolWriter) -> None:
        self._spool: Final = spool
        self._lock: Final = threading.Lock()
        self._operations: dict[str, tuple[int, int, int]] = {}
        self._last = 0.0

    def __call__(
        self, stages: Any, inflight_tasks: int, operation_id: str | None, done: bool
    ) -> None:
        """See ``pyspark.sql.connect.shell.progress.ProgressHandler``."""
        with self._lock:
            self._operations[operation_id or ""] = (
                sum(stage.num_completed_tasks for stage in stages or ()),
                sum(stage.num_tasks for stage in stages or ()),
                sum(stage.num_bytes_read for stage in stages or ()),
            )
            now = time.time()
            if now - self._last < _INTERVAL_S:
                return
            self._last = now
            sums = [sum(values) for values in zip(*self._operations.values(), strict=True)]
        self._spool.append(Progress(now, *sums))
