"""Java's ``DateTimeFormatter.ofPattern`` with English names.

Weeks begin on Sunday and the first one holds January 1st, as in the United States. Eras and week-based years
can be formatted but not parsed.

Parses texts by the patterns of ``DateTimeFormatter``.
"""

from __future__ import annotations

import calendar
import datetime
import functools
import re
from collections.abc import Sequence
from typing import Any, Final

from localcdap.java.dates.zones import (
    DAYS,
    FIELD_FORMATS,
    LIMITS,
    MONTHS,
    FormatField,
    PatternPiece,
    abbreviate,
    format_month,
    format_number,
    format_weekday,
    split_offset,
    split_pattern,
)

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


_MAX_WIDTHS: Final = {
    letter: most
    for most, letters in (
        (1, "aWF"),
        (2, "HhKkmsdw"),
        (3, "DXx"),
        (4, "Oz"),
        (5, "MLEecGQqZ"),
        (9, "S"),
        (19, "yuYnNA"),
    )
    for letter in letters
}
"""The most repetitions of a letter."""


class PatternError(ValueError):
    """A text is not a pattern of dates; the message says why."""


class _NoFieldError(Exception):
    """A moment lacks what a pattern shows, such as a zone."""


class DateTimeFormat:
    """A pattern of ``DateTimeFormatter``, which formats and parses.

    :raises PatternError: when the pattern is invalid.
    """

    def __init__(self, pattern: str) -> None:
        self.pattern: Final = pattern
        self._parts: Final = _parse_pattern(pattern)

    def format(self, moment: datetime.datetime) -> str:
        """Format a moment, with a zone or without.

        :raises ValueError: when the pattern shows a zone and the moment has none.
        """
        try:
            return _format_parts(self._parts, moment)
        except _NoFieldError as error:
            raise ValueError(
                f"'{self.pattern}' shows {error}, which the value does not have"
            ) from None

    def parse(self, text: str) -> datetime.datetime:
        """Parse a date and time; the zone of the text is ignored.

        :raises ValueError: when the text does not match the pattern, or lacks a part of the date or the hour.
        """
        moment = self._parser.parse(text)
        if moment is None:
            raise ValueError(f"'{text}' is not in the pattern '{self.pattern}'")
        return moment

    @functools.cached_property
    def _parser(self) -> DateTimeParser:
        return DateTimeParser(self._parts)


def _parse_pattern(pattern: str) -> list[PatternPart]:
    stack: list[list[PatternPart]] = [[]]
    for piece in split_pattern(pattern):
        if piece.letter:
            stack[-1].append(_check_field(piece.letter, len(piece.text)))
        elif piece == PatternPiece("["):
            optional: list[PatternPart] = []
            stack[-1].append(optional)
            stack.append(optional)
        elif piece == PatternPiece("]"):
            if len(stack) == 1:
                raise PatternError(f"'{pattern}' has a ] without a [ before it")
            stack.pop()
        else:
            stack[-1].append(_check_text(piece, pattern))
    return stack[0]


def _check_text(piece: PatternPiece, pattern: str) -> str:
    if piece == PatternPiece("'"):
        raise PatternError(f"'{pattern}' has a quote without an end")
    if not piece.quoted and piece.text in "{}#":
        raise PatternError(f"'{pattern}' holds '{piece.text}', which is reserved: quote it")
    return piece.text


def _check_field(letter: str, width: int) -> tuple[str, int]:
    if letter == "V":
        if width != 2:
            raise PatternError("the letter V must stand twice")
        return letter, width
    most = _MAX_WIDTHS.get(letter)
    if most is None:
        raise PatternError(f"'{letter}' is not a letter of a date pattern: quote it")
    if width > most or (letter == "O" and width not in (1, 4)):
        raise PatternError(f"'{letter * width}' has too many letters")
    return letter, width


def _format_parts(parts: Sequence[PatternPart], moment: datetime.datetime) -> str:
    """:raises _NoFieldError: when the moment lacks a field that is not optional."""
    out = []
    for part in parts:
        if isinstance(part, str):
            out.append(part)
        elif isinstance(part, list):
            try:
                out.append(_format_parts(part, moment))
            except _NoFieldError:
                continue
        else:
            letter, width = part
            out.append(_FORMATS[letter](moment, width))
    return "".join(out)


