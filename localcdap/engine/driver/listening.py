"""The run's own process hears what the tasks of Spark's Python workers tell while they run."""

from __future__ import annotations

import contextlib
import logging
import re
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from types import TracebackType
from typing import Final, NamedTuple, Self

import msgspec

from localcdap.api.errors import LocalcdapError
from localcdap.engine.messages import LogLine, LogLines
from localcdap.engine.tasks.plan import CountKey
from localcdap.engine.tasks.telling import Said, SoFar, Told
from localcdap.messaging.spool import SpoolWriter

_LOG: Final = logging.getLogger("localcdap.engine")
CHANNEL: Final = "told"
"""Sub-directory of a run's directory: what Spark's Python workers tell. Without it they end."""
_PAUSE_S: Final = 0.25
_MOST_LINES: Final = 5_000
"""Log lines of all tasks of a run."""
_NAME: Final = re.compile(r"(\d+)-(\d+)-(\d+)-(\d+)")
_DECODER: Final = msgspec.json.Decoder(Told)


class Task(NamedTuple):
    """One attempt at a task, as the name of its file says it."""

    stage: int
    partition: int
    attempt: int
    number: int


class Listener:
    """Passes log lines on to the run's spool, and adds up what all tasks have counted so far.

    :param directory: the tasks' files are in it.
    :param counted: told of the sums so far, four times a second, whether or not they have changed.

    Use it as a context: it listens in a thread meanwhile.
    """

    def __init__(
        self, directory: Path, spool: SpoolWriter, counted: Callable[[Counter[CountKey]], None]
    ) -> None:
        self._directory: Final = directory
        self._spool: Final = spool
        self._counted: Final = counted
        self._ended: Final = threading.Event()
        self._thread: Final = threading.Thread(target=self._work, name="listener", daemon=True)
        self._read: Final[dict[Path, int]] = {}
        """Bytes of each file that were heard."""
        self._counts: Final[dict[tuple[int, int], tuple[int, SoFar]]] = {}
        """By Spark's stage and partition: the latest attempt, and its last word."""
        self._told: Final[dict[tuple[int, int], dict[int, Counter[str]]]] = {}
        """By Spark's stage and partition: the lines of each attempt."""
        self._lines = 0
        self._has_complained = False

    def __enter__(self) -> Self:
        self._directory.mkdir(exist_ok=True)
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Hear what is left, and stop listening."""
        self._ended.set()
        self._thread.join()
        if self._lines > _MOST_LINES:
            more = self._lines - _MOST_LINES
            _LOG.warning("The stages wrote %s more lines, which were left out.", f"{more:,}")

    def _work(self) -> None:
        while not self._ended.wait(_PAUSE_S):
            self._look()
        self._look()

    def _look(self) -> None:
        try:
            lines = [
                line for path in sorted(self._directory.iterdir()) for line in self._heard(path)
            ]
            if lines:
                self._spool.append(LogLines(sorted(lines, key=lambda line: line.time)))
            self._counted(self._sums())
        except (OSError, LocalcdapError) as error:
            # A full disk must not end a run that could go on, nor fill it with complaints.
            if not self._has_complained:
                self._has_complained = True
                _LOG.warning("What the stages log cannot be passed on: %s", error)

    def _heard(self, path: Path) -> list[LogLine]:
        """The new log lines of a task."""
        named = _NAME.fullmatch(path.name)
        if named is None or not path.is_file() or path.stat().st_size <= self._read.get(path, 0):
            return []
        task = Task(*map(int, named.groups()))
        lines = []
        for message in self._messages(path):
            if isinstance(message, SoFar):
                self._note(task, message)
            elif self._is_new(task, message):
                self._lines += 1
                if self._lines <= _MOST_LINES:
                    lines.append(LogLine(message.time, message.level, message.stage, message.text))
        return lines

    def _messages(self, path: Path) -> Iterator[Told]:
        read = self._read.get(path, 0)
        with path.open("rb") as file:
            file.seek(read)
            data = file.read()
        whole = data[: data.rfind(b"\n") + 1]  # the last line may be in the middle of being written
        self._read[path] = read + len(whole)
        for line in whole.split(b"\n")[:-1]:
            # What a full disk cut short is no message.
            with contextlib.suppress(msgspec.DecodeError, UnicodeDecodeError):
                yield _DECODER.decode(line)

    def _note(self, task: Task, counts: SoFar) -> None:
        place = task.stage, task.partition
        if place not in self._counts or self._counts[place][0] <= task.attempt:
            self._counts[place] = task.attempt, counts

    def _is_new(self, task: Task, line: Said) -> bool:
        """Whether no earlier attempt at the same task has said the same, as often."""
        if self._lines >= _MOST_LINES:
            return True
        attempts = self._told.setdefault((task.stage, task.partition), {})
        mine = attempts.setdefault(task.attempt, Counter())
        mine[line.text] += 1
        return all(
            said[line.text] < mine[line.text]
            for attempt, said in attempts.items()
            if attempt != task.attempt
        )

    def _sums(self) -> Counter[CountKey]:
        sums: Counter[CountKey] = Counter()
        for _, told in self._counts.values():
            for key, number in told.counts:
                sums[key] += number
        return sums
