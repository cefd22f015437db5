"""Java's ``SimpleDateFormat`` for input, with English names: lenient unless asked, as it is by default."""

from __future__ import annotations

import datetime
import functools
import re
from collections.abc import Callable
from typing import Final, NamedTuple

from localcdap.wrangler.java.simple_date import DAYS, MONTHS, time_zone

_PIECE: Final = re.compile(r"'((?:[^']|'')*)'|([A-Za-z])\2*|[^A-Za-z']+|'", re.DOTALL)
_NUMERIC: Final = frozenset("yYuDdHkKhmsSWwF")
_TEXTS: Final = frozenset("GEazZX")
_OFFSET: Final = re.compile(r"(?:GMT)?([+-])(\d{1,2}):?(\d{2})?", re.IGNORECASE)
_NAME: Final = re.compile(r"[A-Za-z_]+(?:/[A-Za-z_+-]+\d*)*")
_SPACE: Final = re.compile(r"[ \t]*")
_SIGNED: Final = re.compile(r"-?\d+", re.ASCII)


class Part(NamedTuple):
    """A part of a pattern: a letter so many times, or a text (letter "")."""

    letter: str
    width: int
    text: str
    adjoins: bool
    """Whether another number follows at once, so that this one has just ``width`` digits."""


def check_simple_date(pattern: str) -> None:
    """:raises ValueError: when the pattern is none."""
    _parts(pattern)


def read_simple_date(
    text: str,
    pattern: str,
    *,
    zone: datetime.tzinfo = datetime.UTC,
    lenient: bool = True,
) -> datetime.datetime:
    """The moment of a text, with a zone: that of the text, else ``zone``.

    Lenient reading carries what is too large (month 13 is January) and leaves out what follows the
    pattern; strict reading takes neither. What the pattern does not have is that of 1970-01-01 00:00.

    :raises ValueError: when the pattern is none, or the text not of it.
    """
    reading = _Reading(text, lenient)
    for part in _parts(pattern):
        reading.take(part)
    if not lenient and reading.at < len(text):
        raise reading.refused()
    return reading.moment(zone)


@functools.lru_cache(maxsize=256)
def _parts(pattern: str) -> tuple[Part, ...]:
    found: list[tuple[str, int, str]] = []
    for piece in _PIECE.finditer(pattern):
        quoted, letter, text = piece.group(1), piece.group(2), piece.group(0)
        if quoted is not None:
            found.append(("", 0, quoted.replace("''", "'") if quoted else "'"))
        elif letter:
            if letter not in _NUMERIC | _TEXTS | {"M", "L"}:
                raise ValueError(f"Illegal pattern character '{letter}'")
            found.append((letter, len(text), ""))
        elif text == "'":
            raise ValueError("Unterminated quote")
        else:
            found.append(("", 0, text))
    numeric = [letter in _NUMERIC or (letter in "ML" and width < 3) for letter, width, _ in found]
    adjoining = [a and b for a, b in zip(numeric, [*numeric[1:], False], strict=True)]
    return tuple(Part(*one, adjoins=adjoins) for one, adjoins in zip(found, adjoining, strict=True))


