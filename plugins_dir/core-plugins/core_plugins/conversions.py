"""Conversions between simple types as Spark expressions (CDAP ``ProjectionTransform``).

Texts become other types as :mod:`localcdap.plugin_lib.text_values` says. Bytes hold numbers in big-endian
order, as HBase's ``Bytes`` class writes them. A ``float`` or ``double`` becomes a whole number as by
``Math.round``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from localcdap.api import Schema, SparkContext, Type
from localcdap.plugin_lib.spark.checks import build_failure

if TYPE_CHECKING:
    from pyspark.sql import Column

_NUMBERS: Final = {
    Type.INT: (Type.LONG, Type.FLOAT, Type.DOUBLE),
    Type.LONG: (Type.FLOAT, Type.DOUBLE),
    Type.FLOAT: (Type.DOUBLE, Type.INT, Type.LONG),
    Type.DOUBLE: (Type.INT, Type.LONG),
}
"""The other numbers that a number becomes."""
_SPARK_TYPES: Final = {
    Type.INT: "int",
    Type.LONG: "bigint",
    Type.FLOAT: "float",
    Type.DOUBLE: "double",
    Type.STRING: "string",
}
_WHOLE: Final = r"\A[+-]?[0-9]+\z"
_BLANKS: Final = r"[\x00-\x20]*"
_DECIMAL: Final = r"([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?[fFdD]?"
_FRACTION: Final = rf"\A{_BLANKS}[+-]?(NaN|Infinity|{_DECIMAL}){_BLANKS}\z"
_TEXTS: Final = {Type.INT: _WHOLE, Type.LONG: _WHOLE, Type.FLOAT: _FRACTION, Type.DOUBLE: _FRACTION}
"""The texts of numbers in Java, of which Spark takes more."""
_BYTE_FORMATS: Final = {
    Type.BOOLEAN: ">b",
    Type.INT: ">i",
    Type.LONG: ">q",
    Type.FLOAT: ">f",
    Type.DOUBLE: ">d",
}


def can_convert(source: Schema, target: Type) -> bool:
    """Return whether a field can be converted to a type; nullability does not matter.

    Every simple type converts to a string or bytes, strings and bytes convert to every simple type, and
    numbers convert to wider ones, those with fractions also to whole ones. Dates, times and decimals convert
    only to strings.
    """
    inner = source.non_nullable
    if not inner.type.is_simple or inner.type is Type.NULL:
        return False
    if inner.logical_type is not None:
        return target is Type.STRING
    return (
        inner.type is target
        or Type.STRING in (inner.type, target)
        or Type.BYTES in (inner.type, target)
        or target in _NUMBERS.get(inner.type, ())
    )


def convert(
    context: SparkContext, name: str, value: Column, source: Schema, target: Type
) -> Column:
    """Build the expression of a conversion that :func:`can_convert` allows; null stays null.

    A text that is not a number fails the run, as in CDAP.

    :param name: of the field, for the message.
    """
    from pyspark.sql import functions as F  # noqa: N812

    inner = source.non_nullable
    if inner.type is target and inner.logical_type is None:
        return value
    if target is Type.BYTES:
        return _read_binary(value) if inner.type is Type.STRING else _pack(value, inner.type)
    if inner.type is Type.BYTES and inner.logical_type is None:
        is_text = target is Type.STRING  # invalid bytes become U+FFFD, as in Java
        return F.make_valid_utf8(value.cast("string")) if is_text else _unpack(value, target)
    if target is Type.BOOLEAN:
        return F.lower(value) == F.lit("true")
    if inner.type is Type.STRING and inner.logical_type is None:
        number = F.when(value.rlike(_TEXTS[target]), value.try_cast(_SPARK_TYPES[target]))
        message = F.concat(
            F.lit(f"Field '{name}' is not of type {target.value}: '"), value, F.lit("'.")
        )
        failure = build_failure(context, message, Schema.of(target))
        return F.coalesce(number, F.when(value.isNotNull(), failure))
    if target in (Type.INT, Type.LONG) and inner.type in (Type.FLOAT, Type.DOUBLE):
        return _round(value, inner.type, target)
    return value.cast(_SPARK_TYPES[target])


def _round(value: Column, source: Type, target: Type) -> Column:
    """Round half up. ``Math.round`` of a float is an int, and of a double a long, of which an int has the low
    32 bits.
    """
    from pyspark.sql import functions as F  # noqa: N812

    double = value.cast("double")
    low = F.floor(double)
    up = F.when(F.abs(double) < 2.0**52, (double - low >= 0.5).cast("int")).otherwise(0)
    rounded = (
        F.when(F.isnan(double), F.lit(0))
        .when(double >= 2.0**63, F.lit(2**63 - 1))
        .when(double < -(2.0**63), F.lit(-(2**63)))
        .otherwise(low + up)
    )
    if source is Type.FLOAT:
        rounded = F.greatest(F.lit(-(2**31)), F.least(F.lit(2**31 - 1), rounded))
    elif target is Type.INT:
        rounded = F.shiftright(F.shiftleft(rounded, 32), 32)
    return rounded.cast(_SPARK_TYPES[target])


def _read_binary(value: Column) -> Column:
    from pyspark.sql import functions as F  # noqa: N812

    # A nested function is pickled by value; Spark's workers cannot import this module.
    def read(text: str | None) -> bytes | None:
        from localcdap.plugin_lib.text_values import to_bytes_binary

        return None if text is None else to_bytes_binary(text)

    return F.udf(read, "binary", useArrow=False)(value)


def _pack(value: Column, source: Type) -> Column:
    from pyspark.sql import functions as F  # noqa: N812

    layout = _BYTE_FORMATS[source]

    # A nested function is pickled by value; Spark's workers cannot import this module.
    def pack(number: Any) -> bytes | None:
        import struct

        if number is None:
            return None
        return struct.pack(layout, -number if number is True else number)

    return F.udf(pack, "binary", useArrow=False)(value)


def _unpack(value: Column, target: Type) -> Column:
    from pyspark.sql import functions as F  # noqa: N812

    layout, is_boolean = _BYTE_FORMATS[target], target is Type.BOOLEAN

    def unpack(data: bytes | None) -> Any:
        import struct

        if data is None:
            return None
        number = struct.unpack_from(layout, data)[0]
        return number != 0 if is_boolean else number

    return F.udf(unpack, _SPARK_TYPES.get(target, "boolean"), useArrow=False)(value)
