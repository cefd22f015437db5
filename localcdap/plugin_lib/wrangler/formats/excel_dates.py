"""Dates and times as Excel shows them by the format of a cell (``m/d/yy h:mm``)."""

from __future__ import annotations

import datetime
import re
from typing import Final

from localcdap.java.dates.names import DAYS, MONTHS

_PIECE: Final = re.compile(
    r'"(?P<quoted>[^"]*)"|\\(?P<escaped>.)|_.|\*.|\[(?P<elapsed>h+|m+|s+)\]|\[[^\]]*\]'
    r"|(?P<noon>am/pm|a/p)|(?P<fraction>\.0+)|(?P<letters>y+|m+|d+|h+|s+)|(?P<other>.)",
    re.IGNORECASE | re.DOTALL,
)
_FIRST: Final = datetime.datetime(1899, 12, 31)
"""The day of a time without one."""
_OTHER_NAMES: Final = {"mm-dd-yy": "m/d/yy"}
"""Formats that the file leaves to the reader, as Apache POI has them."""

Moment = datetime.datetime | datetime.date | datetime.time | datetime.timedelta


def date_text(value: Moment, format: str) -> str:
    """A value of a cell as text, in English. Only the first section of the format counts."""
    moment, elapsed = _whole(value)
    text = _OTHER_NAMES.get(format, format).split(";")[0]
    pieces = list(_PIECE.finditer(text))
    has_noon = any(piece["noon"] for piece in pieces)
    out: list[str] = []
    for index, piece in enumerate(pieces):
        letters = (piece["letters"] or "").lower()
        if piece["noon"]:
            word = "AM" if moment.hour < 12 else "PM"
            out.append(word if len(piece["noon"]) > 3 else word[0])
        elif piece["elapsed"]:
            out.append(_elapsed(piece["elapsed"].lower(), elapsed))
        elif piece["fraction"]:
            digits = len(piece["fraction"]) - 1
            out.append(f".{moment.microsecond:06}"[: digits + 1])
        elif letters.startswith("m") and _is_minutes(pieces, index):
            out.append(f"{moment.minute:0{min(len(letters), 2)}}")
        elif letters:
            out.append(_field(letters, moment, has_noon=has_noon))
        else:
            out.append(piece["quoted"] or piece["escaped"] or piece["other"] or "")
    return "".join(out)


def _whole(value: Moment) -> tuple[datetime.datetime, datetime.timedelta]:
    """The value as a moment, and the time since the first day that Excel knows."""
    if isinstance(value, datetime.timedelta):
        return _FIRST + value, value
    if isinstance(value, datetime.time):
        moment = datetime.datetime.combine(_FIRST, value)
    elif isinstance(value, datetime.datetime):
        moment = value
    else:
        moment = datetime.datetime.combine(value, datetime.time())
    return moment, moment - _FIRST


def _elapsed(letters: str, elapsed: datetime.timedelta) -> str:
    seconds = {"h": 3600, "m": 60, "s": 1}[letters[0]]
    return f"{int(elapsed.total_seconds()) // seconds:0{len(letters)}}"


def _is_minutes(pieces: list[re.Match[str]], index: int) -> bool:
    """Whether an ``m`` stands behind hours or before seconds."""
    before = [_time_letter(piece) for piece in pieces[:index]]
    behind = [_time_letter(piece) for piece in pieces[index + 1 :]]
    last = next((letter for letter in reversed(before) if letter), "")
    return last == "h" or next((letter for letter in behind if letter), "") == "s"


def _time_letter(piece: re.Match[str]) -> str:
    return (piece["letters"] or piece["elapsed"] or "").lower()[:1]


def _field(letters: str, moment: datetime.datetime, *, has_noon: bool) -> str:
    count = len(letters)
    match letters[0]:
        case "y":
            return f"{moment.year:04}" if count > 2 else f"{moment.year % 100:02}"
        case "m":
            name = MONTHS[moment.month - 1]
            return _named(moment.month, name, count)
        case "d":
            return _named(moment.day, DAYS[moment.weekday()], count)
        case "h":
            hour = (moment.hour + 11) % 12 + 1 if has_noon else moment.hour
            return f"{hour:0{min(count, 2)}}"
    return f"{moment.second:0{min(count, 2)}}"


def _named(number: int, name: str, count: int) -> str:
    if count < 3:
        return f"{number:0{count}}"
    return name[:3] if count == 3 else name if count == 4 else name[:1]
