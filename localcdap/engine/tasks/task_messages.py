"""Log lines, counts so far and alerts of a task, on their way from a Python worker to the run's own process.

Each task appends lines of JSON to a file of its own in the run's directory; the run process reads them
while they are written (:class:`localcdap.engine.driver.progress_report.TaskListener`). What a task wrote
before it was killed is kept. On a cluster, whose workers do not see the directory, there are no messages.

Alerts have files of their own, and the reports of a task say how many of them count: what a task wrote that
failed, or was repeated, counts nothing. On a cluster the reports hold the alerts themselves, up to a limit.
"""

from __future__ import annotations

import contextlib
import io
import logging
import os
import secrets
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import BinaryIO, Final, TextIO

import msgspec

from localcdap.decoders import decode_json
from localcdap.engine.tasks.context import STAGE_LOGGER
from localcdap.engine.tasks.pass_plan import CountKey, StageAlert, TaskReport
from localcdap.engine.tasks.runners import Runner

_INTERVAL_S: Final = 0.25
"""Between two messages with counts."""
_CHECK_S: Final = 0.3
"""Between two checks whether the run still exists."""
_MOST_LINES: Final = 1_000
"""Log lines of one task; one line per record would hide everything else."""
_MOST_TEXT: Final = 10_000
_QUIET: Final = ("pyspark", "py4j", "urllib3", "asyncio")
"""Loggers of libraries, of which only warnings are reported."""


class TaskLog(msgspec.Struct, tag="log"):
    """A line that plugin code logged or printed."""

    time: float
    level: str
    stage: str | None
    text: str


class TaskCounts(msgspec.Struct, tag="counts"):
    """The counts of a task since its start."""

    counts: list[tuple[CountKey, int]]


TaskMessage = TaskLog | TaskCounts


class TaskMessageWriter:
    """Writes the messages of one task.

    :param directory: for the task's file; None to write nothing.
    """

    def __init__(self, directory: str | None) -> None:
        self.stage: str | None = None
        """The stage whose code runs now."""
        self._directory: Final = directory
        self._lock: Final = threading.RLock()
        self._file: int | None = None
        self._is_closed = False
        self._lines = 0
        self._totals: Counter[CountKey] = Counter()
        self._next_counts = time.monotonic() + _INTERVAL_S

    def log(self, level: str, text: str, stage: str | None = None) -> None:
        """Write a log line; lines above the maximum are only counted."""
        with self._lock:
            self._lines += 1
            if self._lines <= _MOST_LINES:
                self._write(TaskLog(time.time(), level, stage or self.stage, text[:_MOST_TEXT]))

    def count(self, counts: Counter[CountKey]) -> None:
        """Add counts, and write the totals four times a second; the exact ones are in the task's reports."""
        self._totals.update(counts)
        now = time.monotonic()
        if now >= self._next_counts:
            self._next_counts = now + _INTERVAL_S
            with self._lock:
                self._write(TaskCounts(list(self._totals.items())))

    def close(self) -> None:
        """Write how many lines were left out.

        Later messages, of threads that a plugin started, are dropped.
        """
        with self._lock:
            if self._lines > _MOST_LINES:
                more = self._lines - _MOST_LINES
                text = f"This task wrote {more:,} more lines, which were left out."
                self._write(TaskLog(time.time(), "WARNING", self.stage, text))
            if self._file is not None:
                os.close(self._file)
            self._file, self._is_closed = None, True

    def _write(self, message: TaskMessage) -> None:
        if self._directory is None or self._is_closed:
            return
        # A full disk costs log lines, not the task.
        with contextlib.suppress(OSError):
            if self._file is None:
                path = Path(self._directory) / _get_file_name()
                self._file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
            os.write(self._file, msgspec.json.encode(message) + b"\n")


@contextlib.contextmanager
def capture_output(directory: str | None, stage: str | None = None) -> Iterator[TaskMessageWriter]:
    """Write everything that is logged or printed in this process as messages, for the duration of a task.

    The process exits when the directory is removed, since the run is over then.
    """
    writer = TaskMessageWriter(directory)
    writer.stage = stage
    if directory is None:
        yield writer
        return
    try:
        with _exit_without(Path(directory)), _redirect(writer):
            yield writer
    finally:
        writer.close()


@contextlib.contextmanager
def _exit_without(directory: Path) -> Iterator[None]:
    """Exit this process when the directory is removed.

    Spark may miss that a job is cancelled: when it makes a directory at that moment, Hadoop's ``Shell``
    swallows the interruption. The job would go on for as long as the plugins' code takes, and occupy a
    core.

    :raises InterruptedError: when the directory does not exist.
    """
    if not directory.is_dir():
        raise InterruptedError("The run of this task is over.")
    done = threading.Event()

    def watch_directory() -> None:
        while not done.wait(_CHECK_S):
            if not directory.is_dir():
                os._exit(1)

    threading.Thread(target=watch_directory, name="localcdap-run", daemon=True).start()
    try:
        yield
    finally:
        done.set()


