"""Java's ``SimpleDateFormat`` for output: the letters that date formats in pipelines use."""

from __future__ import annotations

import datetime
import re
from collections.abc import Callable
from typing import Final

from localcdap.java.date_names import DAYS, MONTHS
from localcdap.java.date_writing import week

_PIECE: Final = re.compile(r"'((?:[^']|'')*)'|([A-Za-z])\2*|[^A-Za-z']+|'", re.DOTALL)
_Write = Callable[[datetime.datetime, int], str]


def format_date(moment: datetime.datetime, pattern: str) -> str:
    """The moment in the pattern; English names.

    :raises ValueError: for a letter that is no part of a date, or a quote without its end.
    """
    out: list[str] = []
    for piece in _PIECE.finditer(pattern):
        quoted, letter, text = piece.group(1), piece.group(2), piece.group(0)
        if quoted is not None:
            out.append(quoted.replace("''", "'") if quoted else "'")
        elif letter:
            write = _LETTERS.get(letter)
            if write is None:
                raise ValueError(f"Illegal pattern character '{letter}'")
            out.append(write(moment, len(text)))
        elif text == "'":
            raise ValueError("Unterminated quote")
        else:
            out.append(text)
    return "".join(out)


def _number(value: Callable[[datetime.datetime], int]) -> _Write:
    return lambda moment, width: str(value(moment)).rjust(width, "0")


def _text(value: Callable[[datetime.datetime], str]) -> _Write:
    return lambda moment, _: value(moment)


def _year(moment: datetime.datetime, width: int) -> str:
    return _padded_year(moment.year, width)


def _padded_year(year: int, width: int) -> str:
    return f"{year % 100:02}" if width == 2 else str(year).rjust(width, "0")


def _month(moment: datetime.datetime, width: int) -> str:
    if width < 3:
        return str(moment.month).rjust(width, "0")
    name = MONTHS[moment.month - 1]
    return name if width > 3 else name[:3]


def _day_name(moment: datetime.datetime, width: int) -> str:
    name = DAYS[moment.weekday()]
    return name if width > 3 else name[:3]


def _offset(moment: datetime.datetime, colon: str = "") -> str:
    seconds = int((moment.utcoffset() or datetime.timedelta()).total_seconds())
    sign, minutes = ("-" if seconds < 0 else "+"), abs(seconds) // 60
    return f"{sign}{minutes // 60:02}{colon}{minutes % 60:02}"


def _iso_offset(moment: datetime.datetime, width: int) -> str:
    if not moment.utcoffset():
        return "Z"
    text = _offset(moment, ":" if width == 3 else "")
    return text[:3] if width == 1 else text


_LETTERS: Final[dict[str, _Write]] = {
    "G": _text(lambda _: "AD"),
    "y": _year,
    "Y": lambda moment, width: _padded_year(week(moment)[0], width),
    "M": _month,
    "L": _month,
    "d": _number(lambda m: m.day),
    "D": _number(lambda m: m.timetuple().tm_yday),
    "E": _day_name,
    "u": _number(lambda m: m.isoweekday()),
    "w": _number(lambda m: week(m)[1]),
    "a": _text(lambda m: "AM" if m.hour < 12 else "PM"),
    "H": _number(lambda m: m.hour),
    "k": _number(lambda m: m.hour or 24),
    "K": _number(lambda m: m.hour % 12),
    "h": _number(lambda m: m.hour % 12 or 12),
    "m": _number(lambda m: m.minute),
    "s": _number(lambda m: m.second),
    "S": _number(lambda m: m.microsecond // 1000),
    "z": _text(lambda m: m.tzname() or ""),
    "Z": _text(_offset),
    "X": _iso_offset,
}
