"""Values of simple types as text, in files of delimited text."""

from __future__ import annotations

from typing import TYPE_CHECKING

from localcdap.api import LogicalType, Schema, Type
from localcdap.plugin_lib.spark.ddl import type_ddl

if TYPE_CHECKING:
    from pyspark.sql import Column

_DATE = r"^\s*[+-]?[0-9]{4,}(-[0-9]{1,2}){0,2}\s*$"
_DATE_FIRST = r"^\s*[+-]?[0-9]{4,}-"


def from_text(text: Column, schema: Schema) -> Column:
    """The value that a text means; null when it means none. Blanks around numbers do not matter.

    Dates and times are ISO 8601, bytes are Base64.
    """
    from pyspark.sql import functions as F  # noqa: N812

    inner = schema.non_nullable
    if inner.type is Type.ENUM:
        return F.when(text.isin(list(inner.symbols)), text)
    match inner.logical_type or inner.type:
        case Type.STRING:
            return text
        case Type.BOOLEAN:
            word = F.lower(F.trim(text))
            return F.when(word == "true", True).when(word == "false", False)
        case Type.BYTES:
            return F.try_to_binary(text, F.lit("base64"))
        case LogicalType.DECIMAL:
            # A cast would round silently.
            too_fine = text.rlike(rf"\.[0-9]{{{inner.scale or 0}}}[0-9]*[1-9]")
            return F.when(~too_fine, text.try_cast(type_ddl(inner)))
        case LogicalType.DATE:
            return F.when(text.rlike(_DATE), text.try_cast("date"))
        case LogicalType.TIMESTAMP_MILLIS | LogicalType.TIMESTAMP_MICROS | LogicalType.DATETIME:
            return F.when(text.rlike(_DATE_FIRST), text.try_cast(type_ddl(inner)))
        case _:
            return text.try_cast(type_ddl(inner))


def to_text(value: Column, schema: Schema) -> Column:
    """A value as :func:`from_text` reads it; null stays null."""
    from pyspark.sql import functions as F  # noqa: N812

    inner = schema.non_nullable
    match inner.logical_type or inner.type:
        case Type.STRING | Type.ENUM:
            return value
        case Type.BYTES:
            return F.base64(value)
        case LogicalType.TIMESTAMP_MILLIS | LogicalType.TIMESTAMP_MICROS:
            return F.concat(F.replace(value.cast("string"), F.lit(" "), F.lit("T")), F.lit("Z"))
        case LogicalType.DATETIME:
            return F.replace(value.cast("string"), F.lit(" "), F.lit("T"))
        case _:
            return value.cast("string")
