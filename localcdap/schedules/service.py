"""The service ``schedules``: schedules of deployed pipelines, their jobs, and what became of these."""

from __future__ import annotations

import datetime
from collections.abc import Callable, Collection
from typing import Final

from localcdap.api.errors import BadRequestError
from localcdap.api.metadata import MetadataEntity
from localcdap.api.security import Authorizer, Permission
from localcdap.namespaces.model import NamespaceResource
from localcdap.namespaces.service import NamespaceService
from localcdap.pipeline.library import application_records
from localcdap.rpc.methods import non_idempotent
from localcdap.runs.model import get_now
from localcdap.schedules import jobs, records, times
from localcdap.schedules.changes import ScheduleChanges
from localcdap.schedules.constraints import find_zone
from localcdap.schedules.jobs import ScheduleJob
from localcdap.schedules.model import (
    PartitionTrigger,
    PlannedTime,
    ProgramStatusTrigger,
    Schedule,
    ScheduledRuntime,
    ScheduleEvent,
    ScheduleRequest,
    ScheduleStatus,
    ScheduleSummary,
    TimeTrigger,
    Trigger,
    TriggerProgram,
)
from localcdap.schedules.rules import check_cron
from localcdap.schedules.triggers import STATUSES, get_type, list_simple, make_status_key
from localcdap.security.access import (
    of_application,
    of_namespace,
    open_to_all,
    requires,
    shows_visible,
)
from localcdap.security.authorizer import ALLOW_ALL
from localcdap.security.principals import current_principal
from localcdap.store.store import Store, Transaction

_MOST_TIMES: Final = 1000
_OF_SCHEDULE: Final = of_application(name="application")
_TIME: Final = "%a %Y-%m-%d %H:%M:%S %Z"


def _get_entity(found: Schedule | ScheduleJob | ScheduleEvent | PlannedTime) -> MetadataEntity:
    return MetadataEntity.of_application(found.application, getattr(found, "namespace", ""))


