"""What schedules do when runs end, partitions come, and pipelines are deployed or deleted."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

from localcdap.api.app.events import (
    EntityCreated,
    EntityDeleted,
    EntityUpdated,
    PartitionsAdded,
    RunStatusChanged,
    SystemEventListener,
)
from localcdap.api.errors import BadRequestError
from localcdap.api.metadata import APPLICATION
from localcdap.pipeline.document.model import PipelineType
from localcdap.pipeline.document.reader import read_document
from localcdap.pipeline.library import application_records
from localcdap.runs.model import get_now
from localcdap.schedules import jobs, records
from localcdap.schedules.changes import ScheduleChanges
from localcdap.schedules.history import add_event
from localcdap.schedules.model import (
    PIPELINE_SCHEDULE,
    ConcurrencyConstraint,
    Constraint,
    EventKind,
    Schedule,
    TimeTrigger,
    TriggerProgram,
)
from localcdap.schedules.triggers import (
    STATUSES,
    Notification,
    PartitionNotification,
    RunNotification,
    make_partition_key,
    make_status_key,
    remove_application,
)
from localcdap.store.store import Transaction

UPDATE_SCHEDULES: Final = "app.deploy.update.schedules"
"""The key of a document that says whether its deployment changes its schedule (CDAP 6 ``AppRequest``)."""


class ScheduleListener(SystemEventListener[Transaction]):
    """Gives schedules the notifications of events (CDAP 6 ``ScheduleNotificationSubscriberService``).

    :param on_change: called after schedules were triggered.
    :param now: returns the time in milliseconds since 1970.
    """

    name = "schedules"
    events = (RunStatusChanged, PartitionsAdded)

    def __init__(self, on_change: Callable[[], None], now: Callable[[], int] = get_now) -> None:
        self._on_change = on_change
        self._now = now

    def on_event(self, event: RunStatusChanged | PartitionsAdded, tx: Transaction) -> None:
        """Notify the schedules whose triggers wait for an event."""
        found = (
            _describe_run(event) if isinstance(event, RunStatusChanged) else _describe_data(event)
        )
        if found is None:
            return
        key, notification = found
        now = self._now()
        for each in records.list_by_key(tx, [key]):
            jobs.add_notification(tx, each, notification, now)
            tx.on_commit(self._on_change)


class DeploymentObserver:
    """Makes, changes and deletes the schedules of pipelines in the transactions of the pipelines' changes."""

    def __init__(self, changes: ScheduleChanges) -> None:
        self._changes = changes

    def observe(self, tx: Transaction, events: Sequence[object]) -> None:
        """See :meth:`Topics.add_observer`."""
        for each in events:
            if not isinstance(each, EntityCreated | EntityUpdated | EntityDeleted):
                continue
            if each.entity.type != APPLICATION:
                continue
            namespace, name = each.entity.namespace or "", each.entity.name
            if isinstance(each, EntityDeleted):
                self._remove_all(tx, namespace, name)
            else:
                try:
                    self.follow_document(tx, namespace, name)
                except BadRequestError as error:
                    raise BadRequestError(
                        f"The 'schedule' of pipeline '{name}' cannot be used: {error.message}",
                        "Change it in the document, with 's' in the studio, or remove it.",
                    ) from None

    def follow_document(self, tx: Transaction, namespace: str, name: str) -> None:
        """Make or change the schedule that the document of a pipeline asks for.

        It is made suspended (CDAP 6 ``DataPipelineApp``). One that exists keeps its status, and one that the
        document does not ask for any more is deleted.

        :raises BadRequestError: when the document asks for an invalid one; nothing is deployed then.
        """
        application = application_records.find(tx, namespace, name)
        document = read_document(application_records.read_document_text(tx, application))
        source: Any = document.source
        if isinstance(source, dict) and source.get(UPDATE_SCHEDULES) is False:
            return
        before = records.find(tx, namespace, name, PIPELINE_SCHEDULE)
        if not document.schedule or document.type is PipelineType.STREAMING:
            if before is not None:
                self._changes.remove(tx, before, "the pipeline was deployed without a schedule")
            return
        limit = document.max_concurrent_runs
        constraints: list[Constraint] = [] if not limit else [ConcurrencyConstraint(limit)]
        if before is None:
            schedule = Schedule(
                namespace,
                name,
                PIPELINE_SCHEDULE,
                TimeTrigger(document.schedule),
                "Data pipeline schedule",
                constraints=constraints,
            )
            self._changes.add(tx, schedule, application)
        elif before.trigger != TimeTrigger(document.schedule) or before.constraints != constraints:
            before.trigger, before.constraints = TimeTrigger(document.schedule), constraints
            self._changes.replace(tx, before, application)

    def _remove_all(self, tx: Transaction, namespace: str, name: str) -> None:
        """Delete the schedules of a deleted pipeline, and change those that wait for its runs.

        One whose trigger cannot be satisfied any more is deleted (CDAP 6 ``CoreSchedulerService``,
        ``modifySchedulesTriggeredByDeletedProgram``).
        """
        for each in records.list_schedules(tx, namespace, name):
            self._changes.remove(tx, each, "the pipeline was deleted")
        for each in records.list_dependent(tx, namespace, name):
            left = remove_application(each.trigger, namespace, name)
            reason = f"pipeline {namespace}.{name}, which its trigger waited for, was deleted"
            if left is None:
                self._changes.remove(tx, each, reason)
                message = f"The schedule was deleted: {reason}."
            else:
                each.trigger = left
                self._changes.replace(tx, each, None)
                message = f"The trigger was changed: {reason}."
            add_event(tx, each, self._changes.get_now(), EventKind.DROPPED, message)


def _describe_run(event: RunStatusChanged) -> tuple[str, Notification] | None:
    """Return the key and the notification of a run that has ended; None for other events.

    The run of a file triggers nothing, although it may have the name of a deployed pipeline.
    """
    if event.status not in STATUSES or event.application_version is None or event.program is None:
        return None
    type = (event.program_type or "").upper()
    program = TriggerProgram(event.namespace, event.pipeline, event.program, type)
    notification = RunNotification(
        event.namespace, event.pipeline, event.program, type, event.run, event.status
    )
    return make_status_key(program, event.status), notification


def _describe_data(event: PartitionsAdded) -> tuple[str, Notification]:
    notification = PartitionNotification(event.namespace, event.dataset, event.partitions)
    return make_partition_key(event.namespace, event.dataset), notification
