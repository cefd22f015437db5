"""Directives that mask values, and replace or cut parts of texts.

The mask of mask-shuffle, which replaces every letter and digit by another one of its kind.

The random numbers are those of ``java.util.Random(0)``, which the original creates for each value, so equal
values are masked equally on every machine.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator
from functools import cached_property
from itertools import groupby
from typing import TYPE_CHECKING, Any, Final

from localcdap.api.directive import (
    Columns,
    Directive,
    DirectiveError,
    Frame,
    NoNativeFormError,
    Row,
    RowContext,
    argument,
    plugin,
)
from localcdap.api.schema import Schema
from localcdap.java.strings import to_java_string
from localcdap.plugin_lib.spark.text_units import change_in_units
from localcdap.plugin_lib.wrangler.recipe.base_directives import (
    ColumnMap,
    as_text,
    find_column,
    is_text,
    make_text_schema_like,
    report_missing_column,
    require_plain_regex,
    require_text,
    require_text_column,
)
from localcdap.plugin_lib.wrangler.values.text_edits import (
    CharacterRanges,
    Sed,
    apply_mask,
    find_syntax_problem,
)

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import Column


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


@plugin(name="mask-number", description="Masks numbers that are written as text.")
class MaskNumber(ColumnMap):
    categories = ("transform",)
    examples = ("mask-number :ssn 'xxx-xx-####'",)
    masks = True
    column: str = argument.column("The column to mask.")
    mask: str = argument.text("# shows a character, x hides one, others stand for themselves.")

    def propagate(self, columns: Columns) -> None:
        if report_missing_column(columns, self.column, "mask", fails=False):
            columns.put(self.column, Schema.STRING)
        else:
            columns.put(self.column, make_text_schema_like(columns, self.column))

    def change(self, row: Row, context: RowContext) -> None:
        if row.find(self.column) is None:
            row[self.column] = ""
        else:
            super().change(row, context)

    def map(self, value: Any) -> Any:
        if value is None:
            return None
        if isinstance(value, str):
            return apply_mask(value, self.mask)
        if isinstance(value, int | float | bytes) and not isinstance(value, bool):
            return apply_mask(to_java_string(value), self.mask)
        raise DirectiveError(
            f"column '{self.column}' is a {type(value).__name__}; it cannot be masked"
        )

    def native(self, frame: Frame) -> None:
        from pyspark.sql import functions as f

        if frame.columns.find(self.column) is None:
            frame.put(self.column, f.lit(""), Schema.STRING)
            return
        schema = make_text_schema_like(frame.columns, self.column)
        value = as_text(frame, self.column)
        frame.put(self.column, change_in_units(value, self._mask_column), schema)

    def _mask_column(self, value: Column) -> Column:
        from pyspark.sql import functions as f

        if set(self.mask) <= set("#xX"):
            return f.when(value.isNotNull(), f.concat(*_mask_parts(value, self.mask)))
        return f.regexp_replace(value, *build_mask_regex(self.mask))


def _mask_parts(value: Column, mask: str) -> Iterator[Column]:
    """Yield the parts of a masked text for a mask of only ``#`` and ``x``, which depends on no character."""
    from pyspark.sql import functions as f

    at = 1
    for sign, run in groupby("x" if sign == "X" else sign for sign in mask):
        count = len(list(run))
        yield f.substring(value, at, count) if sign == "#" else f.lit("x" * count)
        at += count
    yield f.lit("")


def build_mask_regex(mask: str) -> tuple[str, str]:
    """Return a mask as a regular expression of Java for the whole text, and its replacement."""
    pattern = ["(?s)\\A"]
    replacement = []
    groups = 0
    for sign, run in groupby("x" if sign == "X" else sign for sign in mask):
        count = len(list(run))
        if sign == "#":
            groups += 1
            pattern.append(f"(.{{0,{count}}}+)")
            replacement.append(f"${groups}")
        elif sign == "x":
            pattern.append(f".{{0,{count}}}+")
            replacement.append("x" * count)
        else:
            pattern.append(f"(?:{re.escape(sign)}){{0,{count}}}+")
            # The escape separates a digit from the number of the group before it.
            replacement.append(f"\\{sign}" * count)
    return f"{''.join(pattern)}.*+", "".join(replacement)


