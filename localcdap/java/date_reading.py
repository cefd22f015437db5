"""The fields of dates read by the letters of Java's ``DateTimeFormatter``."""

from __future__ import annotations

import datetime
import re
from collections.abc import Sequence
from typing import Final

from localcdap.java.date_names import DAYS, MONTHS, named
from localcdap.java.date_writing import Part

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
        return _moment(found)


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


_UNREAD: Final = "ZXxOVzQqewWFGcY"
_LIMITS: Final = {
    "H": (0, 24),
    "K": (0, 11),
    "k": (1, 24),
    "h": (1, 12),
    "m": (0, 59),
    "s": (0, 59),
    "d": (1, 31),
    "D": (1, 366),
    "M": (1, 12),
}


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


def _moment(found: dict[str, int]) -> datetime.datetime:
    day = _date(found)
    if "E" in found and day.weekday() != found["E"]:
        raise ValueError(f"{day} is no {DAYS[found['E']]}")
    if found.get("H") == 24 and not any(found.get(letter) for letter in "msSn"):
        return datetime.datetime.combine(day, datetime.time()) + datetime.timedelta(days=1)
    return datetime.datetime.combine(day, _time(found))


def _date(found: dict[str, int]) -> datetime.date:
    if "y" not in found:
        raise ValueError("there is no year")
    if "D" in found and "M" not in found:
        day = datetime.date(found["y"], 1, 1) + datetime.timedelta(days=found["D"] - 1)
        if day.year != found["y"]:
            raise ValueError(f"{found['y']} has no day {found['D']}")
        return day
    if "M" not in found or "d" not in found:
        raise ValueError("there is no month or day")
    # A day up to 31 is held at the end of a shorter month.
    last = (
        datetime.date(found["y"] + found["M"] // 12, found["M"] % 12 + 1, 1)
        if found["y"] < 9999
        else None
    )
    most = 31 if last is None else (last - datetime.timedelta(days=1)).day
    return datetime.date(found["y"], found["M"], min(found["d"], most))


def _time(found: dict[str, int]) -> datetime.time:
    if "N" in found:
        hour, rest = divmod(found["N"] // 1000, 3_600_000_000)
        return _clock(hour, rest)
    if "A" in found:
        hour, rest = divmod(found["A"] * 1000, 3_600_000_000)
        return _clock(hour, rest)
    hour = found.get("H", found["k"] % 24 if "k" in found else -1)
    if hour < 0 and "a" in found and ("h" in found or "K" in found):
        hour = found.get("K", found.get("h", 0) % 12) + 12 * found["a"]
    if hour < 0:
        raise ValueError("there is no hour of the day")
    if ("s" in found or "S" in found) and "m" not in found:
        raise ValueError("there are seconds, but no minutes")
    nanos = found.get("S", found.get("n", 0))
    return datetime.time(hour, found.get("m", 0), found.get("s", 0), nanos // 1000)


def _clock(hour: int, micros: int) -> datetime.time:
    seconds, micros = divmod(micros, 1_000_000)
    return datetime.time(hour, seconds // 60, seconds % 60, micros)
