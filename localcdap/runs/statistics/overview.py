"""The runs of a window of time: overviews, which the database computes from columns, and the dashboard.

The dashboard has those that are planned, too. Its rules, texts and JSON are those of CDAP 6:
``OperationsDashboardHttpHandler``, ``DashboardProgramRunRecord``.
"""

from __future__ import annotations

import datetime
import time
from collections.abc import Sequence
from functools import lru_cache
from typing import Any, Final, Protocol

import msgspec

from localcdap.api.errors import BadRequestError
from localcdap.api.failures import ArtifactId
from localcdap.decoders import decode_json
from localcdap.engine.messages.spool import RunStatus
from localcdap.pipeline.library.application_model import get_program
from localcdap.runs.statistics.model import (
    AlertingStage,
    ChartPoint,
    DayTotals,
    FailureReason,
    OverviewRequest,
    PipelineOverview,
    RunOverview,
    RunTotals,
    SlowStage,
    TimelineRun,
)
from localcdap.store.store import Store, Transaction

_MOST_DAYS: Final = 3_700
_TIMELINE: Final = 60
_MOST_REASONS: Final = 50
_MOST_STAGES: Final = 20
_QUARTER_MS: Final = 900_000
"""Every time zone differs from UTC by a multiple of it, so that days consist of whole ones."""
_WHERE: Final = (
    "list_contains(?::VARCHAR[], namespace) AND starting >= ? AND starting < ? "
    "AND (? IS NULL OR pipeline = ?)"
)
_TOTALS: Final = (
    "count(*), count(*) FILTER (status = 'COMPLETED'), count(*) FILTER (status = 'FAILED'), "
    "count(*) FILTER (status = 'KILLED')"
)
_TOOK: Final = "(finish - starting) FILTER (status = 'COMPLETED')"
_MEDIAN: Final = f"CAST(median{_TOOK} AS BIGINT)"


