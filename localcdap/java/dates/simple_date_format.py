"""Java's ``SimpleDateFormat`` with English names, in the Gregorian calendar of all times."""

from __future__ import annotations

import datetime
import functools
import re
from typing import Final

from localcdap.java.dates.zones import (
    DAYS,
    FIELD_FORMATS,
    LIMITS,
    MONTHS,
    FormatField,
    PatternPiece,
    find_first_sunday,
    format_month,
    format_number,
    format_weekday,
    parse_offset,
    split_offset,
    split_pattern,
)

MAX_VALUES: Final = {
    "y": 10**6,
    "M": 10**6,
    "d": 10**7,
    "H": 10**9,
    "m": 10**11,
    "s": 10**12,
    "S": 10**15,
}
"""The highest numbers that are parsed, far beyond the years 1 to 9999; 10**6 for other letters."""

PatternItem = str | tuple[str, int]
"""One literal character, or a letter and how often it is repeated; ``M`` stands for ``L`` too."""

_LETTERS: Final = "GyYMLwWDdFEuaHkKhmsSzZX"
_NUMBERS: Final = "yYwWDdFuHkKhmsS"
"""The letters that are always numbers; ``M`` is one when repeated at most twice."""
_STRICT_LIMITS: Final = {**LIMITS, "H": (0, 23), "S": (0, 999)}
_OUT_OF_YEARS: Final = "the date is out of the years 1 to 9999"


def check_simple_date(pattern: str) -> None:
    """Check a pattern.

    :raises ValueError: when it is invalid.
    """
    parse_pattern(pattern)


def format_simple_date(moment: datetime.datetime, pattern: str) -> str:
    """Format a moment with a pattern.

    :raises ValueError: for a letter that cannot be formatted, or a quote that is not closed.
    """
    out: list[str] = []
    for item in parse_pattern(pattern):
        if isinstance(item, str):
            out.append(item)
            continue
        letter, width = item
        format_field = _FORMATS.get(letter)
        if format_field is None:
            raise ValueError(f"Illegal pattern character '{letter}'")
        out.append(format_field(moment, width))
    return "".join(out)


def parse_simple_date(
    text: str,
    pattern: str,
    *,
    zone: datetime.tzinfo = datetime.UTC,
    lenient: bool = True,
    whole: bool = False,
) -> datetime.datetime:
    """Parse a moment.

    :param zone: the zone of a text that names none.
    :param lenient: whether values may be out of range: the 13th month is the first of the next year.
    :param whole: whether the pattern must match the whole text; else text after the match is ignored.
    :raises ValueError: when the text does not match the pattern, or the pattern is invalid.
    """
    parser = _DateParser(text, pattern)
    for index, item in enumerate(parse_pattern(pattern)):
        parser.parse(item, index)
    if whole:
        parser.require_end()
    return _build_moment(parser.fields, zone, lenient)


@functools.lru_cache(maxsize=256)
def parse_pattern(pattern: str) -> tuple[PatternItem, ...]:
    """Return the items of a pattern.

    :raises ValueError: when it is invalid.
    """
    found: list[PatternItem] = []
    for piece in split_pattern(pattern):
        if piece.letter:
            found.append(_check_field(piece.letter, len(piece.text)))
        elif piece == PatternPiece("'"):
            raise ValueError("Unterminated quote")
        else:
            found += piece.text
    return tuple(found)


def _check_field(letter: str, width: int) -> tuple[str, int]:
    if letter not in _LETTERS:
        raise ValueError(f"Illegal pattern character '{letter}'")
    if letter == "X" and width > 3:
        raise ValueError(f"invalid ISO 8601 format: length={width}")
    return "M" if letter == "L" else letter, width


def is_number(item: PatternItem) -> bool:
    """Return whether an item of a pattern is a number."""
    return not isinstance(item, str) and (item[0] in _NUMBERS or (item[0] == "M" and item[1] < 3))


def expand_year(short: int) -> int:
    """Return the year of two digits that is at most 80 years ago or 20 years ahead."""
    oldest = datetime.datetime.now(datetime.UTC).year - 80
    return oldest + (short - oldest) % 100


