"""The offsets of zones that texts of ``SimpleDateFormat`` name: ``PST``, ``GMT-8:00``, ``-0800``, ``Z``."""

from __future__ import annotations

import re
from typing import Final

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
"""Minutes east of Greenwich by the names of zones."""
_LONGER_FIRST: Final = sorted(_OFFSETS, key=len, reverse=True)
_GMT: Final = re.compile(r"GMT([+-])(\d{1,2}):(\d\d)", re.IGNORECASE)
_RFC: Final = re.compile(r"([+-])(\d\d)(\d\d)")
_ISO: Final = {
    1: re.compile(r"([+-])(\d\d)"),
    2: re.compile(r"([+-])(\d\d)(\d\d)"),
    3: re.compile(r"([+-])(\d\d):(\d\d)"),
}


def offset_at(text: str, at: int, letter: str, width: int) -> tuple[int, int] | None:
    """Seconds east of Greenwich as a place in a text says, and where that ends; None where it says none.

    :param letter: ``X`` reads ISO 8601 in the form of its number, ``z`` and ``Z`` read all others.
    """
    if letter == "X":
        return (0, at + 1) if text.startswith("Z", at) else _hours(_ISO[width].match(text, at))
    if text[at : at + 1] in ("+", "-"):
        return _hours(_RFC.match(text, at))
    if found := _GMT.match(text, at):
        return _hours(found)
    rest = text[at:].lower()
    for name in _LONGER_FIRST:
        if rest.startswith(name.lower()):
            return _OFFSETS[name] * 60, at + len(name)
    return None


def _hours(found: re.Match[str] | None) -> tuple[int, int] | None:
    if found is None:
        return None
    sign, hours, *minutes = found.groups()
    if int(hours) > 23 or (minutes and int(minutes[0]) > 59):
        return None
    seconds = int(hours) * 3600 + (int(minutes[0]) * 60 if minutes else 0)
    return -seconds if sign == "-" else seconds, found.end()
