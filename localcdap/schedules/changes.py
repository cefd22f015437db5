"""Changes of schedules, each with its times, jobs and event, as part of a transaction.

Requests change schedules, and so do ends of runs, new partitions, and pipelines that are deployed or deleted;
the schedules of pipelines that were deployed with a localcdap that made none are made once.
"""

from __future__ import annotations

import logging
import threading
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
from localcdap.api.errors import BadRequestError, ConflictError, NotFoundError
from localcdap.api.metadata import APPLICATION, SCHEDULE, MetadataEntity
from localcdap.messaging.topics import Topics
from localcdap.pipeline.document.model import PipelineType
from localcdap.pipeline.document.reader import read_document
from localcdap.pipeline.library import application_records
from localcdap.pipeline.library.application_model import Application
from localcdap.runs.model import get_now
from localcdap.schedules import jobs, records, times
from localcdap.schedules.jobs import add_event
from localcdap.schedules.model import (
    PIPELINE_SCHEDULE,
    ConcurrencyConstraint,
    Constraint,
    EventKind,
    Schedule,
    ScheduleStatus,
    TimeTrigger,
    TriggerProgram,
)
from localcdap.schedules.rules import check_schedule
from localcdap.schedules.triggers import (
    STATUSES,
    Notification,
    PartitionNotification,
    RunNotification,
    make_partition_key,
    make_status_key,
    remove_application,
)
from localcdap.security.principals import get_current_user
from localcdap.store.store import Store, Transaction


def get_schedule_entity(schedule: Schedule) -> MetadataEntity:
    """Return the entity of a schedule."""
    application = MetadataEntity.of_application(schedule.application, schedule.namespace)
    return application.append(SCHEDULE, schedule.name)


class ScheduleChanges:
    """Makes, changes and deletes schedules. Threads may share it.

    :param on_change: called after the commit of each change.
    :param now: returns the time in milliseconds since 1970.
    """

    def __init__(
        self, topics: Topics, on_change: Callable[[], None], now: Callable[[], int] = get_now
    ) -> None:
        self.get_now: Final = now
        self._topics = topics
        self._on_change = on_change

    def add(self, tx: Transaction, schedule: Schedule, application: Application) -> None:
        """Store a new schedule, which is suspended.

        :raises BadRequestError: when it is invalid.
        :raises ConflictError: when there is one of its name.
        """
        check_schedule(schedule, application)
        if records.find(tx, schedule.namespace, schedule.application, schedule.name) is not None:
            raise ConflictError(
                f"Schedule '{schedule.name}' of '{schedule.application}' already exists.",
                "Change it: localcdap schedules update",
            )
        self._stamp(schedule)
        records.insert(tx, schedule)
        self._finish(tx, schedule, EntityCreated)

    def replace(self, tx: Transaction, schedule: Schedule, application: Application | None) -> None:
        """Store a changed schedule, and drop its jobs.

        :param application: None: the change needs no check.
        :raises BadRequestError: when it is invalid.
        """
        if application is not None:
            check_schedule(schedule, application)
        self._stamp(schedule, keeps_user=application is None)
        self._drop_jobs(tx, schedule, "the schedule was changed")
        records.replace(tx, schedule)
        self._finish(tx, schedule, EntityUpdated)

    def set_status(self, tx: Transaction, schedule: Schedule, status: ScheduleStatus) -> None:
        """Enable or suspend a schedule; its jobs are dropped when it is suspended.

        :raises ConflictError: when it has that status.
        """
        is_enabled = status is ScheduleStatus.SCHEDULED
        if schedule.status is status:
            id = f"{schedule.namespace}.{schedule.application}.-SNAPSHOT.{schedule.name}"
            raise ConflictError(
                f"Schedule '{id}' is already {'enabled' if is_enabled else 'disabled'}"
            )
        schedule.status = status
        self._stamp(schedule)
        self._drop_jobs(
            tx, schedule, f"the schedule was {'enabled' if is_enabled else 'suspended'}"
        )
        records.replace(tx, schedule)
        self._finish(tx, schedule, EntityUpdated)

    def remove(self, tx: Transaction, schedule: Schedule, reason: str) -> None:
        """Delete a schedule with its jobs.

        :param reason: why, for what is kept of its jobs.
        """
        self._drop_jobs(tx, schedule, reason)
        records.remove(tx, schedule)
        self._topics.publish_entity_event(tx, EntityDeleted, get_schedule_entity(schedule))
        tx.on_commit(self._on_change)

    def _stamp(self, schedule: Schedule, *, keeps_user: bool = False) -> None:
        # Jobs are older than the last change: it must differ, however fast changes follow each other.
        schedule.last_update_time = max(self.get_now(), schedule.last_update_time + 1)
        if not keeps_user:
            schedule.user = get_current_user()

    def _drop_jobs(self, tx: Transaction, schedule: Schedule, reason: str) -> None:
        jobs.drop_all(tx, schedule, self.get_now(), reason)

    def _finish(
        self, tx: Transaction, schedule: Schedule, kind: type[EntityCreated | EntityUpdated]
    ) -> None:
        times.set_times(tx, schedule, self.get_now())
        self._topics.publish_entity_event(tx, kind, get_schedule_entity(schedule))
        tx.on_commit(self._on_change)


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


_LOG: Final = logging.getLogger(__name__)
_AT_ONCE: Final = 20
"""The pipelines of one transaction, which takes a third of a second; other writers wait so long."""


class EarlierPipelines:
    """Makes the schedules that the documents of these pipelines ask for, suspended as those of a deployment.

    It takes place once for each pipeline: a schedule that is deleted afterwards stays deleted. What a host
    has not made when it ends, the next one makes.
    """

    def __init__(self, store: Store, observer: DeploymentObserver) -> None:
        self._store = store
        self._observer = observer
        self._ends = threading.Event()
        self._thread: threading.Thread | None = None

    def start(self) -> None:
        """Begin in the background, if there is anything to make: thousands of schedules take a minute."""
        if self._store.read("SELECT 1 FROM unscheduled_pipelines LIMIT 1"):
            self._thread = threading.Thread(target=self._run, name="earlier-pipelines", daemon=True)
            self._thread.start()

    def close(self) -> None:
        """End after the current transaction."""
        self._ends.set()
        if self._thread is not None:
            self._thread.join()

    def make_some(self) -> bool:
        """Make the schedules of some pipelines; return whether there were any left."""
        with self._store.transaction() as tx:
            found = tx.execute(
                "SELECT namespace, name FROM unscheduled_pipelines ORDER BY ALL LIMIT ?",
                (_AT_ONCE,),
            )
            for namespace, name in found:
                self._make(tx, namespace, name)
                tx.execute(
                    "DELETE FROM unscheduled_pipelines WHERE namespace = ? AND name = ?",
                    (namespace, name),
                )
        return bool(found)

    def _run(self) -> None:
        try:
            while self.make_some() and not self._ends.is_set():
                pass
        except Exception:
            _LOG.exception(
                "Schedules of earlier pipelines were not made; the next host tries again."
            )

    def _make(self, tx: Transaction, namespace: str, name: str) -> None:
        try:
            self._observer.follow_document(tx, namespace, name)
        except NotFoundError:  # it is not there any more
            return
        except BadRequestError as error:
            _LOG.warning(
                "The 'schedule' of pipeline '%s' in namespace '%s' cannot be used: %s",
                name,
                namespace,
                error.message,
            )