class Overviews:
    """Reads overviews. Threads may share it."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def read(self, request: OverviewRequest) -> RunOverview:
        """Return the overview of a window.

        :raises BadRequestError: when the window is empty or too long, or a number is not above 0.
        """
        _check(request)
        with self._store.snapshot() as tx:
            pipelines, count = _list_pipelines(tx, request)
            return RunOverview(
                request.start,
                request.end,
                RunTotals(*_select(tx, _TOTALS, request)[0]),
                pipelines,
                count,
                _list_days(tx, request),
                _list_failures(tx, request),
                _list_slow_stages(tx, request),
                _list_newest(tx, request),
                _list_alerting_stages(tx, request),
            )


def _check(request: OverviewRequest) -> None:
    if not request.namespaces:
        raise BadRequestError("No namespace is named.", "Name at least one.")
    if request.start >= request.end:
        raise BadRequestError("The window ends before it begins.")
    if (request.end - request.start) / 86_400_000 > _MOST_DAYS:
        raise BadRequestError(f"The window is longer than {_MOST_DAYS:,} days.")
    if request.points < 1 or request.most < 1:
        raise BadRequestError("The numbers of points and pipelines must be above 0.")


def _bind(request: OverviewRequest) -> tuple[Any, ...]:
    return (
        request.namespaces,
        request.start,
        request.end,
        request.pipeline,
        request.pipeline,
    )


def _select(
    tx: Transaction, what: str, request: OverviewRequest, rest: str = "", *more: Any
) -> list[tuple[Any, ...]]:
    return tx.execute(f"SELECT {what} FROM runs WHERE {_WHERE} {rest}", (*_bind(request), *more))  # noqa: S608


def _list_pipelines(
    tx: Transaction, request: OverviewRequest
) -> tuple[list[PipelineOverview], int]:
    rows = _select(
        tx,
        f"namespace, pipeline, {_TOTALS}, {_MEDIAN}, CAST(quantile_cont(finish - starting, 0.95) "
        "FILTER (status = 'COMPLETED') AS BIGINT), sum(records_read)::BIGINT, "
        "arg_max(run, (starting, run)), arg_max(status, (starting, run)), max(starting) AS newest",
        request,
        "GROUP BY namespace, pipeline ORDER BY newest DESC, namespace, pipeline",
    )
    shown = [_build_pipeline(row, request.points) for row in rows[: request.most]]
    by_name = {(each.namespace, each.pipeline): each for each in shown}
    span = max(1, -(-(request.end - request.start) // request.points))
    points = tx.execute(
        f"SELECT namespace, pipeline, (starting - ?) // ? AS point, count(*), "  # noqa: S608
        f"count(*) FILTER (status = 'FAILED'), {_MEDIAN}, sum(records_read)::BIGINT FROM runs "
        f"WHERE {_WHERE} GROUP BY namespace, pipeline, point",
        (request.start, span, *_bind(request)),
    )
    for namespace, pipeline, point, *values in points:
        found = by_name.get((namespace, pipeline))
        if found is not None:
            found.points[point] = ChartPoint(*values)
    return shown, len(rows)


def _build_pipeline(row: tuple[Any, ...], points: int) -> PipelineOverview:
    namespace, pipeline, runs, completed, failed, killed, median, p95, records, run, status, _ = row
    return PipelineOverview(
        runs,
        completed,
        failed,
        killed,
        namespace=namespace,
        pipeline=pipeline,
        median_ms=median,
        p95_ms=p95,
        records=records,
        newest=run,
        status=RunStatus(status),
        points=[None] * points,
    )


def _list_days(tx: Transaction, request: OverviewRequest) -> list[DayTotals]:
    days = {day: DayTotals(day=day) for day in list_days(request.start, request.end)}
    quarters = _select(
        tx, f"starting // {_QUARTER_MS} AS quarter, {_TOTALS}", request, "GROUP BY quarter"
    )
    for quarter, runs, completed, failed, killed in quarters:
        found = days[_to_day(quarter * _QUARTER_MS)]
        found.runs += runs
        found.completed += completed
        found.failed += failed
        found.killed += killed
    return list(days.values())


def list_days(start: int, end: int) -> Sequence[str]:
    """Return the local days between two times in milliseconds, the first and the last inclusive."""
    first, last = (
        datetime.date.fromisoformat(_to_day(each))
        for each in (start // _QUARTER_MS * _QUARTER_MS, end - 1)
    )
    count = (last - first).days + 1
    return [(first + datetime.timedelta(days=each)).isoformat() for each in range(count)]


def _to_day(milliseconds: int) -> str:
    return datetime.datetime.fromtimestamp(milliseconds / 1000).date().isoformat()


def _list_failures(tx: Transaction, request: OverviewRequest) -> list[FailureReason]:
    rows = _select(
        tx,
        "coalesce(reason, 'another reason') AS why, any_value(coalesce(category, 'Others')), count(*) AS n, "
        "count(DISTINCT (namespace, pipeline)), arg_max(run, (starting, run)), "
        "arg_max(namespace, (starting, run)), arg_max(pipeline, (starting, run)), "
        "arg_max({'stage': failed_stage, 'error': error}, (starting, run))",
        request,
        f"AND status = 'FAILED' GROUP BY why ORDER BY n DESC, why LIMIT {_MOST_REASONS}",
    )
    return [
        FailureReason(
            reason,
            category,
            runs,
            pipelines,
            run,
            namespace,
            pipeline,
            what["stage"],
            what["error"],
        )
        for reason, category, runs, pipelines, run, namespace, pipeline, what in rows
    ]


def _list_slow_stages(tx: Transaction, request: OverviewRequest) -> list[SlowStage]:
    rows = tx.execute(
        "SELECT namespace, pipeline, stage, count(*), avg(took)::BIGINT AS average, max(took) FROM ("  # noqa: S608
        "SELECT namespace, pipeline, each.key AS stage, CAST(each.value AS BIGINT) AS took "
        f"FROM runs, json_each(stage_times) AS each WHERE {_WHERE}) "
        f"GROUP BY ALL ORDER BY average DESC, namespace, pipeline, stage LIMIT {_MOST_STAGES}",
        _bind(request),
    )
    return [SlowStage(*row) for row in rows]


def _list_alerting_stages(tx: Transaction, request: OverviewRequest) -> list[AlertingStage]:
    rows = tx.execute(
        "SELECT namespace, pipeline, each.key AS stage, count(*), sum(CAST(each.value AS BIGINT))::BIGINT "  # noqa: S608
        f"AS alerts FROM runs, json_each(stage_alerts) AS each WHERE {_WHERE} GROUP BY ALL "
        f"ORDER BY alerts DESC, namespace, pipeline, stage LIMIT {_MOST_STAGES}",
        _bind(request),
    )
    return [AlertingStage(*row) for row in rows]


def _list_newest(tx: Transaction, request: OverviewRequest) -> list[TimelineRun]:
    rows = _select(
        tx,
        "run, namespace, pipeline, status, starting, finish",
        request,
        f"ORDER BY starting DESC, run DESC LIMIT {_TIMELINE}",
    )
    return [
        TimelineRun(run, namespace, pipeline, RunStatus(status), starting, finish)
        for run, namespace, pipeline, status, starting, finish in rows
    ]


class DashboardApplication(msgspec.Struct):
    """The application of a run."""

    name: str
    version: str | None


class DashboardRun(msgspec.Struct, rename="camel"):
    """A run in a window; a planned one has neither ``run`` nor ``status``. Times are seconds since 1970."""

    namespace: str
    artifact: ArtifactId | None
    application: DashboardApplication
    type: str | None
    program: str | None
    run: str | None
    user: str | None
    start_method: str
    start: int
    running: int | None = None
    suspend: int | None = None
    resume: int | None = None
    end: int | None = None
    status: str | None = None


class PlannedRuns(Protocol):
    """Knows the runs that schedules will start."""

    def list_planned(self, namespaces: Sequence[str], start: int, end: int) -> list[DashboardRun]:
        """Return the runs that are planned from ``start`` until before ``end``, in seconds since 1970."""
        ...


_RUNS: Final = """
    SELECT namespace, pipeline, run, username, start_method, starting // 1000, begun // 1000,
        finish // 1000, status, application_version, artifact
    FROM runs
    WHERE list_contains(?::VARCHAR[], namespace) AND starting < ? AND (finish IS NULL OR finish >= ?)
    ORDER BY starting, run
