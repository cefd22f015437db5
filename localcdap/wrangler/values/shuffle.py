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


def shuffled_column(texts: pa.Array) -> pa.Array:
    """The same for a column of texts, all of its bytes at a time where they are ASCII."""
    import numpy as np
    import pyarrow as pa

    texts = texts.cast(pa.string())
    if texts.offset:
        texts = pa.concat_arrays([texts])
    validity, bounds, data = texts.buffers()
    starts = np.frombuffer(bounds, np.int32, len(texts) + 1)
    size = int(starts[-1])
    if not size:
        return texts
    given = np.frombuffer(data, np.uint8, size)
    if given.max() >= _ASCII:
        return pa.array([t and shuffled(t) for t in texts.to_pylist()], pa.string())
    made = _shuffled_bytes(given, starts)
    return pa.StringArray.from_buffers(
        len(texts), bounds, pa.py_buffer(made.tobytes()), validity, texts.null_count
    )


_ASCII: Final = 128


def _shuffled_bytes(given: Any, starts: Any) -> Any:
    import numpy as np

    tables, flags = _tables()
    is_drawn = flags[given] > 0
    # How many letters and digits come before each byte, from the beginning of its own text.
    before = np.cumsum(is_drawn, dtype=np.int64) - is_drawn
    lengths = np.diff(starts)
    firsts = before[
        np.minimum(starts[:-1], len(given) - 1)
    ]  # of empty texts it is used for nothing
    places = before - np.repeat(firsts, lengths)
    longest = int(places.max()) + 1
    if longest > tables.shape[1]:
        draws().grow(2 * longest)
        _tables.cache_clear()
        tables, flags = _tables()
    made = given.copy()
    chosen = flags[given[is_drawn]]
    made[is_drawn] = tables[(chosen - 1) & 3, places[is_drawn]] - ((chosen > _CAPITAL) * 32).astype(
        np.uint8
    )
    return made


_CAPITAL: Final = 4
"""What is added to the kind of a letter, from 1, that is a capital."""


@functools.cache
def _tables() -> tuple[Any, Any]:
    """The draws by kind as bytes, and for each byte its kind from 1; 0 for what is left as it is."""
    import numpy as np

    table = draws()
    rows = (table.consonants, table.vowels, table.digits)
    tables = np.array([np.frombuffer(row.encode(), np.uint8) for row in rows])
    flags = np.zeros(256, np.uint8)
    for letter, (kind, is_capital) in _KINDS.items():
        if ord(letter) < _ASCII:
            flags[ord(letter)] = kind + 1 + (_CAPITAL if is_capital else 0)
    return tables, flags
