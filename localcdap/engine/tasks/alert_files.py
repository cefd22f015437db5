"""Alerts on their way from a Python worker to the run's own process.

Each task appends its alerts to a file of its own, and its reports say how many of them count: what a task
wrote that failed, or was repeated, counts nothing. On a cluster, whose workers do not see the run's
directory, the reports hold the alerts themselves, up to a limit.
"""

from __future__ import annotations

import logging
import os
import secrets
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

import msgspec

from localcdap.decoders import decode_json
from localcdap.engine.tasks.pass_plan import StageAlert, TaskReport
from localcdap.engine.tasks.runners import Runner

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
