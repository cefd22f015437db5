"""Values as the type that an operator wants."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from localcdap.api.schema import LogicalType, Schema
from localcdap.plugin_lib.jexl.inference import WHOLE
from localcdap.plugin_lib.jexl.native.part import NUMBERS, NoNativeError, Part, either

if TYPE_CHECKING:
    from pyspark.sql import Column

_FLOATING: Final = (Schema.FLOAT, Schema.DOUBLE)


def to_truth(part: Part) -> Column:
    """True or false, false for null; what fails is told by others."""
    from pyspark.sql import functions as f

    if part.type == Schema.NULL:
        return f.lit(False)
    if part.type == Schema.BOOLEAN:
        value = part.column
    elif part.is_text:
        value = (part.column != "") & (part.column != "false")
    elif part.type in (*WHOLE, *_FLOATING) or part.type.logical_type is LogicalType.DECIMAL:
        value = part.column != 0
        if part.type in _FLOATING:
            value = value & ~f.isnan(part.column)
    else:
        value = part.column.isNotNull()
    return f.coalesce(value, f.lit(False)) if part.nullable else value


def to_long(part: Part) -> Part:
    """A whole number, or a text read as one; an empty one is 0, any other that is none fails."""
    from pyspark.sql import functions as f

    if part.type in WHOLE:
        return replace(part, column=part.column.cast("bigint"), type=Schema.LONG)
    if part.type == Schema.BOOLEAN:
        number = part.column.cast("int").cast("bigint")
        return replace(part, column=number, type=Schema.LONG, bits=1)
    if not part.is_text:
        raise NoNativeError
    text = part.column
    read = f.when(text == "", f.lit(0).cast("bigint")).when(
        text.rlike(r"\A[+-]?[0-9]+\z"), text.try_cast("bigint")
    )
    wrong = text.isNotNull() & read.isNull()
    return Part(read, Schema.LONG, True, either(part.failing, wrong), 64)


def to_double(part: Part) -> Part:
    """A number, or a text read as Java reads doubles; an empty one is NaN."""
    from pyspark.sql import functions as f

    if part.type in NUMBERS:
        return replace(part, column=part.column.cast("double"), type=Schema.DOUBLE)
    if part.type == Schema.BOOLEAN:
        return replace(part, column=part.column.cast("int").cast("double"), type=Schema.DOUBLE)
    if not part.is_text:
        raise NoNativeError
    text = part.column
    plain = f.regexp_replace(text, r"\A[\x00-\x20]+|[\x00-\x20]+\z", "")
    number = r"(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?"
    read = f.when(text == "", f.lit(float("nan"))).when(
        plain.rlike(rf"\A[+-]?(?:NaN|Infinity|{number}[fFdD]?)\z"),
        f.regexp_replace(plain, r"[fFdD]\z", "").try_cast("double"),
    )
    wrong = text.isNotNull() & read.isNull()
    return Part(read, Schema.DOUBLE, True, either(part.failing, wrong))


def to_text(part: Part) -> Part:
    """The text of a value; of doubles Java's differs from Spark's."""
    if part.is_text:
        return part
    if part.type in WHOLE or part.type == Schema.BOOLEAN:
        return replace(part, column=part.column.cast("string"), type=Schema.STRING, bits=0)
    raise NoNativeError
