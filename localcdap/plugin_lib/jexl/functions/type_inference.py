"""Guesses of what a text holds: a number, a boolean, a date, a time (the original's ``TypeInference``)."""

from __future__ import annotations

import functools
import re
from importlib import resources
from typing import Final

from localcdap.java.strings import TRIM_CHARACTERS

_INTEGER: Final = re.compile(r"[+-]?\d+", re.ASCII)
_DOUBLE: Final = re.compile(
    r"[-+]?(?:[0-9]+(?:[,.][0-9]+)?"
    r"|[0-9]{1,3}(?:(?:,[0-9]{3})*(?:\.[0-9]+)?"
    r"|(?:(?:\.[0-9]{3})*|(?:[ \u00a0\u2007\u202f][0-9]{3})*)(?:,[0-9]+)?))"
    r"(?: ?[eE][-+]?[0-9]+)?"
)
_PIECE: Final = re.compile(r"'((?:[^']|'')*)'|([A-Za-z])\2*|.")
_LETTERS: Final = {
    "d": "(?:0?[1-9]|[12][0-9]|3[01])",
    "dd": "(?:0[1-9]|[12][0-9]|3[01])",
    "M": "(?:0?[1-9]|1[0-2])",
    "MM": "(?:0[1-9]|1[0-2])",
    "MMMM": r"[^\W\d_]{3,10}",
    "MMM": r"(?:[A-Z][^\W\d_]{2}|[a-z][^\W\d_]{2,3}\.?)",
    "yy": "[0-9]{2}",
    "yyyy": "[0-9]{4}",
    "EEE": r"[^\W\d_]{3,5}",
    "EEEE": r"[^\W\d_]{3,10}",
    "H": "(?:[01]?[0-9]|2[0-3])",
    "HH": "(?:[01][0-9]|2[0-3])",
    "h": "(?:0?[1-9]|1[0-2])",
    "hh": "(?:0[1-9]|1[0-2])",
    "mm": "[0-5][0-9]",
    "ss": "[0-5][0-9]",
    "a": r"[^\W\d_]{2}",
    "z": "[A-Z]{2,5}",
    "Z": "[+-](?:0[0-9]|1[0-2])00",
    "XXX": "[+-](?:0[0-9]|1[0-2]):00",
    "S": "[0-9]",
    "SSS": "[0-9]{3}",
    "nnnnnnnnn": "[0-9]{9}",
    "VV": r"[^\W\d_]{4,10}/[^\W\d_]{4,15}",
    "DDD": "[0-9]{1,3}",
    "W": "[1-7]",
    "w": "(?:[1-4]?[0-9]|5[0-2])",
}
"""What each group of letters of a date pattern stands for."""


def is_empty(text: str | None) -> bool:
    return text is None or not text.strip(TRIM_CHARACTERS)


def is_integer(text: str | None) -> bool:
    return text is not None and _INTEGER.fullmatch(text) is not None


def is_double(text: str | None) -> bool:
    """With a point or a comma, grouped as in English or in Europe, with an exponent."""
    return text is not None and not is_empty(text) and _DOUBLE.fullmatch(text) is not None


def is_number(text: str | None) -> bool:
    return is_double(text) or is_integer(text)


def is_boolean(text: str | None) -> bool:
    return text is not None and text.lower() in ("true", "false")


def is_date(text: str | None) -> bool:
    """Whether a text is written like a date, with a time or without; the day may be none of the month."""
    return text is not None and 6 <= len(text) <= 64 and _looks_like(text, "dates")


def is_time(text: str | None) -> bool:
    return text is not None and 4 <= len(text) <= 24 and _looks_like(text, "times")


def _looks_like(text: str, kind: str) -> bool:
    if sum("0" <= char <= "9" for char in text) < 3:
        return False
    return _formats()[kind].fullmatch(text) is not None


@functools.cache
def _formats() -> dict[str, re.Pattern[str]]:
    document = resources.files(__package__).joinpath("moments.txt").read_text("utf-8")
    dates, _, times = document.partition("\n\n")
    return {"dates": _any(dates.splitlines()), "times": _any(times.splitlines())}


def _any(formats: list[str]) -> re.Pattern[str]:
    return re.compile("|".join(map(_expression, formats)))


def _expression(pattern: str) -> str:
    out = []
    for piece in _PIECE.finditer(pattern):
        quoted, letter = piece.group(1), piece.group(2)
        text = piece.group()
        if quoted is not None:
            out.append(re.escape(quoted.replace("''", "'")))
        else:
            out.append(_LETTERS[text] if letter else re.escape(text))
    return "".join(out)
