"""The fields of dates written by the letters of Java's ``DateTimeFormatter``."""

from __future__ import annotations

import datetime
from collections.abc import Callable, Sequence
from typing import Any, Final

from localcdap.java.date_names import DAYS, MONTHS, named

Part = Any
"""Of a pattern: a text; a letter with its number; or a list of parts, which is optional."""


class NoFieldError(Exception):
    """A date has no such field: a zone where there is none, a time of a date."""


def written(parts: Sequence[Part], moment: datetime.datetime) -> str:
    """A moment by the parts of a pattern.

    :raises NoFieldError: when it has not what a part shows that is not optional.
    """
    out = []
    for part in parts:
        if isinstance(part, str):
            out.append(part)
        elif isinstance(part, list):
            try:
                out.append(written(part, moment))
            except NoFieldError:
                continue
        else:
            letter, width = part
            out.append(_WRITERS[letter](moment, width))
    return "".join(out)


def _number(value: Callable[[datetime.datetime], int]) -> Callable[[datetime.datetime, int], str]:
    return lambda moment, width: str(value(moment)).zfill(width)


def _year(year: int, width: int) -> str:
    return f"{year % 100:02}" if width == 2 else str(year).zfill(width)


def _month(moment: datetime.datetime, width: int) -> str:
    return str(moment.month).zfill(width) if width < 3 else named(MONTHS, moment.month - 1, width)


def _day_name(moment: datetime.datetime, width: int) -> str:
    return named(DAYS, moment.weekday(), width)


def _day_of_week(moment: datetime.datetime, width: int) -> str:
    if width < 3:
        return str(moment.isoweekday() % 7 + 1).zfill(width)
    return _day_name(moment, width)


def _quarter(moment: datetime.datetime, width: int) -> str:
    number = (moment.month + 2) // 3
    if width < 3:
        return str(number).zfill(width)
    if width == 4:
        return ("1st", "2nd", "3rd", "4th")[number - 1] + " quarter"
    return f"Q{number}" if width == 3 else str(number)


def week(moment: datetime.datetime) -> tuple[int, int]:
    """Year and number of a week that begins on Sunday, as in the United States."""
    sunday = moment.date() - datetime.timedelta(days=moment.isoweekday() % 7)
    year = (sunday + datetime.timedelta(days=6)).year
    first = datetime.date(year, 1, 1)
    start = first - datetime.timedelta(days=first.isoweekday() % 7)
    return year, (sunday - start).days // 7 + 1


def _week_of_month(moment: datetime.datetime) -> int:
    first = moment.replace(day=1)
    return (moment.day + first.isoweekday() % 7 - 1) // 7 + 1


def _offset(moment: datetime.datetime) -> tuple[str, int, int]:
    offset = moment.utcoffset()
    if offset is None:
        raise NoFieldError("an offset")
    seconds = int(offset.total_seconds())
    hours, minutes = divmod(abs(seconds) // 60, 60)
    return "-" if seconds < 0 else "+", hours, minutes


def _iso_offset(moment: datetime.datetime, width: int, zulu: bool) -> str:
    sign, hours, minutes = _offset(moment)
    if zulu and not hours and not minutes:
        return "Z"
    if width == 1:
        return f"{sign}{hours:02}" + (f"{minutes:02}" if minutes else "")
    return f"{sign}{hours:02}{':' if width == 3 else ''}{minutes:02}"


def _rfc_offset(moment: datetime.datetime, width: int) -> str:
    if width == 4:
        return _gmt_offset(moment, width)
    return _iso_offset(moment, 3 if width == 5 else 2, width == 5)


def _gmt_offset(moment: datetime.datetime, width: int) -> str:
    sign, hours, minutes = _offset(moment)
    if not hours and not minutes:
        return "GMT"
    if width == 4:
        return f"GMT{sign}{hours:02}:{minutes:02}"
    return f"GMT{sign}{hours}" + (f":{minutes:02}" if minutes else "")


def _zone(moment: datetime.datetime, width: int) -> str:
    if moment.tzinfo is None:
        raise NoFieldError("a zone")
    if moment.tzinfo is datetime.UTC:
        return "Coordinated Universal Time" if width == 4 else "UTC"
    return moment.tzname() or ""


def _zone_id(moment: datetime.datetime, _: int) -> str:
    if moment.tzinfo is None:
        raise NoFieldError("a zone")
    return str(moment.tzinfo)


def _nanos(moment: datetime.datetime) -> int:
    return moment.microsecond * 1000


def _of_day(moment: datetime.datetime) -> int:
    return (moment.hour * 60 + moment.minute) * 60 + moment.second


_WRITERS: Final[dict[str, Callable[[datetime.datetime, int], str]]] = {
    "G": lambda _, width: "Anno Domini" if width == 4 else "A" if width == 5 else "AD",
    "u": lambda moment, width: _year(moment.year, width),
    "y": lambda moment, width: _year(moment.year, width),
    "Y": lambda moment, width: _year(week(moment)[0], width),
    "w": _number(lambda moment: week(moment)[1]),
    "W": _number(_week_of_month),
    "F": _number(lambda moment: (moment.day - 1) % 7 + 1),
    "M": _month,
    "L": _month,
    "d": _number(lambda moment: moment.day),
    "D": _number(lambda moment: moment.timetuple().tm_yday),
    "Q": _quarter,
    "q": _quarter,
    "E": _day_name,
    "e": _day_of_week,
    "c": _day_of_week,
    "a": lambda moment, _: "AM" if moment.hour < 12 else "PM",
    "h": _number(lambda moment: moment.hour % 12 or 12),
    "K": _number(lambda moment: moment.hour % 12),
    "k": _number(lambda moment: moment.hour or 24),
    "H": _number(lambda moment: moment.hour),
    "m": _number(lambda moment: moment.minute),
    "s": _number(lambda moment: moment.second),
    "S": lambda moment, width: f"{_nanos(moment):09}"[:width],
    "n": _number(_nanos),
    "A": _number(lambda moment: _of_day(moment) * 1000 + moment.microsecond // 1000),
    "N": _number(lambda moment: _of_day(moment) * 10**9 + _nanos(moment)),
    "V": _zone_id,
    "z": _zone,
    "O": _gmt_offset,
    "X": lambda moment, width: _iso_offset(moment, width, True),
    "x": lambda moment, width: _iso_offset(moment, width, False),
    "Z": _rfc_offset,
}