"""


class Dashboard:
    """Reads the runs of windows. Threads may share it."""

    def __init__(self, store: Store, planned: PlannedRuns) -> None:
        self._store = store
        self._planned = planned

    def read(self, start: int, duration: int, namespaces: Sequence[str]) -> list[DashboardRun]:
        """Return the runs that were active in a window, in the order of their start, and the planned ones.

        :param start: seconds since 1970; ``duration`` is in seconds.
        :raises BadRequestError: when a number is negative, or there is no namespace.
        """
        if start < 0:
            raise BadRequestError("'start' time cannot be smaller than 0.")
        if duration < 0:
            raise BadRequestError("'duration' cannot be smaller than 0.")
        if not namespaces:
            raise BadRequestError(
                "'namespace' cannot be empty, please provide at least one namespace."
            )
        end = start + duration + 1  # as in the original, the second of the end counts
        rows = self._store.read(_RUNS, (list(namespaces), end * 1000, start * 1000))
        found = [_build(row) for row in rows]
        now = int(time.time())
        if end - 1 > now:
            found += self._planned.list_planned(namespaces, max(start, now), end)
        return found


def _build(row: tuple[Any, ...]) -> DashboardRun:
    namespace, pipeline, run, user, method, start, running, end, status, version, artifact = row
    named, program, type = _read_artifact(artifact)
    return DashboardRun(
        namespace,
        named,
        DashboardApplication(pipeline, version),
        type,
        program,
        run,
        user,
        method,
        start,
        running,
        end=end,
        status=status,
    )


@lru_cache(maxsize=1024)
def _read_artifact(text: str | None) -> tuple[ArtifactId | None, str | None, str | None]:
    """Return the artifact of an application, and its program with the type."""
    if text is None:
        return None, None, None
    artifact = decode_json(text, ArtifactId)
    return artifact, *get_program(artifact)
