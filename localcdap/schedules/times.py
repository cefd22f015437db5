"""The times at which schedules are due, and what is done when they are; also the runs that they will start.

Only the wall clock counts: a machine that sleeps wakes up late, and then a time that is too long ago is
missed, as CDAP's ``scheduler.misfire.threshold.ms`` and ``withMisfireHandlingInstructionDoNothing`` have it.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

import msgspec

from localcdap.api.metadata import WORKFLOW, WORKFLOW_NAME
from localcdap.java.cron import parse_cron
from localcdap.pipeline.library import application_records
from localcdap.pipeline.library.application_model import Application
from localcdap.runs.model import SCHEDULED
from localcdap.runs.statistics.overview import DashboardApplication, DashboardRun
from localcdap.schedules import jobs, records
from localcdap.schedules.constraints import find_zone
from localcdap.schedules.jobs import add_event
from localcdap.schedules.model import EventKind, Schedule, ScheduleStatus, TimeTrigger
from localcdap.schedules.triggers import Notification, TimeNotification
from localcdap.store.store import Store, Transaction
from localcdap.text import format_time, plural

MISFIRE_MS: Final = 60_000
"""How late a run may be started: a time that is longer ago is missed."""
CLOCK_AHEAD_MS: Final = 3_600_000
"""A clock that is put back by more than this was wrong before."""
_MOST_MISSED: Final = 1000
"""The missed times that are counted exactly."""
_SELECT: Final = (
    "SELECT t.namespace, t.application, t.schedule, t.cron, t.zone, t.next, t.last "
    "FROM schedule_times t"
)
_UPDATE: Final = (
    "UPDATE schedule_times SET next = w.next, last = coalesce(w.last, schedule_times.last), clock = w.clock "
    "FROM (SELECT unnest(?::VARCHAR[]) n, unnest(?::VARCHAR[]) a, unnest(?::VARCHAR[]) s, "
    "unnest(?::VARCHAR[]) c, unnest(?::VARCHAR[]) z, unnest(?::BIGINT[]) next, unnest(?::BIGINT[]) last, "
    "unnest(?::VARCHAR[]) clock) w "
    "WHERE namespace = w.n AND application = w.a AND schedule = w.s AND cron = w.c "
    "AND zone IS NOT DISTINCT FROM w.z"
)


class DueTime(msgspec.Struct):
    """When a cron expression of a schedule is due, and was; in milliseconds since 1970."""

    namespace: str
    application: str
    schedule: str
    cron: str
    zone: str | None
    next: int | None
    last: int | None = None

    @property
    def key(self) -> tuple[str, str, str]:
        """The namespace, application and name of the schedule."""
        return self.namespace, self.application, self.schedule


def find_next(trigger: TimeTrigger, after: int) -> int | None:
    """Return the first time after another one at which a trigger is satisfied, in milliseconds since 1970."""
    zone = find_zone(trigger.time_zone).zone
    found = parse_cron(trigger.cron_expression).find_next(after / 1000, zone)
    return None if found is None else int(found * 1000)


def list_next(trigger: TimeTrigger, after: int, until: int | None, limit: int) -> list[int]:
    """Return the times after another one and before ``until``, the first ``limit`` of them."""
    zone = find_zone(trigger.time_zone).zone
    cron = parse_cron(trigger.cron_expression)
    found = cron.list_next(after / 1000, zone, None if until is None else until / 1000)
    return [int(each * 1000) for each in itertools.islice(found, limit)]


def set_times(tx: Transaction, schedule: Schedule, now: int) -> None:
    """Store when a schedule is due next: never while it is suspended. When it was due last is kept."""
    key = (schedule.namespace, schedule.application, schedule.name)
    before = {(each.cron, each.zone): each.last for each in list_times(tx, [key])}
    tx.execute(
        "DELETE FROM schedule_times WHERE namespace = ? AND application = ? AND schedule = ?", key
    )
    is_active = schedule.status is ScheduleStatus.SCHEDULED
    for each in records.list_crons(schedule):
        found = find_next(each, now) if is_active else None
        last = before.get((each.cron_expression, each.time_zone))
        tx.execute(
            "INSERT INTO schedule_times VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
            (*key, each.cron_expression, each.time_zone, _find_clock(each.time_zone), found, last),
        )


def list_times(tx: Transaction, keys: Sequence[tuple[str, str, str]]) -> list[DueTime]:
    """Return the times of schedules by namespace, application and name."""
    if not keys:
        return []
    rows = tx.execute(
        f"{_SELECT} JOIN (SELECT unnest(?::VARCHAR[]) n, unnest(?::VARCHAR[]) a, unnest(?::VARCHAR[]) s) w "
        "ON t.namespace = w.n AND t.application = w.a AND t.schedule = w.s ORDER BY t.next, t.cron",
        [list(part) for part in zip(*keys, strict=True)],
    )
    return [DueTime(*row) for row in rows]


def list_in_namespace(
    tx: Transaction, namespace: str, application: str | None = None
) -> list[DueTime]:
    """Return the times of the schedules of a namespace or application."""
    rows = tx.execute(
        f"{_SELECT} WHERE t.namespace = ? AND (? IS NULL OR t.application = ?) ORDER BY t.next, t.schedule",
        (namespace, application, application),
    )
    return [DueTime(*row) for row in rows]


def find_first(tx: Transaction) -> int | None:
    """Return the next time at which any schedule is due; None when none is."""
    found: int | None = tx.execute("SELECT min(next) FROM schedule_times")[0][0]
    return found


def fire(tx: Transaction, now: int, *, catches_up: bool) -> int:
    """Let the schedules that are due have jobs; return the number of these.

    What was due too long ago is missed, and stored as such.

    :param now: milliseconds since 1970.
    :param catches_up: whether the last missed time gets a job even so.
    """
    due = [
        DueTime(*row) for row in tx.execute(f"{_SELECT} WHERE t.next <= ? ORDER BY t.next", (now,))
    ]
    schedules = _read_schedules(tx, due)
    simple: list[tuple[Schedule, Notification]] = []
    added = 0
    for each in due:
        schedule = schedules[each.key]
        for time in _advance(tx, each, schedule, now, catches_up=catches_up):
            notification = TimeNotification(each.cron, time, each.zone)
            added += 1
            if isinstance(schedule.trigger, TimeTrigger):
                simple.append((schedule, notification))
            else:
                jobs.add_notification(tx, schedule, notification, now)
    jobs.add_jobs(tx, simple, now)
    _store(tx, due)
    return added


def correct(tx: Transaction, now: int) -> int:
    """Compute the next times again where another clock has computed them; return their number.

    The zone of the machine may have changed, or a clock that was ahead was put back.
    """
    ahead = now + CLOCK_AHEAD_MS
    rows = tx.execute(
        f"{_SELECT} JOIN schedules s ON s.namespace = t.namespace AND s.application = t.application "
        "AND s.name = t.schedule WHERE t.next IS NOT NULL AND (t.last > ? OR s.updated > ? "
        "OR (t.zone IS NULL AND t.clock != ?))",
        (ahead, ahead, _find_clock(None)),
    )
    found = [DueTime(*row) for row in rows]
    for each in found:
        each.next = find_next(TimeTrigger(each.cron, each.zone), now)
    _store(tx, found)
    # What was last due lies in the future then: it says nothing any more.
    tx.execute("UPDATE schedule_times SET last = NULL WHERE last > ?", (ahead,))
    tx.execute("UPDATE schedules SET updated = ? WHERE updated > ?", (now, ahead))
    return len(found)


def _advance(
    tx: Transaction, due: DueTime, schedule: Schedule, now: int, *, catches_up: bool
) -> Iterable[int]:
    """Move on to the first time after now; return the times that are to be acted on."""
    trigger = TimeTrigger(due.cron, due.zone)
    assert due.next is not None
    in_time = now - MISFIRE_MS
    missed = []
    if due.next < in_time:
        missed = [due.next, *list_next(trigger, due.next, in_time, _MOST_MISSED)]
        due.next = find_next(trigger, in_time - 1)
    times = [] if due.next is None or due.next > now else [due.next]
    times += [] if not times else list_next(trigger, times[0], now + 1, MISFIRE_MS // 1000)
    if missed:
        last = missed[-1]
        if len(missed) > _MOST_MISSED:
            last = max(last, due.last or 0)
        if catches_up and not times:
            times = [last]
            missed.pop()
        _report_missed(tx, schedule, missed, now)
    due.last = max(times, default=missed[-1] if missed else due.last)
    due.next = find_next(trigger, now)
    return times


def _report_missed(tx: Transaction, schedule: Schedule, missed: Sequence[int], now: int) -> None:
    if not missed:
        return
    many = len(missed) > _MOST_MISSED
    count = f"More than {_MOST_MISSED:,} runs were" if many else f"{_count_runs(len(missed))}"
    first, last = (format_time(each) for each in (missed[0], missed[-1]))
    when = (
        first
        if len(missed) == 1
        else f"{first} and the times after it"
        if many
        else f"{first} to {last}"
    )
    message = f"{count} not started: {when}. No host had the instance open, or the machine slept."
    add_event(tx, schedule, now, EventKind.MISSED, message)


def _count_runs(count: int) -> str:
    return f"{plural(count, 'run')} {'was' if count == 1 else 'were'}"


def _read_schedules(
    tx: Transaction, due: Sequence[DueTime]
) -> Mapping[tuple[str, str, str], Schedule]:
    found = records.list_all(tx, list(dict.fromkeys(each.key for each in due)))
    return {(each.namespace, each.application, each.name): each for each in found}


def _store(tx: Transaction, changed: Sequence[DueTime]) -> None:
    if not changed:
        return
    rows: list[tuple[Any, ...]] = [
        (*each.key, each.cron, each.zone, each.next, each.last, _find_clock(each.zone))
        for each in changed
    ]
    tx.execute(_UPDATE, [list(column) for column in zip(*rows, strict=True)])


def _find_clock(zone: str | None) -> str:
    return zone or find_zone(None).name


MOST: Final = 10_000
"""The most planned runs of one cron expression in an answer."""


def list_active_times(tx: Transaction, namespace: str) -> list[DueTime]:
    """Return the times of the schedules of a namespace that are enabled."""
    return [each for each in list_in_namespace(tx, namespace) if each.next is not None]


def list_times_between(due: DueTime, start: int, end: int) -> list[int]:
    """Return the times at which a schedule is due from ``start`` until before ``end``, in milliseconds."""
    trigger = TimeTrigger(due.cron, due.zone)
    # A second before, so that the start itself is found.
    found = list_next(trigger, start - 1000, end, MOST)
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
