"""The alerts of a run, from the end of the phases of their stages until they are published."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import Final

from localcdap.api.control import Alert
from localcdap.engine.messages.spool import Alerted
from localcdap.engine.plan.contexts import RunContext
from localcdap.engine.plan.record_counter import RecordCounter
from localcdap.engine.tasks.alert_files import read_alerts
from localcdap.engine.tasks.pass_plan import StageAlert

_MOST_SHOWN: Final = 1_000
"""Alerts of a stage that the host keeps, to show them. All are published."""


class RunAlerts:
    """Keeps the alerts of a run; those of tasks stay in the files of the tasks.

    :param run: has the directory of the tasks' files, except on a cluster, whose tasks report the alerts
        themselves.
    """

    def __init__(self, run: RunContext) -> None:
        self._run: Final = run
        self._files: Final[Counter[str]] = Counter()
        self._given: Final[list[StageAlert]] = []
        self._counts: Final[Counter[str]] = Counter()

    def add(self, counter: RecordCounter) -> list[Alerted]:
        """Add the alerts of a phase that has ended; return the messages that show the first ones.

        :raises OSError: when a file of a task cannot be read.
        """
        if not counter.alerts and not counter.alert_files:
            return []
        shown: dict[str, list[dict[str, str | None]]] = {}
        for alert in self._read(counter.alert_files, counter.alerts):
            self._counts[alert.stage] += 1
            if self._counts[alert.stage] <= _MOST_SHOWN:
                shown.setdefault(alert.stage, []).append(alert.payload)
        self._files.update(counter.alert_files)
        self._given.extend(counter.alerts)
        return [Alerted(stage, payloads) for stage, payloads in shown.items()]

    def count(self, stages: Collection[str]) -> int:
        """Return the number of alerts of some stages."""
        return sum(self._counts[stage] for stage in stages)

    def read(self, stages: Collection[str]) -> Iterator[Alert]:
        """Yield the alerts of some stages."""
        for alert in self._read(self._files, self._given):
            if alert.stage in stages:
                yield Alert(alert.stage, alert.payload)

    def _read(self, files: Counter[str], given: list[StageAlert]) -> Iterator[StageAlert]:
        directory = self._run.message_directory
        if directory is not None:
            for name, lines in files.items():
                yield from read_alerts(Path(directory) / name, lines)
        yield from given
