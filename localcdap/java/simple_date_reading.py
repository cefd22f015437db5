"""Java's ``SimpleDateFormat`` for input, with English names, in the Gregorian calendar of all times."""

from __future__ import annotations

import datetime
import functools
import re
from typing import Final

from localcdap.java.date_names import DAYS, MONTHS

_PIECE: Final = re.compile(r"'((?:[^']|'')*)'|([A-Za-z])\2*|.", re.DOTALL)
_LETTERS: Final = "GyYMLwWDdFEuaHkKhmsSzZX"
_NUMBERS: Final = "yYwWDdFuHkKhmsS"
"""Letters that stand for a number, beside M and L where they stand at most twice."""

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
"""Minutes east of Greenwich by the names of zones, the longer ones of a start first to be tried."""
_ZONES: Final = sorted(_OFFSETS, key=len, reverse=True)
_GMT: Final = re.compile(r"GMT([+-])(\d{1,2}):(\d\d)", re.IGNORECASE)
_RFC: Final = re.compile(r"([+-])(\d\d)(\d\d)")
_ISO: Final = {
    1: re.compile(r"([+-])(\d\d)"),
    2: re.compile(r"([+-])(\d\d)(\d\d)"),
    3: re.compile(r"([+-])(\d\d):(\d\d)"),
}
_LIMITS: Final = {
    "M": (1, 12),
    "d": (1, 31),
    "D": (1, 366),
    "H": (0, 23),
    "k": (1, 24),
    "K": (0, 11),
    "h": (1, 12),
    "m": (0, 59),
    "s": (0, 59),
    "S": (0, 999),
}

GREATEST: Final = {
    "y": 10**6,
    "M": 10**6,
    "d": 10**7,
    "H": 10**9,
    "m": 10**11,
    "s": 10**12,
    "S": 10**15,
}
"""The greatest numbers that are read, far beyond the years 1 to 9999."""

_Item = str | tuple[str, int]


def read_simple_date(
    text: str,
    pattern: str,
    *,
    zone: datetime.tzinfo = datetime.UTC,
    lenient: bool = True,
    whole: bool = False,
) -> datetime.datetime:
    """The moment of a text. What stands behind the pattern's end does not count, unless ``whole``.

    :param zone: of texts that name none.
    :param lenient: whether a 13th month is the next year's first, and so on.
    :raises ValueError: when the text is not in the pattern, or the pattern is none.
    """
    reader = _Reader(text, pattern)
    for index, item in enumerate(items(pattern)):
        reader.read(item, index)
    if whole:
        reader.end()
    return _moment(reader.found, zone, lenient)


def check_simple_date(pattern: str) -> None:
    """:raises ValueError: when the pattern is none."""
    items(pattern)


@functools.lru_cache(maxsize=256)
def items(pattern: str) -> tuple[_Item, ...]:
    """What a pattern holds: single characters, letters with their number.

    :raises ValueError: when it is none.
    """
    items: list[_Item] = []
    for piece in _PIECE.finditer(pattern):
        quoted, letter, text = piece[1], piece[2], piece[0]
        if quoted is not None:
            items += quoted.replace("''", "'") or "'"
        elif letter:
            if letter not in _LETTERS:
                raise ValueError(f"Illegal pattern character '{letter}'")
            if letter == "X" and len(text) > 3:
                raise ValueError(f"invalid ISO 8601 format: length={len(text)}")
            items.append(("M" if letter == "L" else letter, len(text)))
        elif text == "'":
            raise ValueError("Unterminated quote")
        else:
            items.append(text)
    return tuple(items)


def is_number(item: _Item) -> bool:
    """Whether a part of a pattern stands for a number."""
    return not isinstance(item, str) and (item[0] in _NUMBERS or (item[0] == "M" and item[1] < 3))