def _format_day_of_week(moment: datetime.datetime, width: int) -> str:
    if width < 3:
        return str(moment.isoweekday() % 7 + 1).zfill(width)
    return format_weekday(moment, width)


def _format_quarter(moment: datetime.datetime, width: int) -> str:
    quarter = (moment.month + 2) // 3
    if width < 3:
        return str(quarter).zfill(width)
    if width == 4:
        return ("1st", "2nd", "3rd", "4th")[quarter - 1] + " quarter"
    return f"Q{quarter}" if width == 3 else str(quarter)


def _get_week_of_month(moment: datetime.datetime) -> int:
    first = moment.replace(day=1)
    return (moment.day + first.isoweekday() % 7 - 1) // 7 + 1


def _get_offset(moment: datetime.datetime) -> tuple[str, int, int]:
    offset = moment.utcoffset()
    if offset is None:
        raise _NoFieldError("an offset")
    return split_offset(offset)


def _format_iso_offset(moment: datetime.datetime, width: int, zulu: bool) -> str:
    sign, hours, minutes = _get_offset(moment)
    if zulu and not hours and not minutes:
        return "Z"
    if width == 1:
        return f"{sign}{hours:02}" + (f"{minutes:02}" if minutes else "")
    return f"{sign}{hours:02}{':' if width == 3 else ''}{minutes:02}"


def _format_rfc_offset(moment: datetime.datetime, width: int) -> str:
    if width == 4:
        return _format_gmt_offset(moment, width)
    return _format_iso_offset(moment, 3 if width == 5 else 2, width == 5)


def _format_gmt_offset(moment: datetime.datetime, width: int) -> str:
    sign, hours, minutes = _get_offset(moment)
    if not hours and not minutes:
        return "GMT"
    if width == 4:
        return f"GMT{sign}{hours:02}:{minutes:02}"
    return f"GMT{sign}{hours}" + (f":{minutes:02}" if minutes else "")


def _format_zone_name(moment: datetime.datetime, width: int) -> str:
    if moment.tzinfo is None:
        raise _NoFieldError("a zone")
    if moment.tzinfo is datetime.UTC:
        return "Coordinated Universal Time" if width == 4 else "UTC"
    return moment.tzname() or ""


def _format_zone_id(moment: datetime.datetime, _: int) -> str:
    if moment.tzinfo is None:
        raise _NoFieldError("a zone")
    return str(moment.tzinfo)


def _get_nanoseconds(moment: datetime.datetime) -> int:
    return moment.microsecond * 1000


def _get_second_of_day(moment: datetime.datetime) -> int:
    return (moment.hour * 60 + moment.minute) * 60 + moment.second


_FORMATS: Final[dict[str, FormatField]] = {
    **FIELD_FORMATS,
    "G": lambda _, width: "Anno Domini" if width == 4 else "A" if width == 5 else "AD",
    "u": FIELD_FORMATS["y"],
    "W": format_number(_get_week_of_month),
    "F": format_number(lambda moment: (moment.day - 1) % 7 + 1),
    "M": format_month,
    "L": format_month,
    "Q": _format_quarter,
    "q": _format_quarter,
    "E": format_weekday,
    "e": _format_day_of_week,
    "c": _format_day_of_week,
    "S": lambda moment, width: f"{_get_nanoseconds(moment):09}"[:width],
    "n": format_number(_get_nanoseconds),
    "A": format_number(
        lambda moment: _get_second_of_day(moment) * 1000 + moment.microsecond // 1000
    ),
    "N": format_number(
        lambda moment: _get_second_of_day(moment) * 10**9 + _get_nanoseconds(moment)
    ),
    "V": _format_zone_id,
    "z": _format_zone_name,
    "O": _format_gmt_offset,
    "X": lambda moment, width: _format_iso_offset(moment, width, True),
    "x": lambda moment, width: _format_iso_offset(moment, width, False),
    "Z": _format_rfc_offset,
}