class ScheduleService:
    """The schedules of an instance. Threads may share it.

    :param authorizer: a schedule may wait only for pipelines and datasets that its maker sees.
    """

    def __init__(
        self,
        store: Store,
        namespaces: NamespaceService,
        changes: ScheduleChanges,
        authorizer: Authorizer = ALLOW_ALL,
        now: Callable[[], int] = get_now,
    ) -> None:
        self._store = store
        self._namespaces = namespaces
        self._changes = changes
        self._authorizer = authorizer
        self._now = now
        namespaces.register_resource(NamespaceResource("schedules", remove=records.remove_all))

    @requires(_OF_SCHEDULE, Permission.ADMIN)
    @non_idempotent
    def add(
        self, namespace: str, application: str, name: str, request: ScheduleRequest
    ) -> Schedule:
        """Make a schedule of a deployed pipeline. It is suspended.

        :raises BadRequestError: when it is invalid; names all that is wrong.
        :raises ConflictError: when the pipeline has a schedule of that name.
        :raises NotFoundError: when there is no such pipeline.
        """
        if request.trigger is None:
            raise BadRequestError("No trigger was specified for the schedule")
        self._check_visible(request.trigger)
        schedule = Schedule(namespace, application, name, request.trigger)
        _apply(schedule, request)
        with self._store.transaction() as tx:
            self._namespaces.require_in_transaction(tx, namespace)
            found = application_records.find(tx, namespace, application)
            self._changes.add(tx, schedule, found)
        return schedule

    @requires(_OF_SCHEDULE, Permission.ADMIN)
    @non_idempotent
    def update(
        self, namespace: str, application: str, name: str, request: ScheduleRequest
    ) -> Schedule:
        """Change a schedule, whose jobs are dropped then; it stays enabled if it was.

        :raises BadRequestError: when it would be invalid, or get another program.
        :raises NotFoundError: when there is no such schedule.
        """
        if request.trigger is not None:
            self._check_visible(request.trigger)
        with self._store.transaction() as tx:
            schedule = self._get(tx, namespace, application, name)
            if request.program is not None and request.program != schedule.program:
                raise BadRequestError(
                    f"The program of schedule '{name}' cannot be changed.", "Make another schedule."
                )
            _apply(schedule, request)
            found = application_records.find(tx, namespace, application)
            self._changes.replace(tx, schedule, found)
        return schedule

    @requires(_OF_SCHEDULE, Permission.ADMIN)
    def delete(self, namespace: str, application: str, name: str) -> None:
        """Delete a schedule; its jobs are dropped.

        :raises NotFoundError: when there is no such schedule.
        """
        with self._store.transaction() as tx:
            schedule = self._get(tx, namespace, application, name)
            self._changes.remove(tx, schedule, "the schedule was deleted")

    @requires(_OF_SCHEDULE, Permission.EXECUTE)
    def enable(self, namespace: str, application: str, name: str) -> Schedule:
        """Let a schedule act from now on, as the current user.

        :raises ConflictError: when it does already.
        :raises NotFoundError: when there is no such schedule.
        """
        return self._set_status(namespace, application, name, ScheduleStatus.SCHEDULED)

    @requires(_OF_SCHEDULE, Permission.EXECUTE)
    def suspend(self, namespace: str, application: str, name: str) -> Schedule:
        """Keep a schedule from acting; its jobs are dropped.

        :raises ConflictError: when it is suspended already.
        :raises NotFoundError: when there is no such schedule.
        """
        return self._set_status(namespace, application, name, ScheduleStatus.SUSPENDED)

    @requires(of_namespace(), Permission.ADMIN)
    def enable_again(self, namespace: str, start: int, end: int) -> list[Schedule]:
        """Enable the schedules that were suspended in a time (CDAP 6 ``reEnableSchedules``).

        :param start: milliseconds since 1970, as ``end``, which is exclusive.
        """
        self._namespaces.require(namespace)
        with self._store.transaction() as tx:
            found = [
                each
                for each in records.list_schedules(tx, namespace)
                if each.status is ScheduleStatus.SUSPENDED and start <= each.last_update_time < end
            ]
            for each in found:
                self._changes.set_status(tx, each, ScheduleStatus.SCHEDULED)
        return found

    @requires(_OF_SCHEDULE)
    def get(self, namespace: str, application: str, name: str) -> Schedule:
        """Return a schedule.

        :raises NotFoundError: when there is no such schedule; the message lists those of the pipeline.
        """
        self._namespaces.require(namespace)
        with self._store.snapshot() as tx:
            return self._get(tx, namespace, application, name)

    @requires(of_namespace())
    @shows_visible(lambda each: _get_entity(each.schedule))
    def list_schedules(
        self,
        namespace: str,
        application: str | None = None,
        trigger_type: str | None = None,
        status: ScheduleStatus | None = None,
    ) -> list[ScheduleSummary]:
        """Return the schedules of a namespace or a pipeline, by pipeline and name.

        :param trigger_type: only of those whose trigger is of this type, such as ``TIME``.
        :raises NotFoundError: when there is no such namespace or pipeline.
        """
        self._namespaces.require(namespace)
        with self._store.snapshot() as tx:
            if application is not None:
                application_records.find(tx, namespace, application)
            found = records.list_schedules(tx, namespace, application)
            last = jobs.find_last(tx, namespace)
            due: dict[tuple[str, str], int] = {}
            for each in times.list_in_namespace(tx, namespace, application):
                if each.next is not None:
                    due.setdefault((each.application, each.schedule), each.next)
        return [
            ScheduleSummary(
                each,
                due.get((each.application, each.name)),
                last.get((each.application, each.name)),
            )
            for each in found
            if (trigger_type is None or trigger_type == get_type(each.trigger))
            and (status is None or each.status is status)
        ]

    @requires(of_namespace())
    @shows_visible(_get_entity)
    def list_triggered_by(
        self,
        namespace: str,
        program: TriggerProgram,
        statuses: Collection[str] = STATUSES,
        status: ScheduleStatus | None = None,
    ) -> list[Schedule]:
        """Return the schedules of all namespaces whose triggers wait for runs of a program.

        :param namespace: that of the program.
        """
        self._namespaces.require(namespace)
        with self._store.snapshot() as tx:
            keys = [make_status_key(program, each) for each in statuses]
            found = records.list_by_key(tx, keys)
        return [each for each in found if status is None or each.status is status]

    @requires(_OF_SCHEDULE)
    def list_next_runtimes(self, namespace: str, application: str) -> list[ScheduledRuntime]:
        """Return when the enabled schedules of a pipeline are due next.

        :raises NotFoundError: when there is no such pipeline.
        """
        found = self._list_times(namespace, application)
        return [
            ScheduledRuntime(_make_id(each), each.next) for each in found if each.next is not None
        ]

    @requires(_OF_SCHEDULE)
    def list_previous_runtimes(self, namespace: str, application: str) -> list[ScheduledRuntime]:
        """Return when the schedules of a pipeline were due last.

        :raises NotFoundError: when there is no such pipeline.
        """
        found = self._list_times(namespace, application)
        return [
            ScheduledRuntime(_make_id(each), each.last) for each in found if each.last is not None
        ]

    @open_to_all("it computes with the given expression only")
    def list_times(
        self, cron: str, time_zone: str | None = None, count: int = 5
    ) -> list[PlannedTime]:
        """Return the next times of a cron expression.

        :raises BadRequestError: when the expression or the zone cannot be read.
        """
        check_cron(cron, time_zone)
        trigger = TimeTrigger(cron, time_zone)
        found = times.list_next(trigger, self._now(), None, min(count, _MOST_TIMES))
        return [PlannedTime(each, "", "", _format(each, time_zone)) for each in found]

    @requires(of_namespace(), Permission.READ)
    def list_planned(
        self, namespace: str, end: int, application: str | None = None, limit: int = 100
    ) -> list[PlannedTime]:
        """Return when enabled schedules are due until a time, the earliest first.

        :param end: milliseconds since 1970.
        """
        self._namespaces.require(namespace)
        now = self._now()
        with self._store.snapshot() as tx:
            active = times.list_active_times(tx, namespace)
        found = [
            PlannedTime(time, each.application, each.schedule, _format(time, each.zone))
            for each in active
            if application in (None, each.application)
            for time in times.list_next(
                TimeTrigger(each.cron, each.zone), now, end, min(limit, _MOST_TIMES)
            )
        ]
        return sorted(found, key=lambda each: each.time)[:limit]

    @requires(of_namespace())
    @shows_visible(_get_entity)
    def list_jobs(
        self, namespace: str, application: str | None = None, name: str | None = None
    ) -> list[ScheduleJob]:
        """Return what was triggered and waits, the oldest first."""
        self._namespaces.require(namespace)
        with self._store.snapshot() as tx:
            return jobs.list_jobs(tx, namespace, application, name)

    @requires(of_namespace())
    @shows_visible(_get_entity)
    def list_events(
        self,
        namespace: str,
        application: str | None = None,
        name: str | None = None,
        limit: int = 100,
    ) -> list[ScheduleEvent]:
        """Return what became of triggers, newest first; those of deleted schedules too."""
        self._namespaces.require(namespace)
        with self._store.snapshot() as tx:
            return jobs.list_events(tx, namespace, application, name, limit)

    def are_active(self) -> bool:
        """Whether a job was triggered and waits for its run: only a host can start it."""
        with self._store.snapshot() as tx:
            return jobs.count_due(tx) > 0

    def _set_status(
        self, namespace: str, application: str, name: str, status: ScheduleStatus
    ) -> Schedule:
        with self._store.transaction() as tx:
            schedule = self._get(tx, namespace, application, name)
            self._changes.set_status(tx, schedule, status)
        return schedule

    def _get(self, tx: Transaction, namespace: str, application: str, name: str) -> Schedule:
        self._namespaces.require_in_transaction(tx, namespace)
        application_records.find(tx, namespace, application)
        return records.get(tx, namespace, application, name)

    def _list_times(self, namespace: str, application: str) -> list[times.DueTime]:
        self._namespaces.require(namespace)
        with self._store.snapshot() as tx:
            application_records.find(tx, namespace, application)
            return times.list_in_namespace(tx, namespace, application)

    def _check_visible(self, trigger: Trigger) -> None:
        """Check that the current user may see what a trigger waits for.

        :raises UnauthorizedError: when they may not.
        """
        for each in list_simple(trigger):
            if isinstance(each, ProgramStatusTrigger):
                program = each.program_id
                entity = MetadataEntity.of_application(program.application, program.namespace)
            elif isinstance(each, PartitionTrigger):
                entity = MetadataEntity.of_dataset(each.dataset.dataset, each.dataset.namespace)
            else:
                continue
            self._authorizer.enforce(current_principal(), entity, [])


def _apply(schedule: Schedule, request: ScheduleRequest) -> None:
    """Set what a request has."""
    for name in request.__struct_fields__:
        value = getattr(request, name)
        if value is not None:
            setattr(schedule, name, value)


def _make_id(due: times.DueTime) -> str:
    """Return the id of a time (CDAP 6 ``TimeScheduler``, keys of Quartz)."""
    return f"DEFAULT.WORKFLOW:{due.namespace}:{due.application}:DataPipelineWorkflow:{due.schedule}"


def _format(time: int, zone: str | None) -> str:
    moment = datetime.datetime.fromtimestamp(time / 1000, find_zone(zone).zone)
    return moment.strftime(_TIME)
