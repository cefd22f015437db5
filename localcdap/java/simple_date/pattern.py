"""The patterns of ``SimpleDateFormat``."""

from __future__ import annotations

import functools
from typing import Final

from localcdap.java.dates.pieces import Piece, pieces

_LETTERS: Final = "GyYMLwWDdFEuaHkKhmsSzZX"
_NUMBERS: Final = "yYwWDdFuHkKhmsS"
"""Letters that stand for a number, beside M where it stands at most twice."""

Item = str | tuple[str, int]
"""A single character, or a letter with its number; M for L too."""


def check_simple_date(pattern: str) -> None:
    """:raises ValueError: when the pattern is none."""
    items(pattern)


@functools.lru_cache(maxsize=256)
def items(pattern: str) -> tuple[Item, ...]:
    """What a pattern holds.

    :raises ValueError: when it is none.
    """
    found: list[Item] = []
    for piece in pieces(pattern):
        if piece.letter:
            found.append(_field(piece.letter, len(piece.text)))
        elif piece == Piece("'"):
            raise ValueError("Unterminated quote")
        else:
            found += piece.text
    return tuple(found)


def _field(letter: str, width: int) -> tuple[str, int]:
    if letter not in _LETTERS:
        raise ValueError(f"Illegal pattern character '{letter}'")
    if letter == "X" and width > 3:
        raise ValueError(f"invalid ISO 8601 format: length={width}")
    return "M" if letter == "L" else letter, width


def is_number(item: Item) -> bool:
    """Whether a part of a pattern stands for a number."""
    return not isinstance(item, str) and (item[0] in _NUMBERS or (item[0] == "M" and item[1] < 3))
