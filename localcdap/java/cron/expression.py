"""A cron expression, and the times at which it is due.

It is read as by CDAP 6 ``Schedulers.getQuartzCronExpression`` and Quartz 2 ``CronExpression``: days of the
week are numbered from 1, Sunday, also in expressions of five fields. Quartz leaves daylight saving open; here
the rule is that of Debian's cron: see :meth:`CronExpression.find_next`.
"""

from __future__ import annotations

import datetime
from bisect import bisect_left
from collections.abc import Iterator
from functools import lru_cache
from typing import Final

import msgspec

from localcdap.api.errors import BadRequestError
from localcdap.java.cron.fields import (
    FIRST_YEAR,
    HOUR,
    LAST_YEAR,
    MINUTE,
    MONTH,
    SECOND,
    YEAR,
    FieldError,
    MonthDays,
    WeekDays,
    parse_month_days,
    parse_week_days,
)

_SECOND: Final = datetime.timedelta(seconds=1)
_MINUTE: Final = datetime.timedelta(minutes=1)
_UNIX: Final = 5
"""The fields without that of the seconds."""
_ANY: Final = "*"
_NONE: Final = "?"


class CronExpression(msgspec.Struct, frozen=True):
    """When a schedule is due. Make one with :func:`parse_cron`."""

    text: str
    """As it was given."""
    fields: tuple[str, ...]
    """Those of Quartz: seconds, minutes, hours, days of the month, months, days of the week, years."""
    seconds: tuple[int, ...]
    minutes: tuple[int, ...]
    hours: tuple[int, ...]
    days: MonthDays | WeekDays
    months: tuple[int, ...]
    years: tuple[int, ...]

    @property
    def is_periodic(self) -> bool:
        """Whether it says how often, rather than at what hour: its minutes or hours begin with ``*``, or all
        hours are named.
        """
        return (
            self.fields[1].startswith(_ANY)
            or self.fields[2].startswith(_ANY)
            or len(self.hours) == HOUR.highest + 1
        )

    def find_next(self, after: float, zone: datetime.tzinfo) -> float | None:
        """Return the first time after another one, both in seconds since 1970; None when there is none.

        When clocks are put forward, a time that is left out is due in the minute after the gap; when they are
        put back, a time that comes twice is due the first time. Of a periodic expression, though, a time that
        is left out is not due, and one that comes twice is due twice.
        """
        start = datetime.datetime.fromtimestamp(int(after // 1), zone)
        found = self._find_periodic(start) if self.is_periodic else self._find_fixed(start)
        return None if found is None else found.timestamp()

    def list_next(
        self, after: float, zone: datetime.tzinfo, until: float | None = None
    ) -> Iterator[float]:
        """Yield the times after another one, in their order, and before ``until``."""
        found = self.find_next(after, zone)
        while found is not None and (until is None or found < until):
            yield found
            found = self.find_next(found, zone)

    def _find_fixed(self, start: datetime.datetime) -> datetime.datetime | None:
        for local in self._list_local(_strip(start)):
            due = local.replace(tzinfo=start.tzinfo)
            while not _exists(due):
                due = (due + _MINUTE).replace(second=0)
            if due.timestamp() > start.timestamp():
                return due
        return None

    def _find_periodic(self, start: datetime.datetime) -> datetime.datetime | None:
        again = self._find_again(start)
        for local in self._list_local(_strip(start)):
            for fold in (0, 1):
                due = local.replace(tzinfo=start.tzinfo, fold=fold)
                if _exists(due) and due.timestamp() > start.timestamp():
                    is_later = again is not None and again.timestamp() < due.timestamp()
                    return again if is_later else due
        return again

    def _find_again(self, start: datetime.datetime) -> datetime.datetime | None:
        """Return the first time that comes again because clocks are put back right after a time."""
        second = start.replace(fold=1)
        before, after = start.utcoffset(), second.utcoffset()
        if start.fold or before is None or after is None or before <= after:
            return None
        local = _strip(start)
        for each in self._list_local(local - (before - after)):
            if each > local:
                return None
            due = each.replace(tzinfo=start.tzinfo, fold=1)
            if due.utcoffset() == after and each.replace(tzinfo=start.tzinfo).utcoffset() == before:
                return due
        return None

    def _list_local(self, after: datetime.datetime) -> Iterator[datetime.datetime]:
        """Yield the times after another one on a clock that is never changed."""
        start = after + _SECOND
        for year in self.years[bisect_left(self.years, start.year) :]:
            for month in self.months:
                if (year, month) < (start.year, start.month):
                    continue
                for day in self.days.list_days(year, month):
                    if (year, month, day) < (start.year, start.month, start.day):
                        continue
                    is_first = (year, month, day) == (start.year, start.month, start.day)
                    yield from self._list_times(year, month, day, start if is_first else None)

    def _list_times(
        self, year: int, month: int, day: int, start: datetime.datetime | None
    ) -> Iterator[datetime.datetime]:
        """Yield the times of a day.

        :param start: the first that may be yielded; None for any.
        """
        for hour in self.hours:
            if start is not None and hour < start.hour:
                continue
            for minute in self.minutes:
                if start is not None and (hour, minute) < (start.hour, start.minute):
                    continue
                for second in self.seconds:
                    found = datetime.datetime(year, month, day, hour, minute, second)
                    if start is None or found >= start:
                        yield found


@lru_cache(maxsize=4096)
def parse_cron(text: str) -> CronExpression:
    """Read a cron expression of five fields, or one of Quartz with seconds, and maybe years.

    :raises BadRequestError: when it cannot be read; says which field, and what it may be.
    """
    fields = text.upper().split()
    if not _UNIX <= len(fields) <= 7:
        raise BadRequestError(
            f"Invalid cron entry format in '{text}'. Cron entry must contain 5 or 6 fields.",
            "Give minutes, hours, days of the month, months and days of the week, such as '0 3 * * *' for "
            "three o'clock each day; Quartz has seconds before these.",
        )
    if len(fields) == _UNIX:
        fields = _to_quartz(fields)
    fields += [_ANY] * (7 - len(fields))
    try:
        return _parse_fields(text, fields)
    except FieldError as error:
        raise BadRequestError(
            f"Invalid cron expression '{text}': {error}.",
            "See https://www.quartz-scheduler.org/documentation for the fields; "
            "'localcdap schedules next \"0 3 * * *\"' shows when an expression is due.",
        ) from None


def _to_quartz(fields: list[str]) -> list[str]:
    """Return five fields as those of Quartz, of which only one can say on which days."""
    minutes, hours, days, months, weekdays = fields
    if days != _NONE and weekdays == _ANY:
        weekdays = _NONE
    if weekdays != _NONE and days == _ANY:
        days = _NONE
    return ["0", minutes, hours, days, months, weekdays]


def _parse_fields(text: str, fields: list[str]) -> CronExpression:
    seconds, minutes, hours, days, months, weekdays, years = fields
    if (days == _NONE) == (weekdays == _NONE):
        raise FieldError(
            f"one of the day of month ('{days}') and the day of week ('{weekdays}') must be '?', "
            "and the other one must not"
        )
    found = CronExpression(
        text,
        tuple(fields),
        SECOND.parse(seconds),
        MINUTE.parse(minutes),
        HOUR.parse(hours),
        parse_month_days(days) if weekdays == _NONE else parse_week_days(weekdays),
        MONTH.parse(months),
        tuple(range(FIRST_YEAR, LAST_YEAR + 1)) if years == _ANY else YEAR.parse(years),
    )
    epoch = datetime.datetime(FIRST_YEAR, 1, 1)
    if next(found._list_local(epoch - _SECOND), None) is None:
        raise FieldError(f"no such day exists: '{days}' in month '{months}'")
    return found


def _strip(time: datetime.datetime) -> datetime.datetime:
    return time.replace(tzinfo=None, fold=0)


def _exists(time: datetime.datetime) -> bool:
    """Whether a clock shows a time: it does not when that is left out."""
    utc = time.astimezone(datetime.UTC)
    return _strip(utc.astimezone(time.tzinfo)) == _strip(time)
