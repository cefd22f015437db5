"""What plugin code says in a Python worker, on its way to the run's own process: log lines, counts so far.

Each task appends lines of JSON to a file of its own in the run's directory; the run's process reads them
while they are written (:mod:`localcdap.engine.driver.listening`). What a task wrote before it was killed is
kept. On a cluster, whose workers do not see the directory, nothing is told.
"""

from __future__ import annotations

import contextlib
import io
import logging
import os
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO, Final, TextIO

import msgspec

from localcdap.engine.tasks.context import STAGE_LOGGER
from localcdap.engine.tasks.plan import CountKey

_INTERVAL_S: Final = 0.25
"""Between two messages about counts."""
_LOOK_S: Final = 0.3
"""Between two looks whether the run is still there."""
_MOST_LINES: Final = 1_000
"""Log lines of one task; a line for each record would bury everything else."""
_MOST_TEXT: Final = 10_000
_QUIET: Final = ("pyspark", "py4j", "urllib3", "asyncio")
"""Loggers of libraries; only their warnings are of interest."""


class Said(msgspec.Struct, tag="log"):
    """A line that plugin code logged or printed."""

    time: float
    level: str
    stage: str | None
    text: str


class SoFar(msgspec.Struct, tag="counts"):
    """What a task has counted since it began."""

    counts: list[tuple[CountKey, int]]


Told = Said | SoFar


class Teller:
    """Tells what happens in one task.

    :param directory: where the task's file goes; None: nothing is told.
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
        """Tell a line; of too many, the first ones."""
        with self._lock:
            self._lines += 1
            if self._lines <= _MOST_LINES:
                self._tell(Said(time.time(), level, stage or self.stage, text[:_MOST_TEXT]))

    def count(self, counts: Counter[CountKey]) -> None:
        """Tell what was counted, at times: the first and the last word are the reports'."""
        self._totals.update(counts)
        now = time.monotonic()
        if now >= self._next_counts:
            self._next_counts = now + _INTERVAL_S
            with self._lock:
                self._tell(SoFar(list(self._totals.items())))

    def close(self) -> None:
        """Tell what was left out. Later messages, of threads that a plugin left behind, go nowhere."""
        with self._lock:
            if self._lines > _MOST_LINES:
                more = self._lines - _MOST_LINES
                text = f"This task wrote {more:,} more lines, which were left out."
                self._tell(Said(time.time(), "WARNING", self.stage, text))
            if self._file is not None:
                os.close(self._file)
            self._file, self._is_closed = None, True

    def _tell(self, message: Told) -> None:
        if self._directory is None or self._is_closed:
            return
        # A full disk costs log lines, not the task.
        with contextlib.suppress(OSError):
            if self._file is None:
                path = Path(self._directory) / _task_name()
                self._file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
            os.write(self._file, msgspec.json.encode(message) + b"\n")


@contextlib.contextmanager
def telling(directory: str | None, stage: str | None = None) -> Iterator[Teller]:
    """Have everything that is logged or printed in this process told, for the time of a task.

    A task whose directory is gone, or goes, ends: its run is over.
    """
    teller = Teller(directory)
    teller.stage = stage
    if directory is None:
        yield teller
        return
    try:
        with _ending_with(Path(directory)), _captured(teller):
            yield teller
    finally:
        teller.close()


@contextlib.contextmanager
def _ending_with(directory: Path) -> Iterator[None]:
    """End this process when the directory goes.

    Spark may miss that a job is cancelled: when it makes a directory just then, Hadoop's ``Shell`` swallows
    the interruption. The job would go on for as long as the code of plugins likes, and hold a core.

    :raises InterruptedError: when it is gone already.
    """
    if not directory.is_dir():
        raise InterruptedError("The run of this task is over.")
    done = threading.Event()

    def look() -> None:
        while not done.wait(_LOOK_S):
            if not directory.is_dir():
                os._exit(1)

    threading.Thread(target=look, name="localcdap-run", daemon=True).start()
    try:
        yield
    finally:
        done.set()


@contextlib.contextmanager
def _captured(teller: Teller) -> Iterator[None]:
    root = logging.getLogger()
    handlers, level, streams = root.handlers[:], root.level, (sys.stdout, sys.stderr)
    root.handlers[:] = [_Handler(teller)]
    root.setLevel(logging.INFO)
    for name in _QUIET:
        logging.getLogger(name).setLevel(logging.WARNING)
    printed = [_Printed(teller, "INFO", sys.stdout), _Printed(teller, "WARNING", sys.stderr)]
    sys.stdout, sys.stderr = printed
    try:
        yield
    finally:
        for stream in printed:
            stream.end()
        sys.stdout, sys.stderr = streams
        root.handlers[:] = handlers
        root.setLevel(level)


class _Handler(logging.Handler):
    def __init__(self, teller: Teller) -> None:
        super().__init__(logging.INFO)
        self._teller: Final = teller

    def emit(self, record: logging.LogRecord) -> None:
        try:
            own = record.name.startswith(STAGE_LOGGER)
            stage = record.name.removeprefix(STAGE_LOGGER) if own else None
            self._teller.log(record.levelname, self.format(record), stage)
        except Exception as error:  # a wrong argument of a logging call must not end the task
            self._teller.log("WARNING", f"A log line could not be formatted: {error}")


class _Printed(io.TextIOBase):
    """A text stream whose lines are told. What goes past the text, into bytes, goes where it went before."""

    def __init__(self, teller: Teller, level: str, before: TextIO) -> None:
        self._teller: Final = teller
        self._level: Final = level
        self._before: Final = before
        self._begun = ""

    @property
    def encoding(self) -> str:  # type: ignore[override]
        return "utf-8"

    @property
    def buffer(self) -> BinaryIO:
        return self._before.buffer

    def fileno(self) -> int:
        return self._before.fileno()

    def writable(self) -> bool:
        return True

    def write(self, text: str) -> int:
        *lines, self._begun = (self._begun + text).split("\n")
        for line in lines:
            if line.strip():
                self._teller.log(self._level, line)
        return len(text)

    def end(self) -> None:
        """Tell a line that has no end."""
        self.write("\n")


def _task_name() -> str:
    """``stage-partition-attempt-task``, as Spark numbers them."""
    # Only a worker of Spark comes here, and it has pyspark loaded.
    from pyspark import TaskContext

    task = TaskContext.get()
    if task is None:
        return f"0-0-0-{os.getpid()}"
    numbers = (task.stageId(), task.partitionId(), task.attemptNumber(), task.taskAttemptId())
    return "-".join(map(str, numbers))
