"""Texts read in patterns of ``SimpleDateFormat``."""

from __future__ import annotations

import datetime
import re
from typing import Final

from localcdap.java.dates.names import DAYS, MONTHS
from localcdap.java.simple_date.moment import moment_of
from localcdap.java.simple_date.pattern import Item, is_number, items
from localcdap.java.simple_date.zone_names import offset_at

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
    return moment_of(reader.found, zone, lenient)


class _Reader:
    """A place in a text, and what stood before it."""

    def __init__(self, text: str, pattern: str) -> None:
        self.text: Final = text
        self.pattern: Final = pattern
        self.at = 0
        self.found: dict[str, int] = {}

    def read(self, item: Item, index: int) -> None:
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
        found = offset_at(self.text, self.at, letter, width)
        if found is None:
            raise self._wrong()
        seconds, self.at = found
        return seconds


def full_year(short: int) -> int:
    """The year of two digits that is at most 80 years ago or 20 years ahead."""
    oldest = datetime.datetime.now(datetime.UTC).year - 80
    return oldest + (short - oldest) % 100
