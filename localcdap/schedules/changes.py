"""Changes of schedules, each with its times, jobs and event, as part of a transaction."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from localcdap.api.app.events import EntityCreated, EntityDeleted, EntityUpdated
from localcdap.api.errors import ConflictError
from localcdap.api.metadata import SCHEDULE, MetadataEntity
from localcdap.messaging.topics import Topics
from localcdap.pipeline.library.application_model import Application
from localcdap.runs.model import get_now
from localcdap.schedules import jobs, records, times
from localcdap.schedules.model import Schedule, ScheduleStatus
from localcdap.schedules.rules import check_schedule
from localcdap.security.principals import get_current_user
from localcdap.store.store import Transaction


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
