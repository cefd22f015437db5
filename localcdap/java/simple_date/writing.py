"""Moments written in patterns of ``SimpleDateFormat``: the letters that pipelines use."""

from __future__ import annotations

import datetime
from typing import Final

from localcdap.java.dates.fields import FIELDS, Write, day_name, month, number, offset_parts
from localcdap.java.simple_date.pattern import items


def format_date(moment: datetime.datetime, pattern: str) -> str:
    """The moment in the pattern; English names.

    :raises ValueError: for a letter that is no part of a date, or a quote without its end.
    """
    out: list[str] = []
    for item in items(pattern):
        if isinstance(item, str):
            out.append(item)
            continue
        letter, width = item
        write = _LETTERS.get(letter)
        if write is None:
            raise ValueError(f"Illegal pattern character '{letter}'")
        out.append(write(moment, width))
    return "".join(out)


def _offset(moment: datetime.datetime, colon: str = "") -> str:
    sign, hours, minutes = offset_parts(moment.utcoffset() or datetime.timedelta())
    return f"{sign}{hours:02}{colon}{minutes:02}"


def _iso_offset(moment: datetime.datetime, width: int) -> str:
    if not moment.utcoffset():
        return "Z"
    text = _offset(moment, ":" if width == 3 else "")
    return text[:3] if width == 1 else text


_LETTERS: Final[dict[str, Write]] = {
    **FIELDS,
    "G": lambda *_: "AD",
    "M": lambda moment, width: month(moment, min(width, 4)),
    "E": lambda moment, width: day_name(moment, min(width, 4)),
    "u": number(lambda moment: moment.isoweekday()),
    "S": number(lambda moment: moment.microsecond // 1000),
    "z": lambda moment, _: moment.tzname() or "",
    "Z": lambda moment, _: _offset(moment),
    "X": _iso_offset,
}
