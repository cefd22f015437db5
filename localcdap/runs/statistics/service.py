"""The service for what is known of many runs.

Statistics of the runs of one pipeline: durations, percentiles, and runs beside each other.

Rules and JSON are those of CDAP 6 ``WorkflowStatsSLAHttpHandler``; what it says of the nodes of a workflow
is said of the stages here.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

import msgspec

from localcdap.api.errors import BadRequestError, ConflictError, NotFoundError
from localcdap.api.metadata import MetadataEntity
from localcdap.api.security import Permission
from localcdap.decoders import decode_json
from localcdap.engine.messages.spool import RunStatus
from localcdap.messaging.topics import Topics
from localcdap.namespaces.service import NamespaceService
from localcdap.runs.model import OF_RUN, Run, StageCounts, get_run_entity
from localcdap.runs.records import RunRecords
from localcdap.runs.statistics.classification import ErrorClassification, classify
from localcdap.runs.statistics.model import OverviewRequest, RunOverview
from localcdap.runs.statistics.overview import (
    Dashboard,
    DashboardRun,
    Overviews,
    PlannedRuns,
)
from localcdap.security.access import Target, of_application, open_to_all, requires
from localcdap.store.store import Store


class WorkflowStatistics(msgspec.Struct, rename="camel"):
    """The completed runs of a pipeline in a window (CDAP 6 ``PercentileInformation`` of a workflow)."""

    start_time: int
    """Seconds since 1970, as ``end_time``."""
    end_time: int
    runs: int
    avg_run_time: float
    """Seconds, as all durations here."""
    percentile_information_list: list[PercentileInformation]
    nodes: dict[str, dict[str, float]]
    """By stage the ``avgRunTime``, and the run time of each percentile; only stages whose times are known."""


class PercentileInformation(msgspec.Struct, rename="camel"):
    """A percentile of the durations."""

    percentile: float
    percentile_time_in_seconds: int
    run_ids_over_percentile: list[str]


class WorkflowRun(msgspec.Struct, rename="camel"):
    """A completed run beside others."""

    run_id: str
    start_time: int
    time_taken: int


class ComparedStage(msgspec.Struct, rename="camel"):
    """A stage of two runs; what a run does not know, or a stage that it lacks, is None."""

    stage: str
    counts: list[StageCounts | None]
    """Of the first and the second run."""
    times: list[int | None]
    """Milliseconds."""


class ComparedRuns(msgspec.Struct, rename="camel"):
    """Two runs, by stage."""

    runs: list[WorkflowRun]
    statuses: list[str]
    stages: list[ComparedStage]
    """In the order of the second run, then the stages of the first one only."""
    arguments: dict[str, list[str | None]]
    """The arguments that differ."""


_COMPLETED: Final = """
    SELECT run, starting, finish, stage_times FROM runs
    WHERE namespace = ? AND pipeline = ? AND status = 'COMPLETED' AND starting >= ? AND starting < ?
    ORDER BY finish - starting, starting, run
"""
_AROUND: Final = """
    SELECT run, starting, finish FROM runs
    WHERE namespace = ? AND pipeline = ? AND status = 'COMPLETED'
        AND starting >= ? AND starting <= ? ORDER BY starting, run
