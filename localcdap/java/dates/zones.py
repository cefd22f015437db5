"""Time zones by the names that Java knows, and the offsets that texts hold."""

from __future__ import annotations

import datetime
import functools
import re
from typing import Final

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
