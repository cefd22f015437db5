"""The jobs of schedules: what has been triggered and waits for more, or for its run.

CDAP 6 ``JobQueueTable``. Here one process changes the jobs, so that those of a changed schedule are removed
at once instead of being marked. The history says what became of triggers, so that none is lost in silence.
"""

from __future__ import annotations

import enum
import logging
from collections.abc import Sequence
from typing import Any, Final

import msgspec

from localcdap.decoders import decode_json
from localcdap.schedules.model import EventKind, Schedule, ScheduleEvent, ScheduleStatus
from localcdap.schedules.triggers import Notification, is_satisfied
from localcdap.store.store import Transaction
from localcdap.text import format_duration

_LOG: Final = logging.getLogger(__name__)
KEPT: Final = 20_000
"""The newest events of an instance that are kept."""
_PRUNED_EVERY: Final = 500
_COLUMNS: Final = "number, namespace, application, schedule, time, kind, message, run"


def add_event(
    tx: Transaction,
    schedule: Schedule,
    time: int,
    kind: EventKind,
    message: str,
    run: str | None = None,
) -> None:
    """Store what became of a trigger; unless a run was started, it is written to the host's log too.

    :param time: milliseconds since 1970.
    """
    rows = tx.execute(
        "INSERT INTO schedule_events VALUES (nextval('schedule_event_numbers'), ?, ?, ?, ?, ?, ?, ?) "
        "RETURNING number",
        (
            schedule.namespace,
            schedule.application,
            schedule.name,
            time,
            kind.value,
            message,
            run,
        ),
    )
    number = rows[0][0]
    if number % _PRUNED_EVERY == 0:
        tx.execute("DELETE FROM schedule_events WHERE number <= ?", (number - KEPT,))
    if kind is not EventKind.STARTED:
        named = f"{schedule.namespace}.{schedule.application}.{schedule.name}"
        tx.on_commit(lambda: _LOG.warning("schedule %s: %s: %s", named, kind.value, message))


def list_events(
    tx: Transaction,
    namespace: str,
    application: str | None = None,
    schedule: str | None = None,
    limit: int = 100,
) -> list[ScheduleEvent]:
    """Return events, newest first."""
    rows = tx.execute(
        f"SELECT {_COLUMNS} FROM schedule_events WHERE namespace = ? AND (? IS NULL OR application = ?) "  # noqa: S608
        "AND (? IS NULL OR schedule = ?) ORDER BY number DESC LIMIT ?",
        (namespace, application, application, schedule, schedule, limit),
    )
    return _read_entry(rows)


def find_last(tx: Transaction, namespace: str) -> dict[tuple[str, str], ScheduleEvent]:
    """Return the last event of each schedule of a namespace, by application and name."""
    rows = tx.execute(
        f"SELECT {_COLUMNS} FROM schedule_events WHERE namespace = ? "  # noqa: S608
        "QUALIFY row_number() OVER (PARTITION BY application, schedule ORDER BY number DESC) = 1",
        (namespace,),
    )
    return {(each.application, each.schedule): each for each in _read_entry(rows)}


def _read_entry(rows: Sequence[tuple[Any, ...]]) -> list[ScheduleEvent]:
    return [
        ScheduleEvent(number, namespace, application, schedule, time, EventKind(kind), text, run)
        for number, namespace, application, schedule, time, kind, text, run in rows
    ]


_SELECT: Final = (
    "SELECT generation, namespace, application, schedule, state, record FROM schedule_jobs"
)
_OF_SCHEDULE: Final = "namespace = ? AND application = ? AND schedule = ?"


class JobState(enum.StrEnum):
    """What a job waits for (CDAP 6 ``Job.State``)."""

    PENDING_TRIGGER = "PENDING_TRIGGER"
    PENDING_CONSTRAINT = "PENDING_CONSTRAINT"
    PENDING_LAUNCH = "PENDING_LAUNCH"


class ScheduleJob(msgspec.Struct, rename="camel"):
    """A job of a schedule."""

    generation: int
    """Greater than that of all jobs before it."""
    namespace: str
    application: str
    schedule: str
    state: JobState
    created: int
    """Milliseconds since 1970, as all times."""
    schedule_updated: int
    """When the schedule was changed last; the job is obsolete when it was changed since."""
    notifications: list[Notification]
    run: str | None = None
    """The id of its run, once it is to be launched: a second attempt does not start a second run."""

    @property
    def key(self) -> tuple[str, str, str]:
        """The namespace, application and name of the schedule."""
        return self.namespace, self.application, self.schedule


