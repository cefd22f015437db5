"""Java's ``DateTimeFormatter.ofPattern`` with English names: dates and times written and read by a pattern.

Weeks begin on Sunday and the first one holds January 1st, as in the United States. Pattern letters for
eras and week-based years can be written but not read.
"""

from __future__ import annotations

import datetime
import functools
import re
from collections.abc import Callable, Sequence
from typing import Any, Final

MONTHS: Final = (
    *("January", "February", "March", "April", "May", "June"),
    *("July", "August", "September", "October", "November", "December"),
)
DAYS: Final = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")

_PIECE: Final = re.compile(r"'((?:[^']|'')*)'|([A-Za-z])\2*|[\[\]]|.", re.DOTALL)
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
_MOST: Final = {
    "H": 2,
    "h": 2,
    "K": 2,
    "k": 2,
    "m": 2,
    "s": 2,
    "d": 2,
    "D": 3,
    "M": 5,
    "L": 5,
    "E": 5,
    "e": 5,
    "c": 5,
    "a": 1,
    "G": 5,
    "y": 19,
    "u": 19,
    "Y": 19,
    "S": 9,
    "n": 19,
    "N": 19,
    "A": 19,
    "Q": 5,
    "q": 5,
    "w": 2,
    "W": 1,
    "F": 1,
    "X": 3,
    "x": 3,
    "Z": 5,
    "O": 4,
    "z": 4,
}
"""The most letters of a kind in a row."""


class PatternError(ValueError):
    """A text is no pattern of dates; the message says why."""


class _NoFieldError(Exception):
    """A date has no such field: a zone where there is none, a time of a date."""


class TimeFormat:
    """A pattern.

    :raises PatternError: for a text that is none.
    """

    def __init__(self, pattern: str) -> None:
        self.pattern: Final = pattern
        self._parts: Final = _parsed(pattern)

    def write(self, moment: datetime.datetime) -> str:
        """A moment, with a zone or without, in the pattern.

        :raises ValueError: when the pattern shows a zone and the moment has none.
        """
        try:
            return _written(self._parts, moment)
        except _NoFieldError as error:
            raise ValueError(f"'{self.pattern}' shows {error}, which there is none of") from None

    def read(self, text: str) -> datetime.datetime:
        """The date and time of a text, without its zone.

        :raises ValueError: when the text is not in the pattern, or holds no whole date and hour.
        """
        regex, fields = self._reader
        match = regex.fullmatch(text)
        if match is None:
            raise ValueError(f"'{text}' is not in the pattern '{self.pattern}'")
        found: dict[str, int] = {}
        for (letter, width), value in zip(fields, match.groups(), strict=True):
            if value is not None:
                _take(found, letter, width, value)
        return _moment(found)

    @functools.cached_property
    def _reader(self) -> tuple[re.Pattern[str], list[tuple[str, int]]]:
        fields: list[tuple[str, int]] = []
        return re.compile(_regex(self._parts, fields)), fields


@functools.lru_cache(maxsize=256)
def time_format(pattern: str) -> TimeFormat:
    """The format of a pattern, see :class:`TimeFormat`."""
    return TimeFormat(pattern)


_Part = Any
"""A text; a letter with its number; or a list of parts, which is optional."""


def _parsed(pattern: str) -> list[_Part]:
    stack: list[list[_Part]] = [[]]
    for piece in _PIECE.finditer(pattern):
        quoted, letter, text = piece[1], piece[2], piece[0]
        if quoted is not None:
            stack[-1].append(quoted.replace("''", "'") or "'")
        elif letter:
            stack[-1].append(_field(letter, len(text)))
        elif text == "[":
            optional: list[_Part] = []
            stack[-1].append(optional)
            stack.append(optional)
        elif text == "]":
            if len(stack) == 1:
                raise PatternError(f"'{pattern}' has a ] without a [ before it")
            stack.pop()
        elif text in "{}#":
            raise PatternError(f"'{pattern}' holds '{text}', which is reserved: quote it")
        elif text == "'":
            raise PatternError(f"'{pattern}' has a quote without an end")
        else:
            stack[-1].append(text)
    return stack[0]


def _field(letter: str, width: int) -> tuple[str, int]:
    if letter == "V":
        if width != 2:
            raise PatternError("the letter V must stand twice")
        return letter, width
    most = _MOST.get(letter)
    if most is None:
        raise PatternError(f"'{letter}' is no letter of a date pattern: quote it")
    if width > most or (letter == "O" and width not in (1, 4)):
        raise PatternError(f"'{letter * width}' has too many letters")
    return letter, width


# -- writing ----------------------------------------------------------------------------------


def _written(parts: Sequence[_Part], moment: datetime.datetime) -> str:
    out = []
    for part in parts:
        if isinstance(part, str):
            out.append(part)
        elif isinstance(part, list):
            try:
                out.append(_written(part, moment))
            except _NoFieldError:
                continue
        else:
            letter, width = part
            out.append(_WRITERS[letter](moment, width))
    return "".join(out)


def _number(value: Callable[[datetime.datetime], int]) -> Callable[[datetime.datetime, int], str]:
    return lambda moment, width: str(value(moment)).zfill(width)


def _year(year: int, width: int) -> str:
    return f"{year % 100:02}" if width == 2 else str(year).zfill(width)


def _named(names: Sequence[str], index: int, width: int) -> str:
    name = names[index]
    return name if width == 4 else name[0] if width == 5 else name[:3]


