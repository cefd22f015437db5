"""The mask of mask-shuffle, which replaces every letter and digit by another one of its kind.

The random numbers are those of ``java.util.Random(0)``, which the original creates for each value, so equal
values are masked equally on every machine.
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
"""Non-ASCII letters that Java's ``Character.toLowerCase`` changes to ASCII letters."""


class RandomCharacters:
    """The random characters of each kind; index ``n`` is for the n-th letter or digit of a text.

    Only the rejections of ``Random.nextInt`` make a draw depend on the kinds before it. They come once in
    10^8 draws; :meth:`grow` proves that there is none in the draws it makes.
    """

    def __init__(self) -> None:
        self.consonants = ""
        self.vowels = ""
        self.digits = ""

    def extend(self, length: int) -> None:
        """Draw at least this many characters.

        :raises ValueError: when there are more than can be made.
        """
        import numpy as np

        seeds = np.array([(_MULTIPLIER * _MULTIPLIER + _ADDEND) & _MASK], dtype=np.uint64)
        factor, addend = _MULTIPLIER, _ADDEND
        while len(seeds) < length:
            # The multiplier and addend that advance the generator by as many steps as there are characters.
            further = seeds * np.uint64(factor) + np.uint64(addend)
            seeds = np.concatenate([seeds, further & np.uint64(_MASK)])
            addend = (factor * addend + addend) & _MASK
            factor = factor * factor & _MASK
        bits = seeds >> np.uint64(17)
        if (bits >= (1 << 31) - 8).any():
            raise ValueError(f"a value of {length} letters is too long to be masked")
        self.consonants = _choose(CONSONANTS, bits)
        self.vowels = _choose(VOWELS, bits)
        self.digits = _choose(DIGITS, bits)


def _choose(letters: str, bits: Any) -> str:
    import numpy as np

    table = np.frombuffer(letters.encode(), dtype=np.uint8)
    made: str = table[bits % len(letters)].tobytes().decode()
    return made


@functools.cache
def load_characters() -> RandomCharacters:
    """Return the random characters of this process."""
    made = RandomCharacters()
    made.extend(256)
    return made


def _list_kinds() -> dict[str, tuple[int, bool]]:
    kinds = {}
    for kind, letters in enumerate((CONSONANTS, VOWELS, DIGITS)):
        for letter in letters:
            kinds[letter] = (kind, False)
            if kind < 2:
                kinds[letter.upper()] = (kind, True)
    for letter, small in _SMALL_FOR.items():
        kinds[letter] = (kinds[small][0], True)
    return kinds


_KINDS: Final = _list_kinds()


def shuffle_text(text: str) -> str:
    """Replace the letters and digits of a text; length, case and other characters stay."""
    table = load_characters()
    if len(text) > len(table.digits):
        table.extend(len(text))
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


def shuffle_column(texts: pa.Array) -> pa.Array:
    """Shuffle a column of texts as :func:`shuffle_text`; null stays null."""
    import numpy as np
    import pyarrow as pa

    if not len(texts):
        return texts.cast(pa.string())
    whole = texts.cast(pa.large_string())
    validity, ends, held = whole.buffers()
    offsets = np.frombuffer(ends, dtype=np.int64)[whole.offset : whole.offset + len(whole) + 1]
    data = np.frombuffer(held or b"", dtype=np.uint8)[offsets[0] : offsets[-1]]
    if _has_other_letters(data):
        made = [None if text is None else shuffle_text(text) for text in texts.to_pylist()]
        return pa.array(made, pa.string())
    offsets = offsets - offsets[0]
    changed = pa.py_buffer(_shuffle_bytes(data, offsets).tobytes())
    if whole.offset:
        validity = whole.is_valid().buffers()[1] if whole.null_count else None
    ends = pa.py_buffer(offsets.tobytes())
    return pa.LargeStringArray.from_buffers(len(whole), ends, changed, validity).cast(pa.string())


def _has_other_letters(data: Any) -> bool:
    if not (data > 127).any():
        return False
    held = data.tobytes()
    return any(letter.encode() in held for letter in _SMALL_FOR)


def _shuffle_bytes(data: Any, offsets: Any) -> Any:
    """Shuffle the bytes of consecutive texts."""
    import numpy as np

    number = np.int32 if len(data) < 1 << 30 else np.int64
    kinds = np.take(_load_byte_kinds(), data)
    counted = np.zeros(len(data) + 1, dtype=number)  # letters and digits before each byte
    np.cumsum(kinds != 0, out=counted[1:])
    before = counted[:-1] - np.repeat(counted[offsets[:-1]], np.diff(offsets))
    table = _load_random_bytes(int(before.max(initial=0)) + 1)
    places = np.take(np.arange(len(table), dtype=number) * table.shape[1], kinds) + before
    changed = np.take(table.ravel(), places)
    np.copyto(changed, data, where=kinds == 0)
    return changed


@functools.cache
def _load_byte_kinds() -> Any:
    """Return for each byte its row in :func:`_load_random_bytes`, 0 for a byte that stays."""
    import numpy as np

    rows = np.zeros(256, dtype=np.uint8)
    for row, letters in enumerate(_LETTERS, 1):
        rows[list(letters.encode())] = row
    return rows


_LETTERS: Final = (CONSONANTS, VOWELS, DIGITS, CONSONANTS.upper(), VOWELS.upper())


def _load_random_bytes(length: int) -> Any:
    """Return the random characters as bytes, one row for each number of :func:`_load_byte_kinds`."""
    table = load_characters()
    if length > len(table.digits):
        table.extend(length)
    return _build_table(len(table.digits))


@functools.lru_cache(maxsize=1)
def _build_table(length: int) -> Any:
    import numpy as np

    table = load_characters()
    small = (table.consonants, table.vowels)
    rows = (" " * length, *small, table.digits, *(letters.upper() for letters in small))
    return np.stack([np.frombuffer(row.encode(), dtype=np.uint8) for row in rows])