def add_notification(
    tx: Transaction, schedule: Schedule, notification: Notification, now: int
) -> None:
    """Add a notification to the job that waits for its trigger, or to a new one (CDAP 6 ``addNotification``).

    A suspended schedule gets none.

    :param now: milliseconds since 1970.
    """
    if schedule.status is not ScheduleStatus.SCHEDULED:
        return
    for job in list_jobs(tx, schedule.namespace, schedule.application, schedule.name):
        if job.state is not JobState.PENDING_TRIGGER:
            continue
        obsolete = find_obsolescence(job, schedule, now)
        if obsolete is not None:
            remove(tx, job)
            add_event(tx, schedule, now, *obsolete)
            continue
        job.notifications.append(notification)
        if is_satisfied(schedule.trigger, job.notifications):
            job.state = JobState.PENDING_CONSTRAINT
        save(tx, job)
        return
    add_jobs(tx, [(schedule, notification)], now)


def add_jobs(tx: Transaction, found: Sequence[tuple[Schedule, Notification]], now: int) -> None:
    """Add a job for each notification."""
    if not found:
        return
    numbers = tx.execute("SELECT nextval('schedule_job_generations') FROM range(?)", (len(found),))
    jobs = [
        ScheduleJob(
            number,
            schedule.namespace,
            schedule.application,
            schedule.name,
            JobState.PENDING_CONSTRAINT
            if is_satisfied(schedule.trigger, [notification])
            else JobState.PENDING_TRIGGER,
            now,
            schedule.last_update_time,
            [notification],
        )
        for (number,), (schedule, notification) in zip(sorted(numbers), found, strict=True)
    ]
    columns = (
        [job.generation for job in jobs],
        *([job.key[place] for job in jobs] for place in range(3)),
        [job.state.value for job in jobs],
        [_encode(job) for job in jobs],
    )
    tx.execute(
        "INSERT INTO schedule_jobs SELECT unnest(?::BIGINT[]), unnest(?::VARCHAR[]), "
        "unnest(?::VARCHAR[]), unnest(?::VARCHAR[]), unnest(?::VARCHAR[]), unnest(?::VARCHAR[])",
        columns,
    )


def save(tx: Transaction, job: ScheduleJob) -> None:
    """Store a changed job."""
    tx.execute(
        "UPDATE schedule_jobs SET state = ?, record = ? WHERE generation = ?",
        (job.state.value, _encode(job), job.generation),
    )


def remove(tx: Transaction, job: ScheduleJob) -> None:
    """Remove a job."""
    tx.execute("DELETE FROM schedule_jobs WHERE generation = ?", (job.generation,))


def find(tx: Transaction, generation: int) -> ScheduleJob | None:
    """Return a job; None when it is over."""
    rows = tx.execute(f"{_SELECT} WHERE generation = ?", (generation,))
    return _read(rows[0]) if rows else None


def list_jobs(
    tx: Transaction,
    namespace: str | None = None,
    application: str | None = None,
    schedule: str | None = None,
) -> list[ScheduleJob]:
    """Return jobs in the order of their creation; those of all namespaces without one."""
    rows = tx.execute(
        f"{_SELECT} WHERE (? IS NULL OR namespace = ?) AND (? IS NULL OR application = ?) "
        "AND (? IS NULL OR schedule = ?) ORDER BY generation",
        (namespace, namespace, application, application, schedule, schedule),
    )
    return [_read(row) for row in rows]


def drop_all(tx: Transaction, schedule: Schedule, now: int, reason: str) -> None:
    """Remove the jobs of a schedule that was changed, and say so; one whose run is being started goes on."""
    for job in list_jobs(tx, schedule.namespace, schedule.application, schedule.name):
        if job.state is not JobState.PENDING_LAUNCH:
            remove(tx, job)
            add_event(tx, schedule, now, EventKind.DROPPED, f"{describe_wait(job)} when {reason}.")


def find_obsolescence(
    job: ScheduleJob, schedule: Schedule, now: int
) -> tuple[EventKind, str] | None:
    """Return why a job is obsolete: it is too old, or older than the last change of its schedule."""
    if job.schedule_updated != schedule.last_update_time:
        return EventKind.DROPPED, f"{describe_wait(job)} when the schedule was changed."
    if now - job.created > schedule.timeout_millis:
        limit = format_duration(0, schedule.timeout_millis)
        return EventKind.TIMED_OUT, f"{describe_wait(job)} longer than its time-out of {limit}."
    return None


def describe_wait(job: ScheduleJob) -> str:
    """Return what a job was waiting for, as the beginning of a sentence."""
    waited = {
        JobState.PENDING_TRIGGER: "A job waited for the rest of its trigger",
        JobState.PENDING_CONSTRAINT: "A job waited for its constraints",
        JobState.PENDING_LAUNCH: "A job was being launched",
    }
    return waited[job.state]


def count_due(tx: Transaction) -> int:
    """Return the number of jobs whose triggers are satisfied."""
    rows = tx.execute(
        "SELECT count(*) FROM schedule_jobs WHERE state != ?", (JobState.PENDING_TRIGGER.value,)
    )
    count: int = rows[0][0]
    return count


def _encode(job: ScheduleJob) -> str:
    return msgspec.json.encode(job).decode()


def _read(row: tuple[Any, ...]) -> ScheduleJob:
    return decode_json(row[5], ScheduleJob)
