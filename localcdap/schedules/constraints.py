"""Whether the constraints of a schedule are met (CDAP 6 ``CheckableConstraint`` and its classes)."""

from __future__ import annotations

import datetime
import enum
import os
from pathlib import Path
from typing import Final, NamedTuple

from localcdap.java.dates.zones import parse_zone
from localcdap.schedules.jobs import ScheduleJob
from localcdap.schedules.model import (
    DAY_MS,
    ConcurrencyConstraint,
    Constraint,
    DelayConstraint,
    LastRunConstraint,
    Schedule,
    TimeRangeConstraint,
)
from localcdap.store.store import Transaction
from localcdap.text import format_duration, plural

_LINK: Final = Path("/etc/localtime")
_FILE: Final = Path("/etc/timezone")
_FOLDER: Final = "zoneinfo/"


class NamedZone(NamedTuple):
    """A time zone with its name."""

    name: str
    zone: datetime.tzinfo


def find_zone(name: str | None) -> NamedZone:
    """Return a time zone; without a name that of this machine.

    :raises ValueError: when there is none of this name.
    """
    return _find_own_zone() if name is None else NamedZone(name, parse_zone(name))


def _find_own_zone() -> NamedZone:
    for name in (os.environ.get("TZ", "").removeprefix(":"), _read_link(), _read_file()):
        try:
            if name:
                return NamedZone(name, parse_zone(name))
        except ValueError:  # such as EST5EDT,M3.2.0
            continue
    now = datetime.datetime.now().astimezone()
    return NamedZone(now.strftime("UTC%z"), now.tzinfo or datetime.UTC)


def _read_link() -> str:
    try:
        return str(_LINK.resolve(strict=True)).partition(_FOLDER)[2]
    except OSError:
        return ""


def _read_file() -> str:
    try:
        return _FILE.read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError):
        return ""


_MOST_RUNS: Final = 100
"""The runs of the recent past that LAST_RUN looks at."""
_MINUTES: Final = 60


class Verdict(enum.Enum):
    """The result of a check (CDAP 6 ``ConstraintResult.SatisfiedState``)."""

    SATISFIED = "SATISFIED"
    NOT_SATISFIED = "NOT_SATISFIED"
    """It may be later: the job waits."""
    NEVER_SATISFIED = "NEVER_SATISFIED"
    """The job is dropped."""


def check_constraints(
    tx: Transaction, schedule: Schedule, job: ScheduleJob, now: int
) -> tuple[Verdict, str]:
    """Check all constraints of a schedule for a job.

    :param now: milliseconds since 1970.
    :returns: the verdict on all of them, and which of them is not met.
    """
    verdict, reason = Verdict.SATISFIED, ""
    for each in schedule.constraints:
        problem = _find_problem(tx, each, schedule, job, now)
        if problem is None:
            continue
        if not each.wait_until_met:
            return Verdict.NEVER_SATISFIED, problem
        if verdict is Verdict.SATISFIED:
            verdict, reason = Verdict.NOT_SATISFIED, problem
    return verdict, reason


def is_in_range(constraint: TimeRangeConstraint, now: int) -> bool:
    """Return whether the time of the day is in the range of a constraint; over midnight if it ends first."""
    zone = find_zone(constraint.time_zone).zone
    moment = datetime.datetime.fromtimestamp(now / 1000, zone)
    minute = moment.hour * _MINUTES + moment.minute
    start, end = parse_time(constraint.start_time), parse_time(constraint.end_time)
    if start < end:
        return start <= minute < end
    return minute >= start or minute < end


def parse_time(text: str) -> int:
    """Return the minute of the day of a text such as ``22:30``.

    :raises ValueError: when it is none.
    """
    hour, colon, minute = text.partition(":")
    numbers = [hour, minute]
    if not colon or any(
        not (each.isascii() and each.isdigit() and len(each) < 3) for each in numbers
    ):
        raise ValueError(f"'{text}' is not a valid time of the day")
    if int(hour) > 23 or int(minute) > 59:
        raise ValueError(f"'{text}' is not a valid time of the day")
    return int(hour) * _MINUTES + int(minute)


def describe_constraint(constraint: Constraint) -> str:
    """Return what a constraint demands, in a few words."""
    waits = (
        ""
        if isinstance(constraint, DelayConstraint)
        else (", waits" if constraint.wait_until_met else ", else dropped")
    )
    if isinstance(constraint, ConcurrencyConstraint):
        return f"at most {plural(constraint.max_concurrency, 'run')} at once{waits}"
    if isinstance(constraint, DelayConstraint):
        return f"{format_duration(0, constraint.millis_after_trigger)} after the trigger"
    if isinstance(constraint, LastRunConstraint):
        return f"{format_duration(0, constraint.millis_since_last_run)} after the last run{waits}"
    zone = f" {constraint.time_zone}" if constraint.time_zone else ""
    return f"{constraint.start_time} to {constraint.end_time}{zone}{waits}"


def _find_problem(
    tx: Transaction, constraint: Constraint, schedule: Schedule, job: ScheduleJob, now: int
) -> str | None:
    """Return why a constraint is not met; None when it is."""
    if isinstance(constraint, ConcurrencyConstraint):
        active = _count_active(tx, schedule)
        if active < constraint.max_concurrency:
            return None
        most = constraint.max_concurrency
        return f"{plural(active, 'run')} of the pipeline are active, and at most {most} may be"
    if isinstance(constraint, DelayConstraint):
        left = job.created + constraint.millis_after_trigger - now
        return None if left <= 0 else f"the delay ends in {format_duration(0, left)}"
    if isinstance(constraint, LastRunConstraint):
        span = format_duration(0, constraint.millis_since_last_run)
        is_met = not _has_run_since(tx, schedule, now - constraint.millis_since_last_run)
        return None if is_met else f"a run of the pipeline was active in the last {span}"
    if is_in_range(constraint, now):
        return None
    return f"it is not between {constraint.start_time} and {constraint.end_time}"


def _count_active(tx: Transaction, schedule: Schedule) -> int:
    rows = tx.execute(
        "SELECT count(*) FROM runs WHERE namespace = ? AND pipeline = ? AND NOT ended "
        "AND application_version IS NOT NULL",
        (schedule.namespace, schedule.application),
    )
    count: int = rows[0][0]
    return count


def _has_run_since(tx: Transaction, schedule: Schedule, since: int) -> bool:
    """Return whether a run is active or has completed since a time (CDAP 6 ``LastRunConstraint.filter``).

    Runs that have failed or were killed do not count, nor those that were asked for more than a day before.
    """
    rows = tx.execute(
        "SELECT status, finish FROM runs WHERE namespace = ? AND pipeline = ? AND starting >= ? "
        "AND application_version IS NOT NULL ORDER BY starting DESC LIMIT ?",
        (schedule.namespace, schedule.application, since - DAY_MS, _MOST_RUNS),
    )
    return any(
        (status == "COMPLETED" and finish >= since)
        if status in ("COMPLETED", "FAILED", "KILLED")
        else True
        for status, finish in rows
    )
