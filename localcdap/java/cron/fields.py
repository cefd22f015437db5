"""The fields of a cron expression as Quartz reads them (Quartz 2 ``CronExpression``)."""

from __future__ import annotations

import calendar
from collections.abc import Sequence
from typing import Final

import msgspec

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
