"""The shuffling mask: every letter and digit becomes another one of its kind.

The draws are those of ``java.util.Random(0)``, which the original makes anew for every value: equal values
are masked equally, and on every machine.
"""

from __future__ import annotations

import functools
from typing import Final

CONSONANTS: Final = "bcdfghjklmnpqrstvwxz"
VOWELS: Final = "aeiouy"
DIGITS: Final = "0123456789"

_MULTIPLIER: Final = 0x5DEECE66D
_MASK: Final = (1 << 48) - 1
_SMALL_FOR: Final = {"\u0130": "i", "\u212a": "k"}
"""Letters outside ASCII that Java's ``Character.toLowerCase`` makes a letter of ASCII."""


class Draws:
    """The characters that stand at the n-th draw, by kind; index ``n`` is the n-th letter or digit.

    Only the rejections of ``Random.nextInt`` make a draw depend on the kinds before it. They come once in
    10^8 draws; :meth:`grow` proves that there is none in the draws it makes.
    """

    def __init__(self) -> None:
        self.consonants = ""
        self.vowels = ""
        self.digits = ""
        self._seed = _MULTIPLIER & _MASK

    def grow(self, length: int) -> None:
        """Make at least this many draws."""
        bits: list[int] = []
        for _ in range(len(self.digits), length):
            self._seed = (self._seed * _MULTIPLIER + 0xB) & _MASK
            bits.append(self._seed >> 17)
        if any(drawn >= (1 << 31) - 8 for drawn in bits):
            raise ValueError(f"a value of {length} letters is too long to be masked")
        self.consonants += "".join(CONSONANTS[drawn % 20] for drawn in bits)
        self.vowels += "".join(VOWELS[drawn % 6] for drawn in bits)
        self.digits += "".join(DIGITS[drawn % 10] for drawn in bits)


@functools.cache
def draws() -> Draws:
    """The draws of this process."""
    made = Draws()
    made.grow(256)
    return made


def _kinds() -> dict[str, tuple[int, bool]]:
    kinds = {}
    for kind, letters in enumerate((CONSONANTS, VOWELS, DIGITS)):
        for letter in letters:
            kinds[letter] = (kind, False)
            if kind < 2:
                kinds[letter.upper()] = (kind, True)
    for letter, small in _SMALL_FOR.items():
        kinds[letter] = (kinds[small][0], True)
    return kinds


_KINDS: Final = _kinds()


def shuffled(text: str) -> str:
    """The text with its letters and digits changed; length, case, and all other characters stay."""
    table = draws()
    if len(text) > len(table.digits):
        table.grow(2 * len(text))
    by_kind = (table.consonants, table.vowels, table.digits)
    out = []
    drawn = 0
    for character in text:
        kind = _KINDS.get(character)
        if kind is None:
            out.append(character)
            continue
        drawing = by_kind[kind[0]][drawn]
        drawn += 1
        out.append(drawing.upper() if kind[1] else drawing)
    return "".join(out)
