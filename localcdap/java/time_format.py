"""Java's ``DateTimeFormatter.ofPattern`` with English names: dates and times written and read by a pattern.

Weeks begin on Sunday and the first one holds January 1st, as in the United States. Pattern letters for
eras and week-based years can be written but not read.
"""

from __future__ import annotations

import datetime
import functools
import re
from typing import Final

from localcdap.java.date_reading import Reader
from localcdap.java.date_writing import NoFieldError, Part, written

_PIECE: Final = re.compile(r"'((?:[^']|'')*)'|([A-Za-z])\2*|[\[\]]|.", re.DOTALL)
_MOST: Final = {
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
"""The most letters of a kind in a row."""


class PatternError(ValueError):
    """A text is no pattern of dates; the message says why."""


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
            return written(self._parts, moment)
        except NoFieldError as error:
            raise ValueError(f"'{self.pattern}' shows {error}, which there is none of") from None

    def read(self, text: str) -> datetime.datetime:
        """The date and time of a text, without its zone.

        :raises ValueError: when the text is not in the pattern, or holds no whole date and hour.
        """
        moment = self._reader.read(text)
        if moment is None:
            raise ValueError(f"'{text}' is not in the pattern '{self.pattern}'")
        return moment

    @functools.cached_property
    def _reader(self) -> Reader:
        return Reader(self._parts)


@functools.lru_cache(maxsize=256)
def time_format(pattern: str) -> TimeFormat:
    """The format of a pattern, see :class:`TimeFormat`."""
    return TimeFormat(pattern)


def _parsed(pattern: str) -> list[Part]:
    stack: list[list[Part]] = [[]]
    for piece in _PIECE.finditer(pattern):
        quoted, letter, text = piece[1], piece[2], piece[0]
        if quoted is not None:
            stack[-1].append(quoted.replace("''", "'") or "'")
        elif letter:
            stack[-1].append(_field(letter, len(text)))
        elif text == "[":
            optional: list[Part] = []
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