"""


class PipelineStatistics:
    """Reads statistics. Threads may share it."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def read(
        self, namespace: str, pipeline: str, start: int, end: int, percentiles: Sequence[float]
    ) -> WorkflowStatistics | None:
        """Return the statistics of the runs that began in a window; None when none has completed.

        :param start: seconds since 1970, as ``end``, which is exclusive.
        :raises BadRequestError: when the window or a percentile is wrong.
        """
        if end < start or start < 0 or end < 0:
            raise BadRequestError("Wrong start or end time.")
        if any(not 0 <= each <= 100 for each in percentiles):
            raise BadRequestError("Percentile values have to be greater than 0 and less than 100")
        rows = self._store.read(_COMPLETED, (namespace, pipeline, start * 1000, end * 1000))
        if not rows:
            return None
        runs = [(run, _to_seconds(finish - starting)) for run, starting, finish, _ in rows]
        times = [decode_json(each, dict[str, int]) for *_, each in rows if each is not None]
        return WorkflowStatistics(
            start,
            end,
            len(runs),
            sum(took for _, took in runs) / len(runs),
            [_build_percentile(each, runs) for each in percentiles],
            _build_nodes(times, percentiles),
        )

    def list_around(self, run: Run, limit: int, interval: int) -> list[WorkflowRun]:
        """Return a run with those of its pipeline before and after it.

        :param limit: the most runs before, and after it.
        :param interval: seconds; no run further away is returned.
        :raises BadRequestError: when a number is not above 0.
        """
        if limit <= 0:
            raise BadRequestError(
                "Limit has to be greater than 0. Entered value was : " + str(limit)
            )
        if interval <= 0:
            raise BadRequestError("Interval must be greater than 0.")
        reach = limit * interval * 1000
        rows = self._store.read(
            _AROUND, (run.namespace, run.pipeline, run.starting - reach, run.starting + reach)
        )
        found = [
            WorkflowRun(id, starting // 1000, _to_seconds(finish - starting))
            for id, starting, finish in rows
        ]
        at = next((place for place, each in enumerate(found) if each.run_id == run.run), None)
        if at is None:
            raise NotFoundError(
                f"Run '{run.run}' of '{run.pipeline}' has not completed.",
                "Statistics are about completed runs.",
            )
        return found[max(0, at - limit) : at + limit + 1]


def compare(first: Run, second: Run) -> ComparedRuns:
    """Return two runs beside each other."""
    names = dict.fromkeys((*second.stages, *first.stages))
    stages = [
        ComparedStage(
            name,
            [
                run.get_latest_counts(name) if name in run.stages else None
                for run in (first, second)
            ],
            [run.stage_times.get(name) for run in (first, second)],
        )
        for name in names
    ]
    return ComparedRuns(
        [
            WorkflowRun(
                run.run, run.starting // 1000, _to_seconds((run.end or run.starting) - run.starting)
            )
            for run in (first, second)
        ],
        [run.status.value for run in (first, second)],
        stages,
        dict(_compare_arguments(first, second)),
    )


def _compare_arguments(first: Run, second: Run) -> Iterator[tuple[str, list[str | None]]]:
    for name in dict.fromkeys((*first.arguments, *second.arguments)):
        values = [first.arguments.get(name), second.arguments.get(name)]
        if values[0] != values[1]:
            yield name, values


def _build_percentile(percentile: float, runs: Sequence[tuple[str, int]]) -> PercentileInformation:
    """Return a percentile; the run at its place counts as over it, as in the original."""
    place = find_place(percentile, len(runs))
    return PercentileInformation(percentile, runs[place][1], [run for run, _ in runs[place:]])


def _build_nodes(
    times: Sequence[Mapping[str, int]], percentiles: Sequence[float]
) -> dict[str, dict[str, float]]:
    by_stage: dict[str, list[int]] = {}
    for each in times:
        for stage, milliseconds in each.items():
            by_stage.setdefault(stage, []).append(milliseconds)
    return {
        stage: {
            "runs": len(known),
            "avgRunTime": sum(known) / len(known) / 1000,
            **{
                str(float(each)): sorted(known)[find_place(each, len(known))] / 1000
                for each in percentiles
            },
        }
        for stage, known in by_stage.items()
    }


def find_place(percentile: float, count: int) -> int:
    """Return the index of a percentile among sorted values; the last one for 100."""
    return min(int(percentile * count / 100), count - 1)


def _to_seconds(milliseconds: int) -> int:
    return milliseconds // 1000


_OF_NAMESPACES: Final = Target(
    "each namespace of {namespaces}",
    lambda _, given: [MetadataEntity.of_namespace(each) for each in given["namespaces"]],
)
_OF_REQUEST: Final = Target(
    "each namespace of {request.namespaces}",
    lambda _, given: [MetadataEntity.of_namespace(each) for each in given["request"].namespaces],
)


class RunStatisticsService:
    """Dashboards, statistics and overviews of runs, and why they fail. Threads may share it.

    :param planned: knows the runs that schedules will start.
    """

    def __init__(
        self,
        store: Store,
        topics: Topics,
        namespaces: NamespaceService,
        planned: PlannedRuns,
    ) -> None:
        self._records = RunRecords(store, topics, namespaces)
        self._namespaces = namespaces
        self._dashboard = Dashboard(store, planned)
        self._statistics = PipelineStatistics(store)
        self._overviews = Overviews(store)

    @open_to_all("it names the entity of other checks")
    def get_entity(self, run: str, namespace: str | None = None) -> MetadataEntity:
        """Return the application of a run."""
        return get_run_entity(self._find(run, namespace))

    @requires(_OF_NAMESPACES, Permission.READ)
    def read_dashboard(
        self, start: int, duration: int, namespaces: list[str]
    ) -> list[DashboardRun]:
        """Return the runs that were active in a window, and those that are planned in it.

        :param start: seconds since 1970; ``duration`` is in seconds.
        :raises BadRequestError: when a number is negative, or there is no namespace.
        """
        return self._dashboard.read(start, duration, namespaces)

    @requires(_OF_REQUEST, Permission.READ)
    def read_overview(self, request: OverviewRequest) -> RunOverview:
        """Return what happened in a window.

        :raises BadRequestError: when the request is wrong.
        :raises NotFoundError: when there is no such namespace.
        """
        for each in request.namespaces:
            self._namespaces.require(each)
        return self._overviews.read(request)

    @requires(of_application(name="pipeline"))
    def read_statistics(
        self,
        namespace: str,
        pipeline: str,
        start: int,
        end: int,
        percentiles: Sequence[float] = (),
    ) -> WorkflowStatistics | None:
        """Return the statistics of the runs of a pipeline; None when none has completed in the window.

        :param start: seconds since 1970, as ``end``, which is exclusive.
        :raises BadRequestError: when the window or a percentile is wrong.
        """
        self._namespaces.require(namespace)
        return self._statistics.read(namespace, pipeline, start, end, percentiles)

    @requires(OF_RUN)
    def list_around(self, namespace: str, run: str, limit: int, interval: int) -> list[WorkflowRun]:
        """Return a run with the completed runs of its pipeline before and after it.

        :param interval: seconds between two of them, about.
        :raises NotFoundError: when there is no such run, or it has not completed.
        """
        return self._statistics.list_around(self._find(run, namespace), limit, interval)

    @requires(OF_RUN)
    def compare(self, namespace: str, run: str, other: str) -> ComparedRuns:
        """Return two runs of a pipeline beside each other, by stage.

        :raises NotFoundError: when there is no such run.
        :raises BadRequestError: when they are of different pipelines.
        """
        first, second = self._find(run, namespace), self._find(other, namespace)
        if first.pipeline != second.pipeline:
            # The other pipeline is not named: the caller may have no right to see it.
            raise BadRequestError(
                f"Run '{second.run}' is not one of '{first.pipeline}'.",
                "Compare runs of one pipeline.",
            )
        return compare(first, second)

    @requires(OF_RUN)
    def classify(self, namespace: str, run: str) -> list[ErrorClassification]:
        """Return why a run failed.

        :raises NotFoundError: when there is no such run.
        :raises ConflictError: when it has not failed.
        """
        found = self._find(run, namespace)
        if found.status is not RunStatus.FAILED or found.error is None:
            raise ConflictError(
                f"Run '{found.run}' has not failed: it is {found.status}.",
                "Classification is only supported for failed runs.",
            )
        return classify(found.error)

    def _find(self, run: str, namespace: str | None) -> Run:
        if namespace is None:
            return self._records.get(run)
        self._namespaces.require(namespace)
        return self._records.find(namespace, run)
