"""The pieces of a date pattern: letters, quoted text, and characters that stand for themselves."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final, NamedTuple

_PIECE: Final = re.compile(r"'((?:[^']|'')*)'|([A-Za-z])\2*|.", re.DOTALL)


class Piece(NamedTuple):
    """A letter as often as it stands in a row, a quoted text, or one other character."""

    text: str
    """Without its quotes; a single quote that none ends is a character."""
    letter: str = ""
    """The one that the text repeats."""
    quoted: bool = False


def pieces(pattern: str) -> Iterator[Piece]:
    """``yy'at'-`` is ``yy``, ``at`` and ``-``; two quotes are one."""
    for found in _PIECE.finditer(pattern):
        if found[1] is not None:
            yield Piece(found[1].replace("''", "'") or "'", quoted=True)
        else:
            yield Piece(found[0], found[2] or "")