def _month(moment: datetime.datetime, width: int) -> str:
    return str(moment.month).zfill(width) if width < 3 else _named(MONTHS, moment.month - 1, width)


def _day_name(moment: datetime.datetime, width: int) -> str:
    return _named(DAYS, moment.weekday(), width)


def _day_of_week(moment: datetime.datetime, width: int) -> str:
    if width < 3:
        return str(moment.isoweekday() % 7 + 1).zfill(width)
    return _day_name(moment, width)


def _quarter(moment: datetime.datetime, width: int) -> str:
    number = (moment.month + 2) // 3
    if width < 3:
        return str(number).zfill(width)
    if width == 4:
        return ("1st", "2nd", "3rd", "4th")[number - 1] + " quarter"
    return f"Q{number}" if width == 3 else str(number)


def _week(moment: datetime.datetime) -> tuple[int, int]:
    """Year and number of the week."""
    sunday = moment.date() - datetime.timedelta(days=moment.isoweekday() % 7)
    year = (sunday + datetime.timedelta(days=6)).year
    first = datetime.date(year, 1, 1)
    start = first - datetime.timedelta(days=first.isoweekday() % 7)
    return year, (sunday - start).days // 7 + 1


def _week_of_month(moment: datetime.datetime) -> int:
    first = moment.replace(day=1)
    return (moment.day + first.isoweekday() % 7 - 1) // 7 + 1


def _offset(moment: datetime.datetime) -> tuple[str, int, int]:
    offset = moment.utcoffset()
    if offset is None:
        raise _NoFieldError("an offset")
    seconds = int(offset.total_seconds())
    hours, minutes = divmod(abs(seconds) // 60, 60)
    return "-" if seconds < 0 else "+", hours, minutes


def _iso_offset(moment: datetime.datetime, width: int, zulu: bool) -> str:
    sign, hours, minutes = _offset(moment)
    if zulu and not hours and not minutes:
        return "Z"
    if width == 1:
        return f"{sign}{hours:02}" + (f"{minutes:02}" if minutes else "")
    return f"{sign}{hours:02}{':' if width == 3 else ''}{minutes:02}"


def _rfc_offset(moment: datetime.datetime, width: int) -> str:
    if width == 4:
        return _gmt_offset(moment, width)
    return _iso_offset(moment, 3 if width == 5 else 2, width == 5)


def _gmt_offset(moment: datetime.datetime, width: int) -> str:
    sign, hours, minutes = _offset(moment)
    if not hours and not minutes:
        return "GMT"
    if width == 4:
        return f"GMT{sign}{hours:02}:{minutes:02}"
    return f"GMT{sign}{hours}" + (f":{minutes:02}" if minutes else "")


def _zone(moment: datetime.datetime, width: int) -> str:
    if moment.tzinfo is None:
        raise _NoFieldError("a zone")
    if moment.tzinfo is datetime.UTC:
        return "Coordinated Universal Time" if width == 4 else "UTC"
    return moment.tzname() or ""


def _zone_id(moment: datetime.datetime, _: int) -> str:
    if moment.tzinfo is None:
        raise _NoFieldError("a zone")
    return str(moment.tzinfo)


def _nanos(moment: datetime.datetime) -> int:
    return moment.microsecond * 1000


def _of_day(moment: datetime.datetime) -> int:
    return (moment.hour * 60 + moment.minute) * 60 + moment.second


_WRITERS: Final[dict[str, Callable[[datetime.datetime, int], str]]] = {
    "G": lambda _, width: "Anno Domini" if width == 4 else "A" if width == 5 else "AD",
    "u": lambda moment, width: _year(moment.year, width),
    "y": lambda moment, width: _year(moment.year, width),
    "Y": lambda moment, width: _year(_week(moment)[0], width),
    "w": _number(lambda moment: _week(moment)[1]),
    "W": _number(_week_of_month),
    "F": _number(lambda moment: (moment.day - 1) % 7 + 1),
    "M": _month,
    "L": _month,
    "d": _number(lambda moment: moment.day),
    "D": _number(lambda moment: moment.timetuple().tm_yday),
    "Q": _quarter,
    "q": _quarter,
    "E": _day_name,
    "e": _day_of_week,
    "c": _day_of_week,
    "a": lambda moment, _: "AM" if moment.hour < 12 else "PM",
    "h": _number(lambda moment: moment.hour % 12 or 12),
    "K": _number(lambda moment: moment.hour % 12),
    "k": _number(lambda moment: moment.hour or 24),
    "H": _number(lambda moment: moment.hour),
    "m": _number(lambda moment: moment.minute),
    "s": _number(lambda moment: moment.second),
    "S": lambda moment, width: f"{_nanos(moment):09}"[:width],
    "n": _number(_nanos),
    "A": _number(lambda moment: _of_day(moment) * 1000 + moment.microsecond // 1000),
    "N": _number(lambda moment: _of_day(moment) * 10**9 + _nanos(moment)),
    "V": _zone_id,
    "z": _zone,
    "O": _gmt_offset,
    "X": lambda moment, width: _iso_offset(moment, width, True),
    "x": lambda moment, width: _iso_offset(moment, width, False),
    "Z": _rfc_offset,
}


# -- reading ----------------------------------------------------------------------------------


def _regex(parts: Sequence[_Part], fields: list[tuple[str, int]]) -> str:
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
    return "|".join(dict.fromkeys(_named(names, i, width) for i in range(len(names))))


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
    return [_named(names, i, width) for i in range(len(names))].index(text)


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
