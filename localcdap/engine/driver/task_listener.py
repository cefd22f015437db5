"""The run process reads the messages of the tasks in Spark's Python workers while they run."""

from __future__ import annotations

import contextlib
import logging
import re
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final, NamedTuple, Self

import msgspec

from localcdap.api.errors import LocalcdapError
from localcdap.decoders import decode_json
from localcdap.engine.messages.spool import LogLine, LogLines
from localcdap.engine.tasks.pass_plan import CountKey
from localcdap.engine.tasks.task_messages import TaskCounts, TaskLog, TaskMessage
from localcdap.messaging.consumer import SpoolWriter

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
