"""Texts in Spark as Java counts and cuts them, in UTF-16 units; Spark itself counts whole characters.

See :mod:`localcdap.java.text_units` for texts in Python.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from pyspark.sql import Column

_WIDE: Final = r"[\x{10000}-\x{10FFFF}]"
_SECOND: Final = "\uffff"
"""A code point without a character; it stands for the second unit of the character before it."""


def count_units(text: Column) -> Column:
    """Return Java's length of a text."""
    from pyspark.sql import functions as f

    units = f.octet_length(f.encode(text, "UTF-16BE"))
    return f.call_function("div", units, f.lit(2)).cast("int")


def change_in_units(text: Column, change: Callable[[Column], Column]) -> Column:
    """Return a changed text.

    :param change: cuts the text by positions, or replaces characters; it sees two characters for each one
        beyond U+FFFF. Halves that it leaves are question marks.
    """
    from pyspark.sql import functions as f

    wide = f.regexp_replace(text, f"({_WIDE})", f"$1{_SECOND}")
    halved = f.regexp_replace(change(wide), f"{_WIDE}(?!{_SECOND})", "?")
    joined = f.regexp_replace(halved, f"({_WIDE}){_SECOND}", "$1")
    whole = f.regexp_replace(joined, _SECOND, "?")
    # A text of bytes that are as many as its characters is ASCII; most texts are.
    is_plain = f.octet_length(text) == f.char_length(text)
    return f.when(is_plain | ~text.rlike(_WIDE), change(text)).otherwise(whole)
