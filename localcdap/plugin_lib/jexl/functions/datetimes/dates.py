"""``datetime:``: days counted, moved and told."""
# ruff: noqa: N802 - functions have the names that expressions call them by

from __future__ import annotations

import calendar
import datetime
from typing import Any

from localcdap.plugin_lib.jexl.functions.datetimes.clock import CurrentDate
from localcdap.plugin_lib.jexl.functions.datetimes.namespace import Date, moments

_JULIAN = 1_721_425  # the Julian day number of 0001-01-01, less 1 for its ordinal


def _days(count: int | None) -> datetime.timedelta:
    return datetime.timedelta(days=count or 0)


@moments("i -> d!", "DateFromDaysSince")
def days_since_today(days: int | None) -> datetime.date:
    return CurrentDate() + _days(days)


@moments("i d -> d!")
def DateFromDaysSince(days: int | None, baseline: Date) -> datetime.date:
    return (baseline or CurrentDate()) + _days(days)


@moments("l -> d!")
def DateFromJulianDay(day: int | None) -> datetime.date:
    return datetime.date.fromordinal((day or 0) - _JULIAN)


@moments("d -> L?")
def JulianDayFromDate(date: Date) -> int | None:
    return None if date is None else date.toordinal() + _JULIAN


@moments("d i i i -> d")
def DateOffsetByComponents(date: Date, years: Any, months: Any, days: Any) -> Date:
    if date is None:
        return None
    return _plus_months(_plus_months(date, 12 * (years or 0)), months or 0) + _days(days)


@moments("d i -> d")
def DateOffsetByDays(date: Date, days: int | None) -> Date:
    return None if date is None else date + _days(days)


@moments("d d -> L?")
def DaysSinceFromDate(source: Date, destination: Date) -> int | None:
    return None if source is None or destination is None else (destination - source).days


@moments("d -> I?")
def DaysInMonth(date: Date) -> int | None:
    """The most days that the month has in any year, as in the original: 29 in every February."""
    return None if date is None else calendar.monthrange(2000, date.month)[1]


@moments("d -> I?")
def DaysInYear(date: Date) -> int | None:
    return None if date is None else 366 if calendar.isleap(date.year) else 365


@moments("d -> I?")
def MonthDayFromDate(date: Date) -> int | None:
    return None if date is None else date.day


@moments("d -> I?")
def MonthFromDate(date: Date) -> int | None:
    return None if date is None else date.month


@moments("d -> I?")
def YearFromDate(date: Date) -> int | None:
    return None if date is None else date.year


@moments("d -> I?")
def YeardayFromDate(date: Date) -> int | None:
    return None if date is None else date.timetuple().tm_yday


@moments("d -> I?")
def YearweekFromDate(date: Date) -> int | None:
    """Weeks begin on Monday; the first one lies in the year as a whole."""
    if date is None:
        return None
    monday = date - datetime.timedelta(days=date.weekday())
    return (monday.timetuple().tm_yday - 1) // 7 + 1


def _plus_months(date: datetime.date, months: int) -> datetime.date:
    """Some months later; a day that the month has not becomes its last."""
    year, month = divmod(date.year * 12 + date.month - 1 + months, 12)
    last = calendar.monthrange(year, month + 1)[1] if 1 <= year <= 9999 else 28
    return date.replace(year=year, month=month + 1, day=min(date.day, last))
