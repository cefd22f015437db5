"""What runs have reported: their logs, their alerts, and the profiles of what they have written."""

from __future__ import annotations

from typing import TYPE_CHECKING

from localcdap.engine.messages.profiles import SinkProfile
from localcdap.runs.access import OF_RUN
from localcdap.runs.logs import LogFilter, LogHit, LogOutline, LogSummary, RunLogs
from localcdap.runs.model import StoredAlert, StoredLogLine
from localcdap.runs.stage_reports import StageReports
from localcdap.security.access import requires

if TYPE_CHECKING:
    from localcdap.store.store import Store


class RunReports:
    """Reads what runs have reported."""

    def __init__(self, store: Store) -> None:
        self._logs = RunLogs(store)
        self._stages = StageReports(store)

    @requires(OF_RUN)
    def read_profiles(self, run: str) -> list[SinkProfile]:
        """Return the profiles of what the sinks of a run got; none when the setting is off."""
        return self._stages.read_profiles(run)

    @requires(OF_RUN)
    def read_alerts(self, run: str, limit: int = 0) -> list[StoredAlert]:
        """Return the alerts of a run: the first 1,000 of each stage and phase.

        :param limit: the most to return; 0 for all.
        """
        return self._stages.read_alerts(run, limit)

    @requires(OF_RUN)
    def summarize_log(self, run: str) -> LogSummary:
        """Return the number of lines of each level in a log, and the stages that have lines."""
        return self._logs.summarize(run)

    @requires(OF_RUN)
    def read_log_outline(self, run: str, filter: LogFilter, since: int = 0) -> LogOutline:
        """Return where the rows of a filtered log begin, from the line ``since`` on."""
        return self._logs.create_outline(run, filter, since)

    @requires(OF_RUN)
    def read_log_page(
        self, run: str, filter: LogFilter, since: int, limit: int
    ) -> list[StoredLogLine]:
        """Return lines of a filtered log from the line ``since`` on; long texts are cut."""
        return self._logs.read_page(run, filter, since, limit)

    @requires(OF_RUN)
    def get_log_line(self, run: str, number: int) -> StoredLogLine:
        """Return a line with its full text.

        :raises NotFoundError: when the log has no such line.
        """
        return self._logs.get_line(run, number)

    @requires(OF_RUN)
    def find_log_row(self, run: str, filter: LogFilter, number: int) -> int:
        """Return the row of a line in a filtered log, or of the next line that matches the filter."""
        return self._logs.find_row(run, filter, number)

    @requires(OF_RUN)
    def find_in_log(
        self, run: str, filter: LogFilter, text: str, number: int = 0, *, backwards: bool = False
    ) -> LogHit | None:
        """Find the next line after (or before) ``number`` that contains ``text``, wrapping around at the end.

        The search is case-sensitive when ``text`` has a capital letter. None when no line matches.
        """
        return self._logs.find(run, filter, text, number, backwards=backwards)

    @requires(OF_RUN)
    def read_log(self, run: str, after: int = 0, limit: int = 0) -> list[StoredLogLine]:
        """Return the log lines of a run after the line ``after``; at most ``limit``, 0 for all."""
        return self._logs.read(run, after, limit)
