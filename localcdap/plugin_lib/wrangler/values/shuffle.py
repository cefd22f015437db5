"""The shuffling mask: every letter and digit becomes another one of its kind.

The draws are those of ``java.util.Random(0)``, which the original makes anew for every value: equal values
are masked equally, and on every machine.
"""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    import pyarrow as pa

CONSONANTS: Final = "bcdfghjklmnpqrstvwxz"
VOWELS: Final = "aeiouy"
DIGITS: Final = "0123456789"

_MULTIPLIER: Final = 0x5DEECE66D
_ADDEND: Final = 0xB
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

    def grow(self, length: int) -> None:
        """Make at least this many draws.

        :raises ValueError: when there are more than can be made.
        """
        import numpy as np

        seeds = np.array([(_MULTIPLIER * _MULTIPLIER + _ADDEND) & _MASK], dtype=np.uint64)
        factor, addend = _MULTIPLIER, _ADDEND
        while len(seeds) < length:
            # What leads from a draw to the one as many places further as there are draws.
            further = seeds * np.uint64(factor) + np.uint64(addend)
            seeds = np.concatenate([seeds, further & np.uint64(_MASK)])
            addend = (factor * addend + addend) & _MASK
            factor = factor * factor & _MASK
        bits = seeds >> np.uint64(17)
        if (bits >= (1 << 31) - 8).any():
            raise ValueError(f"a value of {length} letters is too long to be masked")
        self.consonants = _drawn(CONSONANTS, bits)
        self.vowels = _drawn(VOWELS, bits)
        self.digits = _drawn(DIGITS, bits)


def _drawn(letters: str, bits: Any) -> str:
    import numpy as np

    table = np.frombuffer(letters.encode(), dtype=np.uint8)
    made: str = table[bits % len(letters)].tobytes().decode()
    return made


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
        table.grow(len(text))
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


def shuffled_column(texts: pa.Array) -> pa.Array:
    """A column of texts, each as :func:`shuffled`; null stays null."""
    import numpy as np
    import pyarrow as pa

    if not len(texts):
        return texts.cast(pa.string())
    whole = texts.cast(pa.large_string())
    validity, ends, held = whole.buffers()
    offsets = np.frombuffer(ends, dtype=np.int64)[whole.offset : whole.offset + len(whole) + 1]
    data = np.frombuffer(held or b"", dtype=np.uint8)[offsets[0] : offsets[-1]]
    if _has_other_letters(data):
        made = [None if text is None else shuffled(text) for text in texts.to_pylist()]
        return pa.array(made, pa.string())
    offsets = offsets - offsets[0]
    changed = pa.py_buffer(_shuffled_bytes(data, offsets).tobytes())
    if whole.offset:
        validity = whole.is_valid().buffers()[1] if whole.null_count else None
    ends = pa.py_buffer(offsets.tobytes())
    return pa.LargeStringArray.from_buffers(len(whole), ends, changed, validity).cast(pa.string())


def _has_other_letters(data: Any) -> bool:
    if not (data > 127).any():
        return False
    held = data.tobytes()
    return any(letter.encode() in held for letter in _SMALL_FOR)


def _shuffled_bytes(data: Any, offsets: Any) -> Any:
    """The bytes of texts that lie one behind the other."""
    import numpy as np

    number = np.int32 if len(data) < 1 << 30 else np.int64
    kinds = np.take(_byte_kinds(), data)
    counted = np.zeros(len(data) + 1, dtype=number)  # letters and digits before each byte
    np.cumsum(kinds != 0, out=counted[1:])
    before = counted[:-1] - np.repeat(counted[offsets[:-1]], np.diff(offsets))
    table = _drawn_bytes(int(before.max(initial=0)) + 1)
    places = np.take(np.arange(len(table), dtype=number) * table.shape[1], kinds) + before
    changed = np.take(table.ravel(), places)
    np.copyto(changed, data, where=kinds == 0)
    return changed


@functools.cache
def _byte_kinds() -> Any:
    """By byte the row of :func:`_drawn_bytes`, 0 for what stays."""
    import numpy as np

    rows = np.zeros(256, dtype=np.uint8)
    for row, letters in enumerate(_LETTERS, 1):
        rows[list(letters.encode())] = row
    return rows


_LETTERS: Final = (CONSONANTS, VOWELS, DIGITS, CONSONANTS.upper(), VOWELS.upper())


def _drawn_bytes(length: int) -> Any:
    """What stands at each draw, by the rows that :func:`_byte_kinds` tells."""
    table = draws()
    if length > len(table.digits):
        table.grow(length)
    return _table(len(table.digits))


@functools.lru_cache(maxsize=1)
def _table(length: int) -> Any:
    import numpy as np

    table = draws()
    small = (table.consonants, table.vowels)
    rows = (" " * length, *small, table.digits, *(letters.upper() for letters in small))
    return np.stack([np.frombuffer(row.encode(), dtype=np.uint8) for row in rows])