@plugin(
    name="mask-shuffle",
    description="Replaces each letter and digit by another one; equal values stay equal.",
)
class MaskShuffle(Directive):
    categories = ("transform",)
    examples = ("mask-shuffle :address",)
    masks = True
    column: str = argument.column("The column to mask.")

    def propagate(self, columns: Columns) -> None:
        report_missing_column(columns, self.column, "mask")

    def change(self, row: Row, context: RowContext) -> None:
        row[find_column(row, self.column)] = shuffle_text(require_text(row, self.column))

    def native(self, frame: Frame) -> None:
        import pyarrow as pa
        from pyspark.sql.functions import arrow_udf
        from pyspark.sql.types import StringType

        def shuffle(texts: Any) -> Any:
            return shuffle_column(texts)

        # Spark reads the types of the function from its annotations.
        shuffle.__annotations__ = {"texts": pa.Array, "return": pa.Array}
        schema = require_text_column(frame, self.column)
        value = frame.column(self.column)
        frame.fail_where(value.isNull(), f"column '{self.column}' is null; a text is needed")
        # The random numbers depend on how many letters came before: Spark's own functions over the characters
        # of a text take far longer than NumPy over the bytes of a column.
        # Not the text "string": Spark parses it with the session of the thread, which may have none.
        frame.put(self.column, arrow_udf(shuffle, StringType())(value), schema)


@plugin(name="find-and-replace", description="Changes texts with a sed expression.")
class FindAndReplace(Directive):
    categories = ("transform",)
    examples = ("find-and-replace :body s/Washington/Wash/g",)
    column: list[str] = argument.columns("The columns to change.")
    pattern: str = argument.text("The expression, such as s/from/to/g.")

    def problem(self) -> str | None:
        return find_syntax_problem(Sed, self.pattern)

    @cached_property
    def _sed(self) -> Sed:
        return Sed(self.pattern)

    def change(self, row: Row, context: RowContext) -> None:
        for name in self.column:
            found = row.find(name)
            if found is not None:
                row[found] = self.map(row[found])

    def map(self, value: Any) -> Any:
        """Return the new value for one of the columns."""
        if not isinstance(value, str):
            return value
        try:
            return self._sed.run(value)
        except IndexError as error:
            raise DirectiveError(f"'{self.pattern}' names a group that is not there") from error

    def native(self, frame: Frame) -> None:
        from pyspark.sql import functions as f

        sed = self._sed
        if sed.command != "s" or not sed.is_global or sed.nth > 1 or sed.ignores_case:
            raise NoNativeFormError("Spark has no such replacement")
        require_plain_regex(sed.pattern)
        if "$" in sed.replacement:
            raise NoNativeFormError("the replacement holds groups")
        for name in self.column:
            schema = frame.columns.schema(name)
            if schema is not None and is_text(schema):
                changed = f.regexp_replace(frame.column(name), sed.pattern, sed.replacement)
                frame.put(name, changed, schema)


@plugin(name="cut-character", description="Cuts characters out by their positions.")
class CutCharacter(Directive):
    categories = ("transform",)
    examples = ("cut-character :body :start 1-3", "cut-character :body :rest 5-")
    makes = ("destination",)
    source: str = argument.column("The column to cut from.")
    destination: str = argument.column("The column for the characters.")
    ranges: str = argument.text("Positions from 1: 1-3, 5,7, -3, 9-.")

    def problem(self) -> str | None:
        try:
            CharacterRanges(self.ranges)
        except ValueError as error:
            return str(error)
        return None

    @cached_property
    def _ranges(self) -> CharacterRanges:
        return CharacterRanges(self.ranges)

    def propagate(self, columns: Columns) -> None:
        report_missing_column(columns, self.source, "cut from")
        columns.put(self.destination, Schema.STRING)

    def change(self, row: Row, context: RowContext) -> None:
        row.put(self.destination, self._ranges.cut(require_text(row, self.source)))
