"""Java's ``DateTimeFormatter.ofPattern`` with English names.

Weeks begin on Sunday and the first one holds January 1st, as in the United States. Eras and week-based years
can be formatted but not parsed.
"""

from __future__ import annotations

import datetime
import functools
from collections.abc import Sequence
from typing import Final

from localcdap.java.dates.date_time_parser import DateTimeParser, PatternPart
from localcdap.java.dates.patterns import (
    FIELD_FORMATS,
    FormatField,
    PatternPiece,
    format_month,
    format_number,
    format_weekday,
    split_offset,
    split_pattern,
)

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
