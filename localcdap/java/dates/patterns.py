"""The common part of the patterns of ``SimpleDateFormat`` and ``DateTimeFormatter``."""

from __future__ import annotations

import datetime
import re
from collections.abc import Callable, Iterator, Sequence
from typing import Final, NamedTuple

MONTHS: Final = (
    *("January", "February", "March", "April", "May", "June"),
    *("July", "August", "September", "October", "November", "December"),
)
DAYS: Final = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")

FormatField = Callable[[datetime.datetime, int], str]
"""Formats one field of a date; the number is how often its letter is repeated in the pattern."""

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
"""The lowest and the highest value of a field, by its letter."""

_PIECE: Final = re.compile(r"'((?:[^']|'')*)'|([A-Za-z])\2*|.", re.DOTALL)


class PatternPiece(NamedTuple):
    """A repeated letter, a quoted text, or one other character of a pattern."""

    text: str
    """Without its quotes. A quote that is never closed is the piece ``'``."""
    letter: str = ""
    """The letter that the text repeats; empty for a text."""
    quoted: bool = False


def split_pattern(pattern: str) -> Iterator[PatternPiece]:
    """Split a pattern: ``yy'at'-`` is ``yy``, ``at`` and ``-``. Two quotes are one quote."""
    for found in _PIECE.finditer(pattern):
        if found[1] is not None:
            yield PatternPiece(found[1].replace("''", "'") or "'", quoted=True)
        else:
            yield PatternPiece(found[0], found[2] or "")


def abbreviate(names: Sequence[str], index: int, width: int) -> str:
    """Return a name as a pattern of ``width`` letters shows it: 4 in full, 5 one letter, else three."""
    name = names[index]
    return name if width == 4 else name[0] if width == 5 else name[:3]


def format_number(get: Callable[[datetime.datetime], int]) -> FormatField:
    """Return the formatter of a number, padded with zeros to as many digits as the field has letters."""
    return lambda moment, width: str(get(moment)).zfill(width)


def format_month(moment: datetime.datetime, width: int) -> str:
    """Format the month: its number, or its name from three letters on."""
    if width < 3:
        return str(moment.month).zfill(width)
    return abbreviate(MONTHS, moment.month - 1, width)


def format_weekday(moment: datetime.datetime, width: int) -> str:
    """Format the name of the day of the week."""
    return abbreviate(DAYS, moment.weekday(), width)


def find_first_sunday(year: int) -> datetime.date:
    """Return the first day of the week that holds January 1st; weeks begin on Sunday (United States)."""
    first = datetime.date(year, 1, 1)
    return first - datetime.timedelta(days=first.isoweekday() % 7)


def split_offset(offset: datetime.timedelta) -> tuple[str, int, int]:
    """Return sign, hours and minutes of an offset from Greenwich."""
    seconds = int(offset.total_seconds())
    hours, minutes = divmod(abs(seconds) // 60, 60)
    return "-" if seconds < 0 else "+", hours, minutes


def _format_year(year: int, width: int) -> str:
    return f"{year % 100:02}" if width == 2 else str(year).zfill(width)


def _get_week(moment: datetime.datetime) -> tuple[int, int]:
    """Return the year and the number of a week, which begins on Sunday (United States)."""
    sunday = moment.date() - datetime.timedelta(days=moment.isoweekday() % 7)
    year = (sunday + datetime.timedelta(days=6)).year
    return year, (sunday - find_first_sunday(year)).days // 7 + 1


FIELD_FORMATS: Final[dict[str, FormatField]] = {
    "y": lambda moment, width: _format_year(moment.year, width),
    "Y": lambda moment, width: _format_year(_get_week(moment)[0], width),
    "w": format_number(lambda moment: _get_week(moment)[1]),
    "d": format_number(lambda moment: moment.day),
    "D": format_number(lambda moment: moment.timetuple().tm_yday),
    "a": lambda moment, _: "AM" if moment.hour < 12 else "PM",
    "h": format_number(lambda moment: moment.hour % 12 or 12),
    "K": format_number(lambda moment: moment.hour % 12),
    "k": format_number(lambda moment: moment.hour or 24),
    "H": format_number(lambda moment: moment.hour),
    "m": format_number(lambda moment: moment.minute),
    "s": format_number(lambda moment: moment.second),
}
"""The fields that both kinds of patterns format alike, by their letters."""
