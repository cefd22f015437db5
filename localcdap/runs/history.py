"""The runs of a namespace as a person looks through them: in pages, filtered, and per pipeline."""

from __future__ import annotations

from typing import Any, Final

import msgspec

from localcdap.decoders import decode_json
from localcdap.engine.messages.spool import RunStatus
from localcdap.runs.model import Run, StageCounts
from localcdap.store.store import Store

LONGEST_PAGE: Final = 1000
"""Runs that one page holds at most."""


class RunFilter(msgspec.Struct, rename="camel"):
    """Which runs; by default all of a namespace."""

    pipeline: str | None = None
    """Its exact name."""
    statuses: list[RunStatus] = []
    """Empty for any."""
    text: str = ""
    """Stands in the pipeline's name or the error's message, in any case, or begins the run's id."""


class RunPage(msgspec.Struct):
    """Some runs, newest first."""

    runs: list[Run]
    total: int
    """All that the filter lets through, on this page or not."""


class RunPoint(msgspec.Struct):
    """A run as one point of a curve."""

    run: str
    status: RunStatus
    took_ms: int | None
    """From when it was asked for to its end; None for a run that has not ended."""
    records: int | None
    """Records that its first stages gave out; None where they were not counted."""


class PipelineRuns(msgspec.Struct):
    """The runs of one pipeline."""

    pipeline: str
    count: int
    active: int
    recent: list[RunPoint]
    """The last ones, oldest first."""


class RunHistory:
    """Reads runs from the instance's database."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def page(self, namespace: str, filter: RunFilter, after: str | None, limit: int) -> RunPage:
        """The runs that come behind the run ``after``, newest first; None for the newest."""
        where, params = _where(namespace, filter)
        with self._store.snapshot() as tx:
            total = tx.execute(f"SELECT count(*) FROM runs WHERE {where}", params)[0][0]  # noqa: S608
            if after is not None:
                where += " AND (starting, run) < (SELECT (starting, run) FROM runs WHERE run = ?)"
                params = [*params, after]
            rows = tx.execute(
                f"SELECT record FROM runs WHERE {where} "  # noqa: S608
                "ORDER BY starting DESC, run DESC LIMIT ?",
                (*params, max(1, min(limit, LONGEST_PAGE))),
            )
        return RunPage([_decode_run(record) for (record,) in rows], total)

    def by_pipeline(self, namespace: str, recent: int) -> list[PipelineRuns]:
        """The pipelines that were run, the one with the newest run first.

        :param recent: of how many runs each tells.
        """
        found: dict[str, PipelineRuns] = {}
        for pipeline, record, count, active in self._store.read(_RECENT, (namespace, recent)):
            runs = found.setdefault(pipeline, PipelineRuns(pipeline, count, active, []))
            runs.recent.insert(0, point(_decode_run(record)))
        return list(found.values())


def point(run: Run) -> RunPoint:
    """A run as a point."""
    took = None if run.end is None else max(0, run.end - run.starting)
    return RunPoint(run.run, run.status, took, records_read(run.stages))


def records_read(stages: dict[str, StageCounts]) -> int | None:
    """The records that the stages without input gave out; None where none of them was counted."""
    given = [
        counts.records_out
        for counts in stages.values()
        if not counts.records_in and counts.records_out is not None
    ]
    return sum(given) if given else None


def _where(namespace: str, filter: RunFilter) -> tuple[str, list[Any]]:
    """The condition of a filter, and its parameters."""
    parts, params = ["namespace = ?"], [namespace]
    if filter.pipeline is not None:
        parts.append("pipeline = ?")
        params.append(filter.pipeline)
    if filter.statuses:
        marks = ", ".join("?" for _ in filter.statuses)
        parts.append(f"json_extract_string(record, '$.status') IN ({marks})")
        params += [status.value for status in filter.statuses]
    if filter.text:
        text = filter.text.lower()
        parts.append(
            "(contains(lower(pipeline), ?) OR starts_with(run, ?) OR "
            "contains(lower(coalesce(json_extract_string(record, '$.error.message'), '')), ?))"
        )
        params += [text, text, text]
    return " AND ".join(parts), params


def _decode_run(record: str) -> Run:
    return decode_json(record, type=Run)


_RECENT: Final = """
    SELECT pipeline, record, count, active FROM (
        SELECT pipeline, record, starting, run,
            count(*) OVER of_pipeline AS count,
            count(*) FILTER (NOT ended) OVER of_pipeline AS active,
            max(starting) OVER of_pipeline AS latest,
            row_number() OVER (PARTITION BY pipeline ORDER BY starting DESC, run DESC) AS place
        FROM runs WHERE namespace = ?
        WINDOW of_pipeline AS (PARTITION BY pipeline)
    ) WHERE place <= ? ORDER BY latest DESC, pipeline, place
"""
