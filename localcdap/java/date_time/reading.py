"""Texts read in patterns of ``DateTimeFormatter``."""

from __future__ import annotations

import datetime
import re
from collections.abc import Sequence
from typing import Final

from localcdap.java.date_time.moment import moment_of
from localcdap.java.date_time.pattern import Part
from localcdap.java.dates.fields import LIMITS
from localcdap.java.dates.names import DAYS, MONTHS, named

_OFFSETS: Final = {
    "X": r"Z|[+-]\d\d(?:\d\d)?",
    "XX": r"Z|[+-]\d{4}",
    "XXX": r"Z|[+-]\d\d:\d\d",
    "x": r"[+-]\d\d(?:\d\d)?",
    "xx": r"[+-]\d{4}",
    "xxx": r"[+-]\d\d:\d\d",
    "Z": r"[+-]\d{4}",
    "ZZ": r"[+-]\d{4}",
    "ZZZ": r"[+-]\d{4}",
    "ZZZZ": r"GMT(?:[+-]\d\d:\d\d)?",
    "ZZZZZ": r"Z|[+-]\d\d:\d\d",
    "O": r"GMT(?:[+-]\d{1,2}(?::\d\d)?)?",
    "OOOO": r"GMT(?:[+-]\d\d:\d\d)?",
}
_ZONE_ID: Final = r"Z|[+-]\d\d(?::\d\d)?|[A-Za-z][A-Za-z0-9~/._+-]+(?::\d\d)?"
_ZONE_NAME: Final = r"[A-Za-z][A-Za-z0-9 /_+-]*(?::\d\d)?"
_UNREAD: Final = "ZXxOVzQqewWFGcY"
_LIMITS: Final = {**LIMITS, "H": (0, 24)}


class Reader:
    """Reads texts by the parts of a pattern."""

    def __init__(self, parts: Sequence[Part]) -> None:
        self._fields: Final[list[tuple[str, int]]] = []
        self._regex: Final = re.compile(_regex(parts, self._fields))

    def read(self, text: str) -> datetime.datetime | None:
        """The date and time of a text, without its zone; None when it is not in the pattern.

        :raises ValueError: when the text holds no whole date and hour, or one that there is not.
        """
        match = self._regex.fullmatch(text)
        if match is None:
            return None
        found: dict[str, int] = {}
        for (letter, width), value in zip(self._fields, match.groups(), strict=True):
            if value is not None:
                _take(found, letter, width, value)
        return moment_of(found)


def _regex(parts: Sequence[Part], fields: list[tuple[str, int]]) -> str:
    out = []
    for part in parts:
        if isinstance(part, str):
            out.append(re.escape(part))
        elif isinstance(part, list):
            out.append(f"(?:{_regex(part, fields)})?")
        else:
            fields.append(part)
            out.append(f"({_field_regex(*part)})")
    return "".join(out)


def _field_regex(letter: str, width: int) -> str:
    if letter in "XxZO":
        return _OFFSETS[letter * width]
    if letter == "V":
        return _ZONE_ID
    if letter == "z":
        return _ZONE_NAME
    if letter in "yu":
        return {1: r"-?\d{1,9}", 2: r"\d\d", 4: r"\d{4}|\+\d{5,9}"}.get(
            width, rf"-?\d{{{width},9}}"
        )
    if letter in "ML" and width > 2:
        return _names(MONTHS, width)
    if letter == "E" or (letter in "ec" and width > 2):
        return _names(DAYS, width)
    if letter == "a":
        return "AM|PM"
    if letter == "S":
        return rf"\d{{{width}}}"
    if letter in "HhKkmsdDMLnAN":
        return r"\d{1,19}" if width == 1 else rf"\d{{{width}}}"
    return r"[A-Za-z0-9 ]+"


def _names(names: Sequence[str], width: int) -> str:
    return "|".join(dict.fromkeys(named(names, i, width) for i in range(len(names))))


def _take(found: dict[str, int], letter: str, width: int, text: str) -> None:
    letter = {"L": "M", "u": "y"}.get(letter, letter)
    if letter in _UNREAD:
        return
    if letter == "M" and width > 2:
        value = 1 + _index(MONTHS, width, text)
    elif letter == "E":
        value = _index(DAYS, width, text)
    elif letter == "a":
        value = int(text == "PM")
    elif letter == "S":
        value = int(text.ljust(9, "0"))
    elif letter == "y" and width == 2:
        value = 2000 + int(text)
    else:
        value = int(text)
    low, high = _LIMITS.get(letter, (value, value))
    if not low <= value <= high:
        raise ValueError(f"{value} is no value for '{letter}'")
    if found.setdefault(letter, value) != value:
        raise ValueError(f"there are two values for '{letter}'")


def _index(names: Sequence[str], width: int, text: str) -> int:
    return [named(names, i, width) for i in range(len(names))].index(text)