@contextlib.contextmanager
def _redirect(writer: TaskMessageWriter) -> Iterator[None]:
    root = logging.getLogger()
    handlers, level, streams = root.handlers[:], root.level, (sys.stdout, sys.stderr)
    root.handlers[:] = [_MessageHandler(writer)]
    root.setLevel(logging.INFO)
    for name in _QUIET:
        logging.getLogger(name).setLevel(logging.WARNING)
    printed = [
        _PrintedLines(writer, "INFO", sys.stdout),
        _PrintedLines(writer, "WARNING", sys.stderr),
    ]
    sys.stdout, sys.stderr = printed
    try:
        yield
    finally:
        for stream in printed:
            stream.end()
        sys.stdout, sys.stderr = streams
        root.handlers[:] = handlers
        root.setLevel(level)


class _MessageHandler(logging.Handler):
    def __init__(self, writer: TaskMessageWriter) -> None:
        super().__init__(logging.INFO)
        self._writer: Final = writer

    def emit(self, record: logging.LogRecord) -> None:
        try:
            own = record.name.startswith(STAGE_LOGGER)
            stage = record.name.removeprefix(STAGE_LOGGER) if own else None
            self._writer.log(record.levelname, self.format(record), stage)
        except Exception as error:  # a wrong argument of a logging call must not end the task
            self._writer.log("WARNING", f"A log line could not be formatted: {error}")


class _PrintedLines(io.TextIOBase):
    """A text stream whose lines become messages. Bytes written to its buffer go to the original stream."""

    def __init__(self, writer: TaskMessageWriter, level: str, original: TextIO) -> None:
        self._writer: Final = writer
        self._level: Final = level
        self._original: Final = original
        self._unfinished = ""

    @property
    def encoding(self) -> str:  # type: ignore[override]
        return "utf-8"

    @property
    def buffer(self) -> BinaryIO:
        return self._original.buffer

    def fileno(self) -> int:
        return self._original.fileno()

    def writable(self) -> bool:
        return True

    def write(self, text: str) -> int:
        *lines, self._unfinished = (self._unfinished + text).split("\n")
        for line in lines:
            if line.strip():
                self._writer.log(self._level, line)
        return len(text)

    def end(self) -> None:
        """Write a last line without line end."""
        self.write("\n")


def _get_file_name() -> str:
    """Return ``stage-partition-attempt-task``, as Spark numbers them."""
    # Only a worker of Spark calls this, and it has imported pyspark.
    from pyspark import TaskContext

    task = TaskContext.get()
    if task is None:
        return f"0-0-0-{os.getpid()}"
    numbers = (task.stageId(), task.partitionId(), task.attemptNumber(), task.taskAttemptId())
    return "-".join(map(str, numbers))


_LOG: Final = logging.getLogger("localcdap.engine")
_MOST_REPORTED: Final = 1_000
"""Alerts of one task on a cluster that are reported; Spark collects the reports in one place."""
_ENCODER: Final = msgspec.json.Encoder()


class AlertWriter:
    """Moves the alerts of a task's stages into its reports.

    :param directory: for the task's file; None on a cluster.
    """

    def __init__(self, directory: str | None) -> None:
        self._directory: Final = directory
        self._name: Final = f"alerts-{secrets.token_hex(8)}"
        self._reported = 0
        self._has_warned = False

    def move(self, runners: Sequence[Runner], report: TaskReport) -> None:
        """Add the alerts that stages have emitted since the last report to the next one.

        :raises OSError: when they cannot be written; the task fails, since no alert may be lost.
        """
        alerts = [alert for runner in runners for alert in runner.alerts]
        if not alerts:
            return
        for runner in runners:
            runner.alerts.clear()
        if self._directory is None:
            report.alerts = self._keep_few(alerts)
            return
        data = b"".join(_ENCODER.encode(alert) + b"\n" for alert in alerts)
        with open(Path(self._directory) / self._name, "ab", opener=_open_private) as file:
            file.write(data)
        report.alert_file, report.alert_lines = self._name, len(alerts)

    def _keep_few(self, alerts: list[StageAlert]) -> list[StageAlert]:
        kept = alerts[: max(0, _MOST_REPORTED - self._reported)]
        self._reported += len(kept)
        if len(kept) < len(alerts) and not self._has_warned:
            self._has_warned = True
            _LOG.warning(
                "A task has more than %d alerts: on a cluster the others are only counted.",
                _MOST_REPORTED,
            )
        return kept


def _open_private(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)


def read_alerts(file: Path, lines: int) -> Iterator[StageAlert]:
    """Yield the first alerts of a file.

    :raises OSError: when it cannot be read.
    """
    with file.open("rb") as stream:
        for line, _ in zip(stream, range(lines), strict=False):
            yield decode_json(line, StageAlert)
