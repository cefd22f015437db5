"""The fields of dates that both kinds of patterns write alike, by their letters."""

from __future__ import annotations

import datetime
from collections.abc import Callable
from typing import Final

from localcdap.java.dates.names import DAYS, MONTHS, named

Write = Callable[[datetime.datetime, int], str]
"""A field of a moment, by the number of its letters."""

LIMITS: Final = {
    "M": (1, 12),
    "d": (1, 31),
    "D": (1, 366),
    "k": (1, 24),
    "K": (0, 11),
    "h": (1, 12),
    "m": (0, 59),
    "s": (0, 59),
}
"""The least and the greatest value of fields."""


def number(value: Callable[[datetime.datetime], int]) -> Write:
    """A number with as many digits as letters at least."""
    return lambda moment, width: str(value(moment)).zfill(width)


def year(value: int, width: int) -> str:
    return f"{value % 100:02}" if width == 2 else str(value).zfill(width)


def month(moment: datetime.datetime, width: int) -> str:
    return str(moment.month).zfill(width) if width < 3 else named(MONTHS, moment.month - 1, width)


def day_name(moment: datetime.datetime, width: int) -> str:
    return named(DAYS, moment.weekday(), width)


def week(moment: datetime.datetime) -> tuple[int, int]:
    """Year and number of a week that begins on Sunday, as in the United States."""
    sunday = moment.date() - datetime.timedelta(days=moment.isoweekday() % 7)
    of_year = (sunday + datetime.timedelta(days=6)).year
    return of_year, (sunday - first_sunday(of_year)).days // 7 + 1


def first_sunday(of_year: int) -> datetime.date:
    """The first day of the week that holds January 1st."""
    first = datetime.date(of_year, 1, 1)
    return first - datetime.timedelta(days=first.isoweekday() % 7)


def offset_parts(offset: datetime.timedelta) -> tuple[str, int, int]:
    """Sign, hours and minutes of a zone's distance from Greenwich."""
    seconds = int(offset.total_seconds())
    hours, minutes = divmod(abs(seconds) // 60, 60)
    return "-" if seconds < 0 else "+", hours, minutes


FIELDS: Final[dict[str, Write]] = {
    "y": lambda moment, width: year(moment.year, width),
    "Y": lambda moment, width: year(week(moment)[0], width),
    "w": number(lambda moment: week(moment)[1]),
    "d": number(lambda moment: moment.day),
    "D": number(lambda moment: moment.timetuple().tm_yday),
    "a": lambda moment, _: "AM" if moment.hour < 12 else "PM",
    "h": number(lambda moment: moment.hour % 12 or 12),
    "K": number(lambda moment: moment.hour % 12),
    "k": number(lambda moment: moment.hour or 24),
    "H": number(lambda moment: moment.hour),
    "m": number(lambda moment: moment.minute),
    "s": number(lambda moment: moment.second),
}
