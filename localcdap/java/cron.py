"""Cron expressions of Quartz (``CronExpression``), with which CDAP says when schedules are due.

They are read as by CDAP 6 ``Schedulers.getQuartzCronExpression`` and Quartz 2 ``CronExpression``: days of the
week are numbered from 1, Sunday, also in expressions of five fields. Quartz leaves daylight saving open; here
the rule is that of Debian's cron: see :meth:`CronExpression.find_next`.
"""

from __future__ import annotations

import calendar
import datetime
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import Final

import msgspec

from localcdap.api.errors import BadRequestError

_MONTHS: Final = [
    "JAN",
    "FEB",
    "MAR",
    "APR",
    "MAY",
    "JUN",
    "JUL",
    "AUG",
    "SEP",
    "OCT",
    "NOV",
    "DEC",
]
DAYS: Final = ["SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT"]
"""The days of the week; Quartz gives them the numbers 1 to 7."""
FIRST_YEAR: Final = 1970
LAST_YEAR: Final = 2099
_WEEK: Final = 7
_MOST_WEEKS: Final = 5


class FieldError(ValueError):
    """A field that cannot be read; the text says what it may be."""


class CronField(msgspec.Struct, frozen=True):
    """A kind of field: its name in messages, its values, and the names that stand for values."""

    name: str
    lowest: int
    highest: int
    names: tuple[str, ...] = ()
    """Of the values from ``lowest`` on."""

    def parse(self, text: str) -> tuple[int, ...]:
        """Return the values of a field in their order: a list of values, ranges and steps.

        A range whose end comes before its start goes on from the lowest value, such as ``22-2``.

        :raises FieldError: when it cannot be read.
        """
        found: set[int] = set()
        for item in text.split(","):
            base, slash, step = item.partition("/")
            size = self._read_step(step, item) if slash else 1
            # Quartz takes /15 for */15.
            values = self._parse_range(base or ("*" if slash else ""), is_open=bool(slash))
            found.update(values[::size])
        return tuple(sorted(found))

    def read_value(self, text: str) -> int:
        """Return one value.

        :raises FieldError: when it is none.
        """
        if text in self.names:
            return self.lowest + self.names.index(text)
        value = int(text) if text.isascii() and text.isdigit() else -1
        if not self.lowest <= value <= self.highest:
            raise FieldError(f"'{text}' is not a valid {self.name}: use {self.describe()}")
        return value

    def describe(self) -> str:
        """Return what values there are."""
        numbers = f"{self.lowest} to {self.highest}"
        return f"{numbers}, or {self.names[0]} to {self.names[-1]}" if self.names else numbers

    def _parse_range(self, text: str, *, is_open: bool) -> Sequence[int]:
        """Return the values of a part without its step; a value with a step begins an open range."""
        every = range(self.lowest, self.highest + 1)
        if text == "*":
            return every
        first, dash, last = text.partition("-")
        start = self.read_value(first)
        if not dash:
            return range(start, self.highest + 1) if is_open else (start,)
        end = self.read_value(last)
        if start <= end:
            return range(start, end + 1)
        return (*range(start, self.highest + 1), *range(self.lowest, end + 1))

    def _read_step(self, text: str, item: str) -> int:
        step = int(text) if text.isascii() and text.isdigit() else 0
        if not 0 < step <= self.highest:
            raise FieldError(f"'{item}' has no step from 1 to {self.highest} after '/'")
        return step


SECOND: Final = CronField("second", 0, 59)
MINUTE: Final = CronField("minute", 0, 59)
HOUR: Final = CronField("hour", 0, 23)
DAY_OF_MONTH: Final = CronField("day of month", 1, 31)
MONTH: Final = CronField("month", 1, 12, tuple(_MONTHS))
DAY_OF_WEEK: Final = CronField("day of week", 1, 7, tuple(DAYS))
YEAR: Final = CronField("year", FIRST_YEAR, LAST_YEAR)


