"""Reads the run history of a namespace: in pages, filtered, and grouped by pipeline."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import msgspec

from localcdap.decoders import decode_json
from localcdap.engine.messages.spool import RunStatus
from localcdap.runs.model import Run, StageCounts

if TYPE_CHECKING:
    from localcdap.store.store import Store

LONGEST_PAGE: Final = 1000
"""The most runs in a page."""


class RunFilter(msgspec.Struct, rename="camel"):
    """A filter for runs; by default all runs of a namespace match."""

    pipeline: str | None = None
    """The exact name of the pipeline; None for all pipelines."""
    statuses: list[RunStatus] = []
    """The statuses that match; empty for all."""
    text: str = ""
    """A text in the pipeline's name or the error's message, ignoring case, or the beginning of the run's
    id.
    """
    since: int | None = None
    """Milliseconds since 1970: only runs that were asked for then or later."""
    until: int | None = None
    """Milliseconds since 1970: only runs that were asked for before."""
    application_version: str | None = None
    """Only runs of this version of a deployed pipeline."""


class RunPage(msgspec.Struct):
    """A page of runs, newest first."""

    runs: list[Run]
    total: int
    """The number of all runs that match the filter, also those on other pages."""


class RunPoint(msgspec.Struct):
    """A run as a point of a chart of durations."""

    run: str
    status: RunStatus
    took_ms: int | None
    """The time from the request to the end, in milliseconds; None for a run that has not ended."""
    records: int | None
    """The number of records that sources read; None when they were not counted."""


class PipelineRuns(msgspec.Struct):
    """The runs of one pipeline."""

    pipeline: str
    count: int
    active: int
    recent: list[RunPoint]
    """The newest runs, oldest first; at least one."""


class RunHistory:
    """Reads runs from the instance's database."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def read_page(
        self, namespace: str, filter: RunFilter, after: str | None, limit: int
    ) -> RunPage:
        """Return the runs that are older than the run ``after``, newest first; with None from the newest
        on.
        """
        where, params = _build_condition(namespace, filter)
        of_page, limit = where, max(1, min(limit, LONGEST_PAGE))
        if after is not None:
            of_page += " AND (starting, run) < (SELECT (starting, run) FROM runs WHERE run = ?)"
        rows = self._store.read(
            f"SELECT record FROM runs WHERE {of_page} "  # noqa: S608
            "ORDER BY starting DESC, run DESC LIMIT ?",
            (*params, *((after,) if after is not None else ()), limit),
        )
        total = len(rows)
        if after is not None or total == limit:  # there may be more
            counted = self._store.read(f"SELECT count(*) FROM runs WHERE {where}", params)[0][0]  # noqa: S608
            total = max(total, counted)  # runs may have been removed since
        return RunPage([_decode_run(record) for (record,) in rows], total)

    def group_by_pipeline(self, namespace: str, recent: int) -> list[PipelineRuns]:
        """Return the pipelines that have runs, the one with the newest run first.

        :param recent: the number of recent runs of each pipeline; of pipelines after the first three hundred,
            only the newest run.
        """
        rows = self._store.read(_PIPELINES, (namespace,))
        found = {
            pipeline: PipelineRuns(pipeline, count, active, [_build_point(**newest)])
            for pipeline, count, active, newest in rows
        }
        charted = list(found)[:_MOST_CHARTED]
        recents: dict[str, list[RunPoint]] = {}
        for pipeline, *point in self._store.read(_RECENT, (namespace, charted, recent)):
            recents.setdefault(pipeline, []).append(_build_point(*point))
        for pipeline, points in recents.items():
            found[pipeline].recent = points
        return list(found.values())


def _build_point(
    run: str, status: str, starting: int, finish: int | None, records_read: int | None
) -> RunPoint:
    took = None if finish is None else max(0, finish - starting)
    return RunPoint(run, RunStatus(status), took, records_read)


def count_records_read(stages: dict[str, StageCounts]) -> int | None:
    """Return the number of output records of stages without input; None when they were not counted."""
    given = [
        counts.records_out
        for counts in stages.values()
        if not counts.records_in and counts.records_out is not None
    ]
    return sum(given) if given else None


def _build_condition(namespace: str, filter: RunFilter) -> tuple[str, list[Any]]:
    """Return the SQL condition of a filter, and its parameters."""
    parts, params = ["namespace = ?"], list[Any]([namespace])
    if filter.pipeline is not None:
        parts.append("pipeline = ?")
        params.append(filter.pipeline)
    if filter.statuses:
        marks = ", ".join("?" for _ in filter.statuses)
        parts.append(f"status IN ({marks})")
        params += [status.value for status in filter.statuses]
    for bound, comparison in ((filter.since, ">="), (filter.until, "<")):
        if bound is not None:
            parts.append(f"starting {comparison} ?")
            params.append(bound)
    if filter.application_version is not None:
        parts.append("application_version = ?")
        params.append(filter.application_version)
    if filter.text:
        text = filter.text.lower()
        parts.append(
            "(contains(lower(pipeline), ?) OR starts_with(run, ?) OR "
            "contains(lower(coalesce(error, '')), ?))"
        )
        params += [text, text, text]
    return " AND ".join(parts), params


def _decode_run(record: str) -> Run:
    return decode_json(record, type=Run)


_PIPELINES: Final = """
    SELECT pipeline, count(*), count(*) FILTER (NOT ended), arg_max({
        'run': run, 'status': status, 'starting': starting, 'finish': finish, 'records_read': records_read
    }, (starting, run)) FROM runs WHERE namespace = ?
    GROUP BY pipeline ORDER BY max(starting) DESC, pipeline
"""
_MOST_CHARTED: Final = 300
"""The most pipelines whose recent runs are read: nobody looks at thousands of charts at once."""
_RECENT: Final = """
    SELECT pipeline, run, status, starting, finish, records_read FROM runs
    WHERE namespace = ? AND pipeline IN (SELECT unnest(?::VARCHAR[]))
    QUALIFY row_number() OVER (PARTITION BY pipeline ORDER BY starting DESC, run DESC) <= ?
    ORDER BY pipeline, starting, run
"""
