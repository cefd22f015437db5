"""How much there is of a value: its length, whether it is empty."""

from __future__ import annotations

from typing import TYPE_CHECKING

from localcdap.api.schema import Schema
from localcdap.plugin_lib.jexl.native.part import NUMBERS, NoNativeError, Part, is_null

if TYPE_CHECKING:
    from pyspark.sql import Column


def length(text: Column) -> Column:
    """Java's length of a text: in UTF-16 units."""
    from pyspark.sql import functions as f

    units = f.octet_length(f.encode(text, "UTF-16BE"))
    return f.call_function("div", units, f.lit(2)).cast("int")


def size(part: Part) -> Part:
    """``size`` of a text: 0 for null, and for what fails."""
    from pyspark.sql import functions as f

    count = f.coalesce(length(part.column), f.lit(0))
    if part.failing is not None:
        count = f.when(part.failing, 0).otherwise(count)
    return Part(count, Schema.INT, False, None, 31)


def empty(part: Part) -> Part:
    """``empty``: true for null, 0, no text, and for what fails."""
    from pyspark.sql import functions as f

    is_empty = is_null(part)
    if part.is_text:
        is_empty = is_empty | (part.column == "")
    elif part.type in NUMBERS:
        is_empty = is_empty | (part.column == 0)
        if part.type == Schema.DOUBLE:
            is_empty = is_empty | f.isnan(part.column)
    elif part.type not in (Schema.BOOLEAN, Schema.NULL):
        raise NoNativeError
    is_empty = f.coalesce(is_empty, f.lit(True))
    column = is_empty if part.failing is None else part.failing | is_empty
    return Part(column, Schema.BOOLEAN, False)