class _Reader:
    """A place in a text, and what stood before it."""

    def __init__(self, text: str, pattern: str) -> None:
        self.text: Final = text
        self.pattern: Final = pattern
        self.at = 0
        self.found: dict[str, int] = {}

    def read(self, item: _Item, index: int) -> None:
        if isinstance(item, str):
            if not self.text.startswith(item, self.at):
                raise self._wrong()
            self.at += 1
            return
        while self.text[self.at : self.at + 1] in (" ", "\t"):
            self.at += 1
        letter, width = item
        if is_number(item):
            self._number(letter, width, index)
        elif letter == "M":
            self.found["M"] = 1 + self._name(MONTHS)
        elif letter == "E":
            self.found["E"] = self._name(DAYS)
        elif letter == "a":
            self.found["a"] = self._one_of(("AM", "PM"))
        elif letter == "G":
            self.found["G"] = self._one_of(("BC", "AD"))
        else:
            self.found["z"] = self._offset(letter, width)

    def end(self) -> None:
        """:raises ValueError: when something of the text is left."""
        if self.at < len(self.text):
            raise self._wrong()

    def _wrong(self) -> ValueError:
        return ValueError(f"'{self.text}' is not in the pattern '{self.pattern}'")

    def _number(self, letter: str, width: int, index: int) -> None:
        following = items(self.pattern)[index + 1 : index + 2]
        if following and is_number(following[0]):
            match = re.compile(rf"[0-9]{{1,{width}}}").match(self.text, self.at)
            if len(self.text) < self.at + width:
                raise self._wrong()
        else:
            match = re.compile(r"-?[0-9]{1,18}").match(self.text, self.at)
        if match is None:
            raise self._wrong()
        self.at = match.end()
        value = int(match[0])
        if abs(value) > GREATEST.get(letter, 10**6):
            raise self._wrong()
        if letter == "y" and width <= 2 and re.fullmatch(r"\d\d", match[0]):
            value = full_year(value)
        self.found[letter] = value

    def _name(self, names: tuple[str, ...]) -> int:
        rest = self.text[self.at :].lower()
        for shown in (names, tuple(name[:3] for name in names)):
            for index, name in enumerate(shown):
                if rest.startswith(name.lower()):
                    self.at += len(name)
                    return index
        raise self._wrong()

    def _one_of(self, names: tuple[str, ...]) -> int:
        rest = self.text[self.at : self.at + 2].upper()
        if rest not in names:
            raise self._wrong()
        self.at += 2
        return names.index(rest)

    def _offset(self, letter: str, width: int) -> int:
        """Seconds east of Greenwich."""
        if letter == "X":
            if self.text.startswith("Z", self.at):
                self.at += 1
                return 0
            return self._hours(_ISO[width])
        if self.text[self.at : self.at + 1] in ("+", "-"):
            return self._hours(_RFC)
        if _GMT.match(self.text, self.at):
            return self._hours(_GMT)
        rest = self.text[self.at :].lower()
        for name in _ZONES:
            if rest.startswith(name.lower()):
                self.at += len(name)
                return _OFFSETS[name] * 60
        raise self._wrong()

    def _hours(self, regex: re.Pattern[str]) -> int:
        match = regex.match(self.text, self.at)
        if match is None:
            raise self._wrong()
        sign, hours, *minutes = match.groups()
        if int(hours) > 23 or (minutes and int(minutes[0]) > 59):
            raise self._wrong()
        self.at = match.end()
        seconds = int(hours) * 3600 + (int(minutes[0]) * 60 if minutes else 0)
        return -seconds if sign == "-" else seconds


def full_year(short: int) -> int:
    """The year of two digits that is at most 80 years ago or 20 years ahead."""
    oldest = datetime.datetime.now(datetime.UTC).year - 80
    return oldest + (short - oldest) % 100


def _moment(found: dict[str, int], zone: datetime.tzinfo, lenient: bool) -> datetime.datetime:
    if not lenient:
        _check(found)
    day = _day(found)
    if not lenient and "E" in found and day.weekday() != found["E"]:
        raise ValueError(f"{day} is no {DAYS[found['E']]}")
    if "H" in found or "k" in found:
        hour = found.get("H", found.get("k", 0) % 24 if found.get("k") == 24 else found.get("k", 0))
    else:
        hour = found.get("K", 0 if found.get("h") == 12 else found.get("h", 0)) + 12 * found.get(
            "a", 0
        )
    try:
        local = datetime.datetime.combine(day, datetime.time()) + datetime.timedelta(
            hours=hour,
            minutes=found.get("m", 0),
            seconds=found.get("s", 0),
            milliseconds=found.get("S", 0),
        )
        if "z" in found:
            return (local - datetime.timedelta(seconds=found["z"])).replace(tzinfo=datetime.UTC)
    except OverflowError:
        raise ValueError("the date is out of the years 1 to 9999") from None
    return local.replace(tzinfo=zone)


def _check(found: dict[str, int]) -> None:
    for letter, (low, high) in _LIMITS.items():
        if letter in found and not low <= found[letter] <= high:
            raise ValueError(f"{found[letter]} is no value for '{letter}'")
    if "M" in found and "d" in found:
        datetime.date(found.get("y", 1970), found["M"], found["d"])


def _day(found: dict[str, int]) -> datetime.date:
    year = found.get("y", 1970)
    if found.get("G") == 0:
        raise ValueError("the date is out of the years 1 to 9999")
    try:
        if "Y" in found and "y" not in found:
            return _day_of_week_year(found)
        if "D" in found and "M" not in found and "d" not in found:
            return datetime.date(year, 1, 1) + datetime.timedelta(days=found["D"] - 1)
        months = found.get("M", 1) - 1
        first = datetime.date(year + months // 12, months % 12 + 1, 1)
        return first + datetime.timedelta(days=found.get("d", 1) - 1)
    except (OverflowError, ValueError):
        raise ValueError("the date is out of the years 1 to 9999") from None


def _day_of_week_year(found: dict[str, int]) -> datetime.date:
    """A week-based year leaves months and days out of account: without a week, its first day is meant."""
    first = datetime.date(found["Y"], 1, 1)
    sunday = first - datetime.timedelta(days=first.isoweekday() % 7)
    weeks = found.get("w", 1) - 1
    day = found.get("u", found["E"] + 1 if "E" in found else 7) % 7
    return sunday + datetime.timedelta(weeks=weeks, days=day)
