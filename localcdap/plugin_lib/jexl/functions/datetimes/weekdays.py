"""``datetime:``: days by their name."""
# ruff: noqa: N802 - functions have the names that expressions call them by

from __future__ import annotations

import datetime
from typing import Any

from localcdap.plugin_lib.jexl.functions.datetimes.namespace import Date, moments

_WEEKDAYS = ("MONDAY", "TUESDAY", "WEDNESDAY", "THURSDAY", "FRIDAY", "SATURDAY", "SUNDAY")


@moments("d S -> d")
def NextWeekdayFromDate(date: Date, day: str | None) -> Date:
    return date if date is None or day is None else _next(date, _weekday(day))


@moments("d S -> d")
def PreviousWeekdayFromDate(date: Date, day: str | None) -> Date:
    return date if date is None or day is None else _previous(date, _weekday(day))


@moments("d S N -> d")
def NthWeekdayFromDate(date: Date, day: str | None, offset: Any) -> Date:
    count = int(offset or 0)
    if date is None or day is None or count == 0:
        return date
    step = _next(date, _weekday(day)) if count > 0 else _previous(date, _weekday(day))
    return step + datetime.timedelta(weeks=count - 1 if count > 0 else count + 1)


@moments("d -> I?", "WeekdayFromDate")
def weekday_from_date(date: Date) -> int | None:
    return WeekdayFromDate(date, "SUNDAY")


@moments("d S -> I?")
def WeekdayFromDate(date: Date, start: str | None) -> int | None:
    """What the original gives: 8 less the number of the day that weeks start with."""
    if date is None:
        return None
    if start is None:
        return 8 - date.isoweekday()
    if start.upper() not in _WEEKDAYS:
        raise ValueError(f"'{start}' is no day of the week")
    return 7 - _WEEKDAYS.index(start.upper())


def _weekday(name: str) -> int:
    """0 is Monday; a name that is none is Sunday, as in the original."""
    known = {day: at for at, day in enumerate(_WEEKDAYS)} | {
        day[:3]: at for at, day in enumerate(_WEEKDAYS)
    }
    return known.get(name.upper(), 6)


def _next(date: datetime.date, weekday: int) -> datetime.date:
    return date + datetime.timedelta(days=(weekday - date.weekday() - 1) % 7 + 1)


def _previous(date: datetime.date, weekday: int) -> datetime.date:
    return date - datetime.timedelta(days=(date.weekday() - weekday - 1) % 7 + 1)
