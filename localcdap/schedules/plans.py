"""The runs that schedules will start, for dashboards and calendars."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from localcdap.api.metadata import WORKFLOW, WORKFLOW_NAME
from localcdap.pipeline.library import application_records
from localcdap.pipeline.library.application_model import Application
from localcdap.runs.model import SCHEDULED
from localcdap.runs.statistics.overview import DashboardApplication, DashboardRun
from localcdap.schedules import times
from localcdap.schedules.model import TimeTrigger
from localcdap.schedules.times import DueTime
from localcdap.store.store import Store, Transaction

MOST: Final = 10_000
"""The most planned runs of one cron expression in an answer."""


def list_active_times(tx: Transaction, namespace: str) -> list[DueTime]:
    """Return the times of the schedules of a namespace that are enabled."""
    return [each for each in times.list_in_namespace(tx, namespace) if each.next is not None]


def list_times_between(due: DueTime, start: int, end: int) -> list[int]:
    """Return the times at which a schedule is due from ``start`` until before ``end``, in milliseconds."""
    trigger = TimeTrigger(due.cron, due.zone)
    # A second before, so that the start itself is found.
    found = times.list_next(trigger, start - 1000, end, MOST)
    return [each for each in found if each >= start and (due.next is None or each >= due.next)]


class StoredPlans:
    """The planned runs of an instance; see :class:`localcdap.runs.statistics.overview.PlannedRuns`."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def list_planned(self, namespaces: Sequence[str], start: int, end: int) -> list[DashboardRun]:
        with self._store.snapshot() as tx:
            found = [
                each for namespace in namespaces for each in self._list(tx, namespace, start, end)
            ]
        return sorted(found, key=lambda each: (each.start, each.application.name))

    def _list(
        self, tx: Transaction, namespace: str, start: int, end: int
    ) -> Iterator[DashboardRun]:
        active = list_active_times(tx, namespace)
        if not active:
            return
        applications = {each.name: each for each in application_records.list_latest(tx, namespace)}
        for each in active:
            application = applications.get(each.application)
            if application is None:
                continue
            for time in list_times_between(each, start * 1000, end * 1000):
                yield _build(application, time // 1000)


def _build(application: Application, start: int) -> DashboardRun:
    return DashboardRun(
        application.namespace,
        application.artifact,
        DashboardApplication(application.name, application.version),
        WORKFLOW,
        WORKFLOW_NAME,
        run=None,
        user=None,
        start_method=SCHEDULED,
        start=start,
    )
