"""Java's ``SimpleDateFormat`` patterns, for paths with the time of a run in them."""

from __future__ import annotations

import datetime
import re
from collections.abc import Callable
from typing import Final

_TOKEN: Final = re.compile(r"'(?:[^']|'')*'|([A-Za-z])\1*|[^A-Za-z']+")
_Part = Callable[[datetime.datetime, int], str]


def _month(at: datetime.datetime, width: int) -> str:
    if width < 3:
        return str(at.month).zfill(width)
    return at.strftime("%b" if width == 3 else "%B")


_PARTS: Final[dict[str, _Part]] = {
    "y": lambda at, width: f"{at.year % 100:02d}" if width == 2 else str(at.year).zfill(width),
    "Y": lambda at, width: str(at.isocalendar().year).zfill(width),
    "M": _month,
    "L": _month,
    "d": lambda at, width: str(at.day).zfill(width),
    "D": lambda at, width: str(at.timetuple().tm_yday).zfill(width),
    "E": lambda at, width: at.strftime("%a" if width < 4 else "%A"),
    "u": lambda at, width: str(at.isoweekday()).zfill(width),
    "w": lambda at, width: str(at.isocalendar().week).zfill(width),
    "a": lambda at, width: "AM" if at.hour < 12 else "PM",
    "H": lambda at, width: str(at.hour).zfill(width),
    "k": lambda at, width: str(at.hour or 24).zfill(width),
    "K": lambda at, width: str(at.hour % 12).zfill(width),
    "h": lambda at, width: str(at.hour % 12 or 12).zfill(width),
    "m": lambda at, width: str(at.minute).zfill(width),
    "s": lambda at, width: str(at.second).zfill(width),
    "S": lambda at, width: str(at.microsecond // 1000).zfill(width),
    "G": lambda at, width: "AD",
    "z": lambda at, width: "UTC",
    "Z": lambda at, width: "+0000",
    "X": lambda at, width: "Z",
}


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
            if letter not in _PARTS:
                raise ValueError(f"'{letter}' is not a pattern letter")
            parts.append(_PARTS[letter](at, len(text)))
        elif text.startswith("'"):
            parts.append("'" if text == "''" else text[1:-1].replace("''", "'"))
        else:
            parts.append(text)
        position = token.end()
    return "".join(parts)
