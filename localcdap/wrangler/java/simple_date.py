"""Java's ``SimpleDateFormat`` for output: the letters that date formats in pipelines use."""

from __future__ import annotations

import datetime
import re
from collections.abc import Callable
from typing import Final

_PIECE: Final = re.compile(r"'((?:[^']|'')*)'|([A-Za-z])\2*|[^A-Za-z']+|'", re.DOTALL)
MONTHS: Final = (
    *("January", "February", "March", "April", "May", "June"),
    *("July", "August", "September", "October", "November", "December"),
)
DAYS: Final = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
_JAVA_ZONES: Final = {
    "PST": "America/Los_Angeles",
    "MST": "America/Denver",
    "CST": "America/Chicago",
    "EST": "America/New_York",
    "IST": "Asia/Kolkata",
    "JST": "Asia/Tokyo",
    "CET": "Europe/Paris",
}
"""Three-letter zones as Java reads them, daylight saving included."""

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


def time_zone(name: str) -> datetime.tzinfo:
    """The zone of an IANA name, a Java three-letter name, or ``GMT+2:30``.

    :raises ValueError: when there is none.
    """
    from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

    offset = re.fullmatch(r"(?:GMT|UTC)([+-])(\d{1,2}):?(\d{2})?", name)
    if offset is not None:
        minutes = int(offset[2]) * 60 + int(offset[3] or 0)
        return datetime.timezone(
            datetime.timedelta(minutes=minutes * (-1 if offset[1] == "-" else 1))
        )
    if name in ("UTC", "GMT", "Z"):
        return datetime.UTC
    try:
        return ZoneInfo(_JAVA_ZONES.get(name, name))
    except (ZoneInfoNotFoundError, ValueError, OSError):
        raise ValueError(f"Unknown time zone '{name}'") from None


def _number(value: Callable[[datetime.datetime], int]) -> _Write:
    return lambda moment, width: str(value(moment)).rjust(width, "0")


def _text(value: Callable[[datetime.datetime], str]) -> _Write:
    return lambda moment, _: value(moment)


def _year(moment: datetime.datetime, width: int) -> str:
    return f"{moment.year % 100:02}" if width == 2 else str(moment.year).rjust(width, "0")


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
    "M": _month,
    "L": _month,
    "d": _number(lambda m: m.day),
    "D": _number(lambda m: m.timetuple().tm_yday),
    "E": _day_name,
    "u": _number(lambda m: m.isoweekday()),
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
