"""Texts as dates and times by a format: PARSE_DATE, PARSE_DATETIME, PARSE_TIME and PARSE_TIMESTAMP.

The rules are those of ``ParseTime`` in ``zetasql/public/functions/parse_date_time.cc``, and for the elements
that it leaves to the C library those of ``strptime`` of glibc.
"""

from __future__ import annotations

import datetime
import functools
import re
import zoneinfo
from collections.abc import Callable
from typing import Final

_MONTHS: Final = (
    *("january", "february", "march", "april", "may", "june", "july", "august", "september"),
    *("october", "november", "december"),
)
_DAYS: Final = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
_LACKED: Final = {
    "DATE": "cHIklMPpRrSsTXZz",
    "DATETIME": "Zz",
    "TIME": "AaBbhCcDdeFGgjmQsUuVWwxYyZz",
    "TIMESTAMP": "",
}
"""The letters of elements that a type lacks."""
_SAME_AS: Final = {
    "D": "%m/%d/%y",
    "F": "%Y-%m-%d",
    "R": "%H:%M",
    "T": "%H:%M:%S",
    "X": "%H:%M:%S",
    "c": "%a %b %e %H:%M:%S %Y",
    "r": "%I:%M:%S %p",
    "x": "%m/%d/%y",
}
_DIGITS: Final = frozenset("0123456789")
_SPACES: Final = " \t\n\v\f\r"
_ELEMENT: Final = re.compile(r"%(E(?:\*S|\dS|4Y|[zYyC])|[^E])|%", re.DOTALL)
_NUMBERS: Final = {
    # The most digits, the smallest and the largest number, and whether spaces may stand before it.
    "d": (2, 1, 31, False),
    "e": (2, 1, 31, True),
    "H": (2, 0, 23, False),
    "I": (2, 1, 12, True),
    "J": (3, 1, 371, False),
    "j": (3, 1, 366, True),
    "k": (2, 0, 23, True),
    "l": (2, 1, 12, True),
    "M": (2, 0, 59, False),
    "m": (2, 1, 12, False),
    "Q": (1, 1, 4, False),
    "S": (2, 0, 60, False),
    "U": (2, 0, 53, True),
    "u": (1, 1, 7, True),
    "V": (2, 1, 53, False),
    "W": (2, 0, 53, True),
    "w": (1, 0, 6, True),
    "g": (2, 0, 99, False),
    "G": (20, 0, 99_999, False),
}
_DATED: Final = frozenset("dmjJUWVgG")
"""The elements whose order counts: the last one decides on year, month or day."""
_ZONE_OFFSET: Final = re.compile(r"([+-])(\d{1,2})(?::?(\d{2}))?")
_MOST_OFFSET: Final = datetime.timedelta(hours=14)


class TimeParsingError(ValueError):
    """A text has not the form that a format describes, or is not a date or time."""


def parse_time(format: str, text: str, type: str, zone: str = "UTC") -> datetime.datetime:
    """Return the date and time of a text, without a zone; that of a TIMESTAMP is in UTC.

    >>> parse_time("%Y-%j", "2024-060", "DATE")
    datetime.datetime(2024, 2, 29, 0, 0)

    :param type: ``DATE``, ``DATETIME``, ``TIME`` or ``TIMESTAMP``.
    :param zone: of a text without one.
    :raises TimeParsingError: with the text and the cause.
    """
    reader = _Reader(text, zone)
    try:
        reader.read(_split_format(format, type))
        return reader.build()
    except OverflowError:
        raise TimeParsingError("Invalid result from parsing function") from None


@functools.lru_cache(maxsize=256)
def find_zone(name: str) -> datetime.tzinfo:
    """Return a time zone by its name, or by an offset such as ``+05:30``.

    :raises TimeParsingError: for another text.
    """
    found = _ZONE_OFFSET.fullmatch(name)
    if found is not None and not (found[3] and ":" not in name):
        return _make_offset(found[1], int(found[2]), int(found[3] or 0))
    try:
        return zoneinfo.ZoneInfo(name)
    except (zoneinfo.ZoneInfoNotFoundError, ValueError, OSError):
        raise TimeParsingError(f"Invalid time zone: {name}") from None


