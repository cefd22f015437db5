"""Time zones by the names that Java knows, and the common part of the patterns of its date formats."""

from __future__ import annotations

import datetime
import functools
import re
from collections.abc import Callable, Iterator, Sequence
from typing import Final, NamedTuple

_SHORT_NAMES: Final = {
    "ACT": "Australia/Darwin",
    "AET": "Australia/Sydney",
    "AGT": "America/Argentina/Buenos_Aires",
    "ART": "Africa/Cairo",
    "AST": "America/Anchorage",
    "BET": "America/Sao_Paulo",
    "BST": "Asia/Dhaka",
    "CAT": "Africa/Harare",
    "CNT": "America/St_Johns",
    "CST": "America/Chicago",
    "CTT": "Asia/Shanghai",
    "EAT": "Africa/Addis_Ababa",
    "ECT": "Europe/Paris",
    "EST": "America/New_York",
    "IET": "America/Indiana/Indianapolis",
    "IST": "Asia/Kolkata",
    "JST": "Asia/Tokyo",
    "MIT": "Pacific/Apia",
    "MST": "America/Denver",
    "NET": "Asia/Yerevan",
    "NST": "Pacific/Auckland",
    "PLT": "Asia/Karachi",
    "PNT": "America/Phoenix",
    "PRT": "America/Puerto_Rico",
    "PST": "America/Los_Angeles",
    "SST": "Pacific/Guadalcanal",
    "VST": "Asia/Ho_Chi_Minh",
}
"""The zones of Java's short names."""

_ZONE_OFFSET: Final = re.compile(r"(?:UTC|GMT|UT)?([+-])(\d{1,2}):?(\d\d)?")


@functools.cache
def parse_zone(name: str) -> datetime.tzinfo:
    """Return a zone by its name, its short name, or an offset such as ``GMT-08:00`` or ``+02``.

    :raises ValueError: when there is no such zone.
    """
    from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

    if name in ("UTC", "GMT", "UT", "Z"):
        return datetime.UTC
    offset = _ZONE_OFFSET.fullmatch(name)
    if offset is not None:
        minutes = int(offset[2]) * 60 + int(offset[3] or 0)
        if minutes > 18 * 60:
            raise ValueError(f"'{name}' is not a time zone: offsets reach to 18 hours")
        return datetime.timezone(
            datetime.timedelta(minutes=-minutes if offset[1] == "-" else minutes)
        )
    try:
        return ZoneInfo(_SHORT_NAMES.get(name, name))
    except (ZoneInfoNotFoundError, ValueError, OSError):
        raise ValueError(
            f"'{name}' is not a time zone, such as UTC, Europe/Paris or GMT-08:00"
        ) from None


_OFFSETS: Final = {
    "UTC": 0,
    "GMT": 0,
    "UT": 0,
    "WET": 0,
    "WEST": 60,
    "BST": 60,
    "CET": 60,
    "CEST": 120,
    "EET": 120,
    "EEST": 180,
    "MSK": 180,
    "SAST": 120,
    "IST": 330,
    "PKT": 300,
    "JST": 540,
    "KST": 540,
    "HKT": 480,
    "AWST": 480,
    "ACST": 570,
    "AEST": 600,
    "AEDT": 660,
    "NZST": 720,
    "NZDT": 780,
    "BRT": -180,
    "ART": -180,
    "NST": -210,
    "AST": -240,
    "ADT": -180,
    "EST": -300,
    "EDT": -240,
    "CST": -360,
    "CDT": -300,
    "MST": -420,
    "MDT": -360,
    "PST": -480,
    "PDT": -420,
    "AKST": -540,
    "AKDT": -480,
    "HST": -600,
    "Coordinated Universal Time": 0,
    "Greenwich Mean Time": 0,
    "Central European Time": 60,
    "Central European Standard Time": 60,
    "Central European Summer Time": 120,
    "Eastern Standard Time": -300,
    "Eastern Daylight Time": -240,
    "Central Standard Time": -360,
    "Central Daylight Time": -300,
    "Mountain Standard Time": -420,
    "Mountain Daylight Time": -360,
    "Pacific Standard Time": -480,
    "Pacific Daylight Time": -420,
    "India Standard Time": 330,
    "Japan Standard Time": 540,
}
"""Minutes east of Greenwich, by the names of zones that ``SimpleDateFormat`` parses."""
_NAMES_LONGEST_FIRST: Final = sorted(_OFFSETS, key=len, reverse=True)
_GMT_OFFSET: Final = re.compile(r"GMT([+-])(\d{1,2}):(\d\d)", re.IGNORECASE)
_RFC_OFFSET: Final = re.compile(r"([+-])(\d\d)(\d\d)")
_ISO_OFFSETS: Final = {
    1: re.compile(r"([+-])(\d\d)"),
    2: re.compile(r"([+-])(\d\d)(\d\d)"),
    3: re.compile(r"([+-])(\d\d):(\d\d)"),
}


def parse_offset(text: str, at: int, letter: str, width: int) -> tuple[int, int] | None:
    """Parse an offset or the name of a zone, as ``SimpleDateFormat`` does: ``PST``, ``GMT-8:00``, ``-0800``.

    :param at: the offset in the text where it begins.
    :param letter: ``X`` parses ISO 8601 in the form of ``width``; ``z`` and ``Z`` parse all other forms.
    :returns: seconds east of Greenwich, and the offset in the text where it ends; None when there is none.
    """
    if letter == "X":
        return (
            (0, at + 1)
            if text.startswith("Z", at)
            else _to_seconds(_ISO_OFFSETS[width].match(text, at))
        )
    if text[at : at + 1] in ("+", "-"):
        return _to_seconds(_RFC_OFFSET.match(text, at))
    if found := _GMT_OFFSET.match(text, at):
        return _to_seconds(found)
    rest = text[at:].lower()
    for name in _NAMES_LONGEST_FIRST:
        if rest.startswith(name.lower()):
            return _OFFSETS[name] * 60, at + len(name)
    return None


def _to_seconds(found: re.Match[str] | None) -> tuple[int, int] | None:
    if found is None:
        return None
    sign, hours, *minutes = found.groups()
    if int(hours) > 23 or (minutes and int(minutes[0]) > 59):
        return None
    seconds = int(hours) * 3600 + (int(minutes[0]) * 60 if minutes else 0)
    return -seconds if sign == "-" else seconds, found.end()


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