class _DateParser:
    """Parses a text item by item."""

    def __init__(self, text: str, pattern: str) -> None:
        self.text: Final = text
        self.pattern: Final = pattern
        self.at = 0
        """The offset up to which the text is parsed."""
        self.fields: dict[str, int] = {}
        """Values by letter; ``z`` is the offset from Greenwich in seconds."""

    def parse(self, item: PatternItem, index: int) -> None:
        if isinstance(item, str):
            if not self.text.startswith(item, self.at):
                raise self._build_error()
            self.at += 1
            return
        while self.text[self.at : self.at + 1] in (" ", "\t"):
            self.at += 1
        letter, width = item
        if is_number(item):
            self._parse_number(letter, width, index)
        elif letter == "M":
            self.fields["M"] = 1 + self._parse_name(MONTHS)
        elif letter == "E":
            self.fields["E"] = self._parse_name(DAYS)
        elif letter == "a":
            self.fields["a"] = self._parse_choice(("AM", "PM"))
        elif letter == "G":
            self.fields["G"] = self._parse_choice(("BC", "AD"))
        else:
            self.fields["z"] = self._parse_offset(letter, width)

    def require_end(self) -> None:
        """Check that the whole text is parsed.

        :raises ValueError: when it is not.
        """
        if self.at < len(self.text):
            raise self._build_error()

    def _build_error(self) -> ValueError:
        return ValueError(f"'{self.text}' is not in the pattern '{self.pattern}'")

    def _parse_number(self, letter: str, width: int, index: int) -> None:
        following = parse_pattern(self.pattern)[index + 1 : index + 2]
        if following and is_number(following[0]):
            match = re.compile(rf"[0-9]{{1,{width}}}").match(self.text, self.at)
            if len(self.text) < self.at + width:
                raise self._build_error()
        else:
            match = re.compile(r"-?[0-9]{1,18}").match(self.text, self.at)
        if match is None:
            raise self._build_error()
        self.at = match.end()
        value = int(match[0])
        if abs(value) > MAX_VALUES.get(letter, 10**6):
            raise self._build_error()
        if letter == "y" and width <= 2 and re.fullmatch(r"\d\d", match[0]):
            value = expand_year(value)
        self.fields[letter] = value

    def _parse_name(self, names: tuple[str, ...]) -> int:
        rest = self.text[self.at :].lower()
        for candidates in (names, tuple(name[:3] for name in names)):
            for index, name in enumerate(candidates):
                if rest.startswith(name.lower()):
                    self.at += len(name)
                    return index
        raise self._build_error()

    def _parse_choice(self, names: tuple[str, ...]) -> int:
        rest = self.text[self.at : self.at + 2].upper()
        if rest not in names:
            raise self._build_error()
        self.at += 2
        return names.index(rest)

    def _parse_offset(self, letter: str, width: int) -> int:
        found = parse_offset(self.text, self.at, letter, width)
        if found is None:
            raise self._build_error()
        seconds, self.at = found
        return seconds


def _build_moment(
    fields: dict[str, int], zone: datetime.tzinfo, lenient: bool
) -> datetime.datetime:
    """Return the moment of parsed fields.

    :raises ValueError: when there is none in the years 1 to 9999.
    """
    if not lenient:
        _check_limits(fields)
    day = _find_day(fields)
    if not lenient and "E" in fields and day.weekday() != fields["E"]:
        raise ValueError(f"{day} is not a {DAYS[fields['E']]}")
    try:
        local = datetime.datetime.combine(day, datetime.time()) + datetime.timedelta(
            hours=_find_hour(fields),
            minutes=fields.get("m", 0),
            seconds=fields.get("s", 0),
            milliseconds=fields.get("S", 0),
        )
        if "z" in fields:
            return (local - datetime.timedelta(seconds=fields["z"])).replace(tzinfo=datetime.UTC)
    except OverflowError:
        raise ValueError(_OUT_OF_YEARS) from None
    return local.replace(tzinfo=zone)


def _check_limits(fields: dict[str, int]) -> None:
    for letter, (low, high) in _STRICT_LIMITS.items():
        if letter in fields and not low <= fields[letter] <= high:
            raise ValueError(f"{fields[letter]} is not a value for '{letter}'")
    if "M" in fields and "d" in fields:
        datetime.date(fields.get("y", 1970), fields["M"], fields["d"])


def _find_hour(fields: dict[str, int]) -> int:
    if "H" in fields:
        return fields["H"]
    if "k" in fields:
        return 0 if fields["k"] == 24 else fields["k"]
    hour = fields.get("K", 0 if fields.get("h") == 12 else fields.get("h", 0))
    return hour + 12 * fields.get("a", 0)


def _find_day(fields: dict[str, int]) -> datetime.date:
    year = fields.get("y", 1970)
    if fields.get("G") == 0:
        raise ValueError(_OUT_OF_YEARS)
    try:
        if "Y" in fields and "y" not in fields:
            return _find_day_of_week_year(fields)
        if "D" in fields and "M" not in fields and "d" not in fields:
            return datetime.date(year, 1, 1) + datetime.timedelta(days=fields["D"] - 1)
        months = fields.get("M", 1) - 1
        first = datetime.date(year + months // 12, months % 12 + 1, 1)
        return first + datetime.timedelta(days=fields.get("d", 1) - 1)
    except (OverflowError, ValueError):
        raise ValueError(_OUT_OF_YEARS) from None


def _find_day_of_week_year(fields: dict[str, int]) -> datetime.date:
    """Return the day of a week-based year, which ignores months and days; week 1 where none is given."""
    weeks = fields.get("w", 1) - 1
    day = fields.get("u", fields["E"] + 1 if "E" in fields else 7) % 7
    return find_first_sunday(fields["Y"]) + datetime.timedelta(weeks=weeks, days=day)


def _format_offset(moment: datetime.datetime, colon: str = "") -> str:
    sign, hours, minutes = split_offset(moment.utcoffset() or datetime.timedelta())
    return f"{sign}{hours:02}{colon}{minutes:02}"


def _format_iso_offset(moment: datetime.datetime, width: int) -> str:
    if not moment.utcoffset():
        return "Z"
    text = _format_offset(moment, ":" if width == 3 else "")
    return text[:3] if width == 1 else text


_FORMATS: Final[dict[str, FormatField]] = {
    **FIELD_FORMATS,
    "G": lambda *_: "AD",
    "M": lambda moment, width: format_month(moment, min(width, 4)),
    "E": lambda moment, width: format_weekday(moment, min(width, 4)),
    "u": format_number(lambda moment: moment.isoweekday()),
    "S": format_number(lambda moment: moment.microsecond // 1000),
    "z": lambda moment, _: moment.tzname() or "",
    "Z": lambda moment, _: _format_offset(moment),
    "X": _format_iso_offset,
}
"""The letters that can be formatted: those that pipelines use."""