def name_zone(name: str) -> str:
    """Return the name that DuckDB has for a time zone.

    >>> name_zone("-3"), name_zone("Europe/Berlin")
    ('GMT-03:00', 'Europe/Berlin')
    """
    found = _ZONE_OFFSET.fullmatch(name)
    return f"GMT{found[1]}{int(found[2]):02}:{found[3] or '00'}" if found else name


def _make_offset(sign: str, hours: int, minutes: int) -> datetime.tzinfo:
    offset = datetime.timedelta(hours=hours, minutes=minutes)
    if offset > _MOST_OFFSET:
        raise TimeParsingError(
            f"Timezone offset out of valid range -14:00 to +14:00: {sign}{hours:02}:{minutes:02}"
        )
    return datetime.timezone(-offset if sign == "-" else offset)


@functools.lru_cache(maxsize=256)
def _split_format(format: str, type: str) -> tuple[str, ...]:
    """Return the elements and the characters of a format; white space is one blank.

    :raises TimeParsingError: for an element that the type lacks.
    """
    parts: list[str] = []
    at = 0
    while at < len(format):
        found = _ELEMENT.match(format, at)
        if found is None:
            parts.append(" " if format[at] in _SPACES else format[at])
            at += 1
            continue
        at = found.end()
        element = found[1]
        if element is None:
            parts.append("%")
        elif element[-1] in _LACKED[type]:
            raise TimeParsingError(
                f"Invalid format: %{element[-1]} is not allowed for the {type} type."
            )
        elif element in _SAME_AS:
            parts += _split_format(_SAME_AS[element], "TIMESTAMP")
        else:
            parts.append(" " if element in "nt" else f"%{element}")
    return tuple(parts)