class MonthDays(msgspec.Struct, frozen=True):
    """The days of a month by their numbers: ``1,15``, ``L`` (the last), ``L-3``, ``15W`` (the weekday that is
    nearest to the 15th), ``LW``.
    """

    days: tuple[int, ...] = ()
    last_minus: int | None = None
    """Days before the last one; None when that does not count."""
    is_weekday: bool = False
    """Whether the nearest weekday in the month is meant."""

    def list_days(self, year: int, month: int) -> Sequence[int]:
        """Return the days of a month, in their order."""
        _, length = calendar.monthrange(year, month)
        if self.last_minus is not None:
            found = [length - self.last_minus] if length > self.last_minus else []
        else:
            found = [day for day in self.days if day <= length]
        if self.is_weekday:
            return [_find_weekday(year, month, day, length) for day in found]
        return found


class WeekDays(msgspec.Struct, frozen=True):
    """The days of a month by their weekdays: ``MON-FRI``, ``6L`` (the last Friday), ``6#3`` (the third)."""

    days: tuple[int, ...]
    """1 is Sunday."""
    nth: int | None = None
    """The week of the month; -1 for the last."""

    def list_days(self, year: int, month: int) -> Sequence[int]:
        """Return the days of a month, in their order."""
        first, length = calendar.monthrange(year, month)
        # Python's Monday is 0, which is 2 here.
        found = [day for day in range(1, length + 1) if (first + day) % _WEEK + 1 in self.days]
        if self.nth is None:
            return found
        at = self.nth - 1 if self.nth > 0 else -1
        return [found[at]] if at < len(found) else []


def parse_month_days(text: str) -> MonthDays:
    """Read the field of the day of the month.

    :raises FieldError: when it cannot be read.
    """
    if "L" in text or "W" in text:
        if "," in text or ("W" in text and "-" in text):
            raise FieldError(
                f"'{text}' is not a valid day of month: 'L' and 'W' stand alone, such as L, L-3, LW or 15W"
            )
        if text.startswith("L"):
            rest = text[1:]
            is_weekday = rest.endswith("W")
            rest = rest.removesuffix("W")
            if not rest:
                return MonthDays((), 0, is_weekday)
            if rest.startswith("-") and rest[1:].isdigit() and int(rest[1:]) <= 30:
                return MonthDays((), int(rest[1:]), is_weekday)
            raise FieldError(
                f"'{text}' is not a valid day of month: after 'L' comes -0 to -30, or 'W'"
            )
        if not text.endswith("W"):
            raise FieldError(
                f"'{text}' is not a valid day of month: 'L' stands first, and 'W' last"
            )
        return MonthDays((DAY_OF_MONTH.read_value(text[:-1]),), None, is_weekday=True)
    return MonthDays(DAY_OF_MONTH.parse(text))


def parse_week_days(text: str) -> WeekDays:
    """Read the field of the day of the week.

    :raises FieldError: when it cannot be read.
    """
    day, has_week, week = text.partition("#")
    if has_week:
        number = int(week) if week.isascii() and week.isdigit() else 0
        if not 0 < number <= _MOST_WEEKS:
            raise FieldError(
                f"'{text}' is not a valid day of week: after '#' comes 1 to 5, such as FRI#3"
            )
        return WeekDays((DAY_OF_WEEK.read_value(day),), number)
    if text == "L":
        return WeekDays((_WEEK,))
    # THU-SAT has no L, and no name of a day ends with it.
    if text.endswith("L"):
        return WeekDays((DAY_OF_WEEK.read_value(text[:-1]),), -1)
    return WeekDays(DAY_OF_WEEK.parse(text))


def _find_weekday(year: int, month: int, day: int, length: int) -> int:
    """Return the day from Monday to Friday that is nearest, without leaving the month."""
    weekday = calendar.weekday(year, month, day)
    if weekday == calendar.SATURDAY:
        return day - 1 if day > 1 else day + 2
    if weekday == calendar.SUNDAY:
        return day + 1 if day < length else day - 2
    return day


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
