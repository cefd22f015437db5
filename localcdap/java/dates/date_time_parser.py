"""Parses texts by the patterns of ``DateTimeFormatter``."""

from __future__ import annotations

import calendar
import datetime
import re
from collections.abc import Sequence
from typing import Any, Final

from localcdap.java.dates.patterns import DAYS, LIMITS, MONTHS, abbreviate

PatternPart = Any
"""A literal text; a letter and how often it is repeated; or an optional list of parts."""

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
_IGNORED: Final = "ZXxOVzQqewWFGcY"
"""Letters whose text must match but has no effect on the moment."""
_LIMITS: Final = {**LIMITS, "H": (0, 24)}


class DateTimeParser:
    """A parser for the parts of one pattern."""

    def __init__(self, parts: Sequence[PatternPart]) -> None:
        self._fields: Final[list[tuple[str, int]]] = []
        self._regex: Final = re.compile(_build_regex(parts, self._fields))

    def parse(self, text: str) -> datetime.datetime | None:
        """Parse a date and time; None when the text does not match. The zone of the text is ignored.

        :raises ValueError: when the text lacks a part of the date or the hour, or there is no such date.
        """
        match = self._regex.fullmatch(text)
        if match is None:
            return None
        values: dict[str, int] = {}
        for (letter, width), field_text in zip(self._fields, match.groups(), strict=True):
            if field_text is not None:
                _add_value(values, letter, width, field_text)
        return _build_moment(values)


def _build_regex(parts: Sequence[PatternPart], fields: list[tuple[str, int]]) -> str:
    """Return the regular expression of a pattern, and add the field of each of its groups to ``fields``."""
    out = []
    for part in parts:
        if isinstance(part, str):
            out.append(re.escape(part))
        elif isinstance(part, list):
            out.append(f"(?:{_build_regex(part, fields)})?")
        else:
            fields.append(part)
            out.append(f"({_build_field_regex(*part)})")
    return "".join(out)


def _build_field_regex(letter: str, width: int) -> str:
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
        return "|".join(dict.fromkeys(_list_names(MONTHS, width)))
    if letter == "E" or (letter in "ec" and width > 2):
        return "|".join(dict.fromkeys(_list_names(DAYS, width)))
    if letter == "a":
        return "AM|PM"
    if letter == "S":
        return rf"\d{{{width}}}"
    if letter in "HhKkmsdDMLnAN":
        return r"\d{1,19}" if width == 1 else rf"\d{{{width}}}"
    return r"[A-Za-z0-9 ]+"


def _list_names(names: Sequence[str], width: int) -> list[str]:
    return [abbreviate(names, index, width) for index in range(len(names))]


def _add_value(values: dict[str, int], letter: str, width: int, text: str) -> None:
    """Add the value of a field.

    :raises ValueError: when it is out of range, or another value was added for the letter.
    """
    letter = {"L": "M", "u": "y"}.get(letter, letter)
    if letter in _IGNORED:
        return
    if letter == "M" and width > 2:
        value = 1 + _list_names(MONTHS, width).index(text)
    elif letter == "E":
        value = _list_names(DAYS, width).index(text)
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
        raise ValueError(f"{value} is not a value for '{letter}'")
    if values.setdefault(letter, value) != value:
        raise ValueError(f"there are two values for '{letter}'")


def _build_moment(values: dict[str, int]) -> datetime.datetime:
    """Return the moment of the values by letter, without a zone."""
    day = _build_date(values)
    if "E" in values and day.weekday() != values["E"]:
        raise ValueError(f"{day} is not a {DAYS[values['E']]}")
    if values.get("H") == 24 and not any(values.get(letter) for letter in "msSn"):
        return datetime.datetime.combine(day, datetime.time()) + datetime.timedelta(days=1)
    return datetime.datetime.combine(day, _build_time(values))


def _build_date(values: dict[str, int]) -> datetime.date:
    if "y" not in values:
        raise ValueError("there is no year")
    if "D" in values and "M" not in values:
        day = datetime.date(values["y"], 1, 1) + datetime.timedelta(days=values["D"] - 1)
        if day.year != values["y"]:
            raise ValueError(f"{values['y']} has no day {values['D']}")
        return day
    if "M" not in values or "d" not in values:
        raise ValueError("there is no month or day")
    # As in Java, a day up to 31 becomes the last day of a shorter month.
    last = calendar.monthrange(values["y"], values["M"])[1]
    return datetime.date(values["y"], values["M"], min(values["d"], last))


def _build_time(values: dict[str, int]) -> datetime.time:
    if "N" in values:
        return _build_time_of_day(values["N"] // 1000)
    if "A" in values:
        return _build_time_of_day(values["A"] * 1000)
    hour = values.get("H", values["k"] % 24 if "k" in values else -1)
    if hour < 0 and "a" in values and ("h" in values or "K" in values):
        hour = values.get("K", values.get("h", 0) % 12) + 12 * values["a"]
    if hour < 0:
        raise ValueError("there is no hour of the day")
    if ("s" in values or "S" in values) and "m" not in values:
        raise ValueError("there are seconds, but no minutes")
    nanos = values.get("S", values.get("n", 0))
    return datetime.time(hour, values.get("m", 0), values.get("s", 0), nanos // 1000)


def _build_time_of_day(micros: int) -> datetime.time:
    hour, rest = divmod(micros, 3_600_000_000)
    seconds, micros = divmod(rest, 1_000_000)
    return datetime.time(hour, seconds // 60, seconds % 60, micros)