class _Reader:
    """The text that is read, the place of what is not read yet, and what was found."""

    def __init__(self, text: str, zone: str) -> None:
        self._text: Final = text
        self._at = 0
        self._values: dict[str, int] = {}
        """The last number of each kind of element."""
        self._order: dict[str, int] = {}
        """The place of the last element that sets a part."""
        self._year = 1970
        self._century: int | None = None
        self._is_explicit = False
        self._is_afternoon = False
        self._micros = 0
        self._zone = find_zone(zone)

    def read(self, parts: tuple[str, ...]) -> None:
        """Read the whole text.

        :raises TimeParsingError: for the first part that the text lacks.
        """
        self._skip_spaces()
        at = 0
        while self._at < len(self._text) and at < len(parts):
            part = parts[at]
            at += 1
            if part == " ":
                self._skip_spaces()
            elif len(part) > 1:
                is_followed = at < len(parts) and parts[at].startswith("%")
                self._read_element(part[1:], at, is_followed=is_followed)
            elif part == "%":
                raise TimeParsingError("Format string cannot end with a single '%'")
            elif self._text[self._at] == part:
                self._at += 1
            else:
                raise self._fail()
        self._skip_spaces()
        if self._at < len(self._text) or any(part != " " for part in parts[at:]):
            raise self._fail()

    def _fail(self) -> TimeParsingError:
        return TimeParsingError(f'Failed to parse input string "{self._text}"')

    def _skip_spaces(self) -> None:
        while self._at < len(self._text) and self._text[self._at] in _SPACES:
            self._at += 1

    def _read_number(self, most: int, low: int, high: int, *, skips: bool = False) -> int:
        if skips:
            self._skip_spaces()
        end = start = self._at
        text, most_end = self._text, self._at + most
        if text.startswith("-", start) and most > 1:  # the sign takes the place of a digit
            end += 1
        while end < most_end and text[end : end + 1] in _DIGITS:
            end += 1
        if not text[start:end].strip("-"):
            raise self._fail()
        number = int(text[start:end])
        if not low <= number <= high or (not number and text[start] == "-"):
            raise self._fail()
        self._at = end
        return number

    def _read_element(self, element: str, order: int, *, is_followed: bool) -> None:
        if element in ("Y", "EY", "E4Y"):
            self._read_year(order, digits=4 if is_followed or element == "E4Y" else 5)
            if element == "E4Y" and not self._text[self._at - 4 : self._at].isdigit():
                raise self._fail()
        elif element in ("C", "EC"):
            self._read_century(order, digits=2 if is_followed else 3)
        elif element in _NUMBERS:
            most, low, high, skips = _NUMBERS[element]
            self._set(element, self._read_number(most, low, high, skips=skips), order)
        elif element[0] == "E" and element[-1] == "S":
            self._read_seconds(element)
        else:
            reader = _READERS.get(element)
            if reader is None:
                raise TimeParsingError(f"Invalid format: %{element} is not read.")
            reader(self, order)

    def _read_percent(self, _: int) -> None:
        if self._text[self._at] != "%":
            raise self._fail()
        self._at += 1

    def _read_century(self, order: int, *, digits: int) -> None:
        if self._century is None:
            self._year = 0
        self._century = self._read_number(digits, 0, 100 if digits == 3 else 99)
        self._is_explicit = True
        self._order["Y"] = order

    def _read_short_year(self, order: int) -> None:
        self._year = self._read_number(2, 0, 99)
        if not self._is_explicit or self._century is None:
            self._century = 20 if self._year < 69 else 19
        self._order["Y"] = order

    def _read_year(self, order: int, *, digits: int) -> None:
        self._year = self._read_number(digits, 0, 10_000 if digits == 5 else 9999)
        self._century = None
        self._is_explicit = False
        self._order["Y"] = order

    def _set(self, element: str, number: int, order: int) -> None:
        """Keep a number, and for parts of the date the place of its element."""
        kept = {"e": "d", "k": "H", "l": "I"}.get(element, element)
        if kept == "Q":
            self._values |= {"m": number * 3 - 2, "d": 1}
            self._order |= {"m": order, "d": order}
            return
        self._values[kept] = number
        if kept in ("H", "I"):
            self._values.pop("I" if kept == "H" else "H", None)
        if kept in _DATED:
            self._order[kept] = order

    def _read_seconds(self, element: str) -> None:
        """Read seconds with a fraction of any or at most so many digits; more than six are cut off."""
        self._set("S", self._read_number(*_NUMBERS["S"][:3]), 0)
        most = "" if element[1] == "*" else element[1]
        if most == "0" or self._text[self._at : self._at + 1] != ".":
            return
        found = re.compile(rf"\.([0-9]{{1,{most}}})").match(self._text, self._at)
        if found is None:
            raise self._fail()
        self._at = found.end()
        self._micros = int(found[1][:6].ljust(6, "0"))

    def _read_name(self, names: tuple[str, ...]) -> int:
        """Return the number, from 0, of a name that is written in full or by three letters, in any case."""
        rest = self._text[self._at : self._at + 9].lower()
        for number, name in enumerate(names):
            for shown in (name, name[:3]):
                if rest.startswith(shown):
                    self._at += len(shown)
                    return number
        raise self._fail()

    def _read_month(self, order: int) -> None:
        self._set("m", self._read_name(_MONTHS) + 1, order)

    def _read_weekday(self, order: int) -> None:
        self._set("u", self._read_name(_DAYS) + 1, order)

    def _read_half(self, _: int) -> None:
        half = self._text[self._at : self._at + 2].lower()
        if half not in ("am", "pm"):
            raise self._fail()
        self._is_afternoon = half == "pm"
        self._at += 2

    def _read_epoch(self, _: int) -> None:
        self._values["s"] = self._read_number(12, -62_135_596_800, 253_402_300_799)

    def _read_zone(self, _: int) -> None:
        found = re.compile(r"\S+").match(self._text, self._at)
        if found is None:
            raise self._fail()
        self._zone = find_zone(found[0])
        self._at = found.end()

    def _read_offset(self, separator: str) -> None:
        found = re.compile(rf"([+-])(\d\d)(?:{separator}(\d\d))?").match(self._text, self._at)
        if found is None or int(found[2]) > 23 or int(found[3] or 0) > 59:
            raise self._fail()
        self._zone = _make_offset(found[1], int(found[2]), int(found[3] or 0))
        self._at = found.end()

    def _read_long_offset(self, _: int) -> None:
        if self._text[self._at] == "Z":
            self._zone = datetime.UTC
            self._at += 1
        else:
            self._read_offset(":?")

    def build(self) -> datetime.datetime:
        """Return what was read.

        :raises TimeParsingError: for a date that does not exist.
        :raises OverflowError: for one outside the years 1 to 9999.
        """
        if "s" in self._values:
            epoch = datetime.datetime(1970, 1, 1)
            return epoch + datetime.timedelta(seconds=self._values["s"])
        if self._century is not None:
            self._year += self._century * 100
        hour = self._values.get("H", 0)
        if "I" in self._values:
            hour = self._values["I"] % 12 + 12 * self._is_afternoon
        second = self._values.get("S", 0)
        year, month, day = self._find_day()
        try:
            clock = datetime.time(hour, self._values.get("M", 0), min(second, 59))
            found = datetime.datetime.combine(datetime.date(year, month, day), clock)
        except ValueError:
            if not 1 <= year <= 9999:
                raise OverflowError from None
            raise TimeParsingError(
                f"Out-of-range datetime field in parsing function; year: {year}, month: {month}, "
                f"day: {day}"
            ) from None
        if second == 60:
            found += datetime.timedelta(seconds=1)
        else:
            found = found.replace(microsecond=self._micros)
        offset = self._zone.utcoffset(found.replace(tzinfo=self._zone))
        return found - (offset or datetime.timedelta())

    def _find_day(self) -> tuple[int, int, int]:
        """Return year, month and day; a day or week of the year sets what no element after it sets."""
        year, month, day = self._year, self._values.get("m", 1), self._values.get("d", 1)
        week = max(("U", "W"), key=lambda each: self._order.get(each, -1))
        has_week = week in self._values
        kept = {"Y", "m", "d", "j", "U", "W"} & set(self._order)
        if not kept and (self._order.keys() & {"g", "G"}):
            return self._find_iso_day()
        is_yearly = "j" in self._values and not (
            has_week and self._order[week] > self._order["j"] and "u" in self._values
        )
        if not (is_yearly or has_week):
            return year, month, day
        if not 1 <= year <= 9999:
            raise OverflowError
        if is_yearly:
            element, found = "j", datetime.date(year, 1, 1)
            found += datetime.timedelta(days=self._values["j"] - 1)
            if found.year != year:
                raise TimeParsingError(
                    f"Year {year} has 365 days, but the specified day of year was 366"
                )
        else:
            element, found = week, self._find_week(year, week)
        order = self._order[element]
        year = found.year if self._order.get("Y", -1) < order else year
        month = found.month if self._order.get("m", -1) < order else month
        return year, month, found.day if self._order.get("d", -1) < order else day

    def _find_week(self, year: int, element: str) -> datetime.date:
        """Return the first day of a week."""
        if "u" in self._values or "w" in self._values:
            raise TimeParsingError("Weekday parse elements are not supported yet")
        number, start = self._values[element], 6 if element == "U" else 0
        first = datetime.date(year, 1, 1)
        first += datetime.timedelta(days=(start - first.weekday()) % 7)
        last = (datetime.date(year, 12, 31) - first).days // 7 + 1
        if not (1 if first.day == 1 else 0) <= number <= last:
            raise TimeParsingError(f"Week number {number} is invalid for year {year}")
        return first + datetime.timedelta(days=7 * (number - 1))

    def _find_iso_day(self) -> tuple[int, int, int]:
        """Return the first day of an ISO year, or its day by ``%J``."""
        element = max(("g", "G"), key=lambda each: self._order.get(each, -1))
        year = self._values[element]
        if element == "g":
            year += 2000 if year <= 68 else 1900
        if "V" in self._values and self._order["V"] > self._order.get("J", -1):
            raise TimeParsingError("ISO parse elements are not supported yet")
        if not 1 <= year <= 9999:
            raise OverflowError
        found = datetime.date.fromisocalendar(year, 1, 1)
        found += datetime.timedelta(days=self._values.get("J", 1) - 1)
        if found.isocalendar().year != year:
            raise TimeParsingError(
                f"ISO Year {year} has 364 days, but the specified day of year was {self._values['J']}"
            )
        return found.year, found.month, found.day


_READERS: Final[dict[str, Callable[[_Reader, int], None]]] = {
    "%": _Reader._read_percent,
    "y": _Reader._read_short_year,
    "Ey": _Reader._read_short_year,
    "A": _Reader._read_weekday,
    "a": _Reader._read_weekday,
    "B": _Reader._read_month,
    "b": _Reader._read_month,
    "h": _Reader._read_month,
    "P": _Reader._read_half,
    "p": _Reader._read_half,
    "s": _Reader._read_epoch,
    "Z": _Reader._read_zone,
    "z": lambda reader, _: reader._read_offset(""),
    "Ez": _Reader._read_long_offset,
}
