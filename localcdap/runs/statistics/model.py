"""The overview of runs: what the reports screen and the command ``report`` show."""

from __future__ import annotations

import msgspec

from localcdap.engine.messages.spool import RunStatus


class OverviewRequest(msgspec.Struct, frozen=True, rename="camel"):
    """The runs of an overview: those that were asked for in a window."""

    namespaces: list[str]
    start: int
    """Milliseconds since 1970, inclusive."""
    end: int
    """Milliseconds since 1970, exclusive."""
    pipeline: str | None = None
    """None for all pipelines."""
    points: int = 40
    """The number of parts of the window that the charts of a pipeline show."""
    most: int = 500
    """The most pipelines that are described, those with the newest runs."""


class RunTotals(msgspec.Struct, rename="camel"):
    """Numbers of runs."""

    runs: int = 0
    completed: int = 0
    failed: int = 0
    killed: int = 0

    @property
    def active(self) -> int:
        """The number of runs that have not ended."""
        return self.runs - self.completed - self.failed - self.killed

    @property
    def success_rate(self) -> float | None:
        """The share of the completed runs among those that completed or failed; None when there are none."""
        ended = self.completed + self.failed
        return self.completed / ended if ended else None


class ChartPoint(msgspec.Struct, rename="camel"):
    """A part of the window."""

    runs: int
    failed: int
    median_ms: int | None
    """The median duration of completed runs; None when there is none."""
    records: int | None
    """The records that sources read; None when they were not counted."""


class PipelineOverview(RunTotals, rename="camel", kw_only=True):
    """The runs of one pipeline."""

    namespace: str
    pipeline: str
    median_ms: int | None
    """The median duration of completed runs, and the 95th percentile of them."""
    p95_ms: int | None
    records: int | None
    newest: str
    """The newest run, and its status."""
    status: RunStatus
    points: list[ChartPoint | None]
    """One for each part of the window; None where there was no run."""


class DayTotals(RunTotals, rename="camel", kw_only=True):
    """The runs of a day of the local calendar."""

    day: str
    """As ``2026-11-24``."""


class FailureReason(msgspec.Struct, rename="camel"):
    """A reason why runs failed."""

    reason: str
    category: str
    runs: int
    pipelines: int
    newest: str
    """The newest run that failed so, its namespace, pipeline, stage and message."""
    namespace: str
    pipeline: str
    stage: str | None
    message: str | None


class SlowStage(msgspec.Struct, rename="camel"):
    """A stage with the time that its code takes in Python workers."""

    namespace: str
    pipeline: str
    stage: str
    runs: int
    average_ms: int
    longest_ms: int


class AlertingStage(msgspec.Struct, rename="camel"):
    """A stage that emitted alerts, and how many."""

    namespace: str
    pipeline: str
    stage: str
    runs: int
    """The runs in which it did."""
    alerts: int


class TimelineRun(msgspec.Struct, rename="camel"):
    """A run as a bar of a timeline."""

    run: str
    namespace: str
    pipeline: str
    status: RunStatus
    starting: int
    end: int | None


class RunOverview(msgspec.Struct, rename="camel"):
    """What happened in a window."""

    start: int
    end: int
    totals: RunTotals
    pipelines: list[PipelineOverview]
    """Those with the newest runs first."""
    pipeline_count: int
    """The number of all pipelines with runs."""
    days: list[DayTotals]
    """All days of the window, also those without runs."""
    failures: list[FailureReason]
    """The most frequent first."""
    slow_stages: list[SlowStage]
    """The slowest first."""
    newest: list[TimelineRun]
    """Some of the newest runs, newest first."""
    alerting_stages: list[AlertingStage] = []
    """Those with the most alerts first."""
