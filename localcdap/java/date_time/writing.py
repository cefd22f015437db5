"""Moments written in patterns of ``DateTimeFormatter``."""

from __future__ import annotations

import datetime
from collections.abc import Sequence
from typing import Final

from localcdap.java.date_time.pattern import Part
from localcdap.java.dates.fields import FIELDS, Write, day_name, month, number, offset_parts


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


def _day_of_week(moment: datetime.datetime, width: int) -> str:
    if width < 3:
        return str(moment.isoweekday() % 7 + 1).zfill(width)
    return day_name(moment, width)


def _quarter(moment: datetime.datetime, width: int) -> str:
    quarter = (moment.month + 2) // 3
    if width < 3:
        return str(quarter).zfill(width)
    if width == 4:
        return ("1st", "2nd", "3rd", "4th")[quarter - 1] + " quarter"
    return f"Q{quarter}" if width == 3 else str(quarter)


def _week_of_month(moment: datetime.datetime) -> int:
    first = moment.replace(day=1)
    return (moment.day + first.isoweekday() % 7 - 1) // 7 + 1


def _offset(moment: datetime.datetime) -> tuple[str, int, int]:
    offset = moment.utcoffset()
    if offset is None:
        raise NoFieldError("an offset")
    return offset_parts(offset)


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


_WRITERS: Final[dict[str, Write]] = {
    **FIELDS,
    "G": lambda _, width: "Anno Domini" if width == 4 else "A" if width == 5 else "AD",
    "u": FIELDS["y"],
    "W": number(_week_of_month),
    "F": number(lambda moment: (moment.day - 1) % 7 + 1),
    "M": month,
    "L": month,
    "Q": _quarter,
    "q": _quarter,
    "E": day_name,
    "e": _day_of_week,
    "c": _day_of_week,
    "S": lambda moment, width: f"{_nanos(moment):09}"[:width],
    "n": number(_nanos),
    "A": number(lambda moment: _of_day(moment) * 1000 + moment.microsecond // 1000),
    "N": number(lambda moment: _of_day(moment) * 10**9 + _nanos(moment)),
    "V": _zone_id,
    "z": _zone,
    "O": _gmt_offset,
    "X": lambda moment, width: _iso_offset(moment, width, True),
    "x": lambda moment, width: _iso_offset(moment, width, False),
    "Z": _rfc_offset,
}
