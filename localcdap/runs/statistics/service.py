"""The service for what is known of many runs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from localcdap.api.errors import BadRequestError, ConflictError
from localcdap.api.metadata import MetadataEntity
from localcdap.api.security import Permission
from localcdap.engine.messages.spool import RunStatus
from localcdap.messaging.topics import Topics
from localcdap.namespaces.service import NamespaceService
from localcdap.runs.access import OF_RUN, get_run_entity
from localcdap.runs.model import Run
from localcdap.runs.records import RunRecords
from localcdap.runs.statistics.classification import ErrorClassification, classify
from localcdap.runs.statistics.dashboard import (
    Dashboard,
    DashboardRun,
    NoPlannedRuns,
    PlannedRuns,
)
from localcdap.runs.statistics.model import OverviewRequest, RunOverview
from localcdap.runs.statistics.overview import Overviews
from localcdap.runs.statistics.workflow import (
    ComparedRuns,
    PipelineStatistics,
    WorkflowRun,
    WorkflowStatistics,
    compare,
)
from localcdap.security.access import Target, of_application, open_to_all, requires
from localcdap.store.store import Store

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
        planned: PlannedRuns = NoPlannedRuns(),  # noqa: B008 - it has no state
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