class _Reading:
    """One text while it is read from the left."""

    def __init__(self, text: str, lenient: bool) -> None:
        self.text = text
        self.at = 0
        self.lenient = lenient
        self.fields: dict[str, int] = {}
        self.zone: datetime.tzinfo | None = None

    def refused(self) -> ValueError:
        return ValueError(f'Unparseable date: "{self.text}"')

    def take(self, part: Part) -> None:
        if not part.letter:
            if not self.text.startswith(part.text, self.at):
                raise self.refused()
            self.at += len(part.text)
            return
        space = _SPACE.match(self.text, self.at)
        assert space is not None
        self.at = space.end()
        if part.letter in "ML":
            self._month(part)
        elif part.letter in _NUMERIC:
            self.fields[part.letter] = self._number(part)
        else:
            _TAKERS[part.letter](self)

    def _number(self, part: Part) -> int:
        if part.adjoins:
            digits = self.text[self.at : self.at + part.width]
            if not digits.isascii() or not digits.isdigit() or len(digits) < part.width:
                raise self.refused()
        else:
            found = _SIGNED.match(self.text, self.at)
            if found is None:
                raise self.refused()
            digits = found.group()
        self.at += len(digits)
        if part.letter in "yY" and part.width <= 2 and len(digits) == 2 and digits.isdigit():
            return _century(int(digits))
        return int(digits)

    def _month(self, part: Part) -> None:
        if part.width < 3:
            self.fields["M"] = self._number(part)
        else:
            self.fields["M"] = self._named(MONTHS) + 1

    def _named(self, names: tuple[str, ...]) -> int:
        """The number of the longest name that the text goes on with, written in full or with 3 letters."""
        rest = self.text[self.at : self.at + 10].lower()
        for shown in (names, tuple(name[:3] for name in names)):
            for at, name in enumerate(shown):
                if rest.startswith(name.lower()):
                    self.at += len(name)
                    return at
        raise self.refused()

    def day_name(self) -> None:
        self._named(DAYS)

    def half(self) -> None:
        self.fields["a"] = self._named(("AM", "PM"))

    def era(self) -> None:
        self.fields["G"] = self._named(("BC", "AD"))

    def offset(self) -> None:
        if self.text[self.at : self.at + 1] == "Z":
            self.at += 1
            self.zone = datetime.UTC
            return
        found = _OFFSET.match(self.text, self.at)
        if found is not None:
            self.at = found.end()
            minutes = int(found[2]) * 60 + int(found[3] or 0)
            if minutes >= 1440:
                raise self.refused()
            shift = datetime.timedelta(minutes=-minutes if found[1] == "-" else minutes)
            self.zone = datetime.timezone(shift)
            return
        name = _NAME.match(self.text, self.at)
        if name is None:
            raise self.refused()
        self.at = name.end()
        try:
            self.zone = time_zone(_summer(name.group()))
        except ValueError:
            raise self.refused() from None

    def moment(self, zone: datetime.tzinfo) -> datetime.datetime:
        fields = self.fields
        if not self.lenient:
            self._check_ranges()
        year = fields.get("y", fields.get("Y", 1970))
        years, month = divmod(fields.get("M", 1) - 1, 12)
        try:
            date = datetime.datetime(year + years, month + 1, 1)
            days = fields["D"] if "D" in fields and "d" not in fields else fields.get("d", 1)
            shift = datetime.timedelta(
                days=days - 1,
                hours=self._hour(),
                minutes=fields.get("m", 0),
                seconds=fields.get("s", 0),
                milliseconds=fields.get("S", 0),
            )
            return (date + shift).replace(tzinfo=self.zone or zone)
        except (ValueError, OverflowError):
            raise self.refused() from None

    def _hour(self) -> int:
        fields = self.fields
        if "H" in fields:
            return fields["H"]
        if "k" in fields:
            return fields["k"] % 24 if fields["k"] == 24 else fields["k"]
        hour = fields["h"] if "h" in fields else fields.get("K", 0)
        if "h" in fields and hour == 12:
            hour = 0
        return hour + 12 * fields.get("a", 0)

    def _check_ranges(self) -> None:
        fields = self.fields
        ranges = {"M": (1, 12), "H": (0, 23), "k": (1, 24), "K": (0, 11), "h": (1, 12)}
        ranges |= {"m": (0, 59), "s": (0, 59), "S": (0, 999), "D": (1, 366)}
        for letter, (low, high) in ranges.items():
            if not low <= fields.get(letter, low) <= high:
                raise self.refused()
        try:
            year = fields.get("y", fields.get("Y", 1970))
            datetime.date(year, fields.get("M", 1), fields.get("d", 1))
        except ValueError:
            raise self.refused() from None


_TAKERS: Final[dict[str, Callable[[_Reading], None]]] = {
    "E": _Reading.day_name,
    "a": _Reading.half,
    "G": _Reading.era,
    "z": _Reading.offset,
    "Z": _Reading.offset,
    "X": _Reading.offset,
}


def _century(year: int) -> int:
    """A year of two digits lies within 80 years before and 20 years after now."""
    this = datetime.datetime.now(datetime.UTC).year
    full = this - this % 100 + year
    if full > this + 20:
        return full - 100
    return full + 100 if full <= this - 80 else full


def _summer(name: str) -> str:
    """Names of summer times are those of their zones."""
    summer = {"PDT": "PST", "MDT": "MST", "CDT": "CST", "EDT": "EST", "CEST": "CET"}
    return summer.get(name.upper(), name)
