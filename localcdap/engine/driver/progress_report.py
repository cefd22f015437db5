"""The progress and the log of a run: what the run process and its tasks in Spark's Python workers report.

The run process writes both to the spool of the run. It reads the messages of the tasks while they run.
"""

from __future__ import annotations

import contextlib
import logging
import re
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final, NamedTuple, Self

import msgspec

from localcdap.api.errors import LocalcdapError
from localcdap.decoders import decode_json
from localcdap.engine.messages.spool import (
    LogLine,
    LogLines,
    Progress,
    RecordCounts,
    RunStatus,
    StatusChanged,
)
from localcdap.engine.plan.error_attribution import get_current_stage
from localcdap.engine.tasks.context import STAGE_LOGGER
from localcdap.engine.tasks.pass_plan import FED, CountKey
from localcdap.engine.tasks.task_messages import TaskCounts, TaskLog, TaskMessage
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


_LOG: Final = logging.getLogger("localcdap.engine")
TASK_MESSAGES: Final = "told"
"""Sub-directory of a run's directory for the messages of tasks. Tasks exit when it is removed."""
_PAUSE_S: Final = 0.25
_MOST_LINES: Final = 5_000
"""Log lines of all tasks of a run."""
_NAME: Final = re.compile(r"(\d+)-(\d+)-(\d+)-(\d+)")


class TaskAttempt(NamedTuple):
    """One attempt at a task, as the name of its file identifies it."""

    stage: int
    partition: int
    attempt: int
    number: int


class TaskListener:
    """Passes log lines of tasks on to the run's spool, and adds up what all tasks have counted so far.

    It is a context manager, and listens in a thread for the duration of the block.

    :param directory: of the tasks' files.
    :param on_counts: called with the sums so far, four times a second, whether or not they have changed.
    """

    def __init__(
        self, directory: Path, spool: SpoolWriter, on_counts: Callable[[Counter[CountKey]], None]
    ) -> None:
        self._directory: Final = directory
        self._spool: Final = spool
        self._on_counts: Final = on_counts
        self._ended: Final = threading.Event()
        self._thread: Final = threading.Thread(target=self._work, name="listener", daemon=True)
        self._offsets: Final[dict[Path, int]] = {}
        """Bytes of each file that were read."""
        self._counts: Final[dict[tuple[int, int], tuple[int, TaskCounts]]] = {}
        """By Spark's stage and partition: the latest attempt, and its latest counts."""
        self._texts: Final[dict[tuple[int, int], dict[int, Counter[str]]]] = {}
        """By Spark's stage and partition: the lines of each attempt."""
        self._lines = 0
        self._has_warned = False

    def __enter__(self) -> Self:
        self._directory.mkdir(exist_ok=True)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        """Read the remaining messages and stop."""
        self._ended.set()
        self._thread.join()
        if self._lines > _MOST_LINES:
            more = self._lines - _MOST_LINES
            _LOG.warning("The stages wrote %s more lines, which were left out.", f"{more:,}")

    def _work(self) -> None:
        while not self._ended.wait(_PAUSE_S):
            self._read_all()
        self._read_all()

    def _read_all(self) -> None:
        try:
            lines = [
                line for path in sorted(self._directory.iterdir()) for line in self._read_file(path)
            ]
            if lines:
                self._spool.append(LogLines(sorted(lines, key=lambda line: line.time)))
            self._on_counts(self._sum_counts())
        except (OSError, LocalcdapError) as error:
            # A full disk must not end a run that could go on, nor fill its log with warnings.
            if not self._has_warned:
                self._has_warned = True
                _LOG.warning("What the stages log cannot be passed on: %s", error)

    def _read_file(self, path: Path) -> list[LogLine]:
        """Return the new log lines of a task, and take its new counts."""
        named = _NAME.fullmatch(path.name)
        if named is None or not path.is_file() or path.stat().st_size <= self._offsets.get(path, 0):
            return []
        task = TaskAttempt(*map(int, named.groups()))
        lines = []
        for message in self._read_messages(path):
            if isinstance(message, TaskCounts):
                self._take_counts(task, message)
            elif self._is_new(task, message):
                self._lines += 1
                if self._lines <= _MOST_LINES:
                    lines.append(LogLine(message.time, message.level, message.stage, message.text))
        return lines

    def _read_messages(self, path: Path) -> Iterator[TaskMessage]:
        offset = self._offsets.get(path, 0)
        with path.open("rb") as file:
            file.seek(offset)
            data = file.read()
        complete = data[: data.rfind(b"\n") + 1]  # the last line may be only half written
        self._offsets[path] = offset + len(complete)
        for line in complete.split(b"\n")[:-1]:
            # A line that a full disk cut short is skipped.
            with contextlib.suppress(msgspec.DecodeError, UnicodeDecodeError):
                yield decode_json(line, TaskMessage)

    def _take_counts(self, task: TaskAttempt, counts: TaskCounts) -> None:
        key = task.stage, task.partition
        if key not in self._counts or self._counts[key][0] <= task.attempt:
            self._counts[key] = task.attempt, counts

    def _is_new(self, task: TaskAttempt, line: TaskLog) -> bool:
        """Whether no other attempt at the same task has logged the same text as often."""
        if self._lines >= _MOST_LINES:
            return True
        attempts = self._texts.setdefault((task.stage, task.partition), {})
        own = attempts.setdefault(task.attempt, Counter())
        own[line.text] += 1
        return all(
            texts[line.text] < own[line.text]
            for attempt, texts in attempts.items()
            if attempt != task.attempt
        )

    def _sum_counts(self) -> Counter[CountKey]:
        sums: Counter[CountKey] = Counter()
        for _, latest in self._counts.values():
            for key, number in latest.counts:
                sums[key] += number
        return sums
