"""Java's ``SimpleDateFormat`` patterns, for paths with the time of a run in them."""

from __future__ import annotations

import datetime
import re
from collections.abc import Callable
from typing import Final

_TOKEN: Final = re.compile(r"'(?:[^']|'')*'|([A-Za-z])\1*|[^A-Za-z']+")
_NUMBERS: Final[dict[str, Callable[[datetime.datetime], int]]] = {
    "Y": lambda at: at.isocalendar().year,
    "d": lambda at: at.day,
    "D": lambda at: at.timetuple().tm_yday,
    "u": lambda at: at.isoweekday(),
    "w": lambda at: at.isocalendar().week,
    "H": lambda at: at.hour,
    "k": lambda at: at.hour or 24,
    "K": lambda at: at.hour % 12,
    "h": lambda at: at.hour % 12 or 12,
    "m": lambda at: at.minute,
    "s": lambda at: at.second,
    "S": lambda at: at.microsecond // 1000,
}
_IN_UTC: Final = {"G": "AD", "z": "UTC", "Z": "+0000", "X": "Z"}


def formatted(pattern: str, at: datetime.datetime) -> str:
    """A time, in UTC, as a pattern says.

    >>> formatted("yyyy-MM-dd'T'HH", datetime.datetime(2024, 2, 3, 4))
    '2024-02-03T04'

    :raises ValueError: when it is not a pattern; the message says why.
    """
    parts: list[str] = []
    position = 0
    while position < len(pattern):
        token = _TOKEN.match(pattern, position)
        if token is None:
            raise ValueError("a quote is not closed")
        text = token.group()
        letter = token.group(1)
        if letter is not None:
            parts.append(_part(letter, len(text), at))
        elif text.startswith("'"):
            parts.append("'" if text == "''" else text[1:-1].replace("''", "'"))
        else:
            parts.append(text)
        position = token.end()
    return "".join(parts)


def _part(letter: str, width: int, at: datetime.datetime) -> str:
    match letter:
        case "y":
            return f"{at.year % 100:02d}" if width == 2 else str(at.year).zfill(width)
        case "M" | "L" if width < 3:
            return str(at.month).zfill(width)
        case "M" | "L":
            return at.strftime("%b" if width == 3 else "%B")
        case "E":
            return at.strftime("%a" if width < 4 else "%A")
        case "a":
            return "AM" if at.hour < 12 else "PM"
    if letter in _NUMBERS:
        return str(_NUMBERS[letter](at)).zfill(width)
    if letter in _IN_UTC:
        return _IN_UTC[letter]
    raise ValueError(f"'{letter}' is not a pattern letter")
