"""Conversions between simple types as Spark expressions (CDAP ``ProjectionTransform``).

Bytes hold numbers in big-endian order, as HBase's ``Bytes`` class writes them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from localcdap.api import Schema, Type

if TYPE_CHECKING:
    from pyspark.sql import Column

_WIDER: Final = {
    Type.INT: (Type.LONG, Type.FLOAT, Type.DOUBLE),
    Type.LONG: (Type.FLOAT, Type.DOUBLE),
    Type.FLOAT: (Type.DOUBLE,),
}
_SPARK_TYPES: Final = {
    Type.INT: "int",
    Type.LONG: "bigint",
    Type.FLOAT: "float",
    Type.DOUBLE: "double",
    Type.STRING: "string",
}
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
    numbers convert to wider ones. Dates, times and decimals convert only to strings.
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
        or target in _WIDER.get(inner.type, ())
    )


def convert(value: Column, source: Schema, target: Type) -> Column:
    """Build the expression of a conversion that :func:`can_convert` allows; null stays null.

    A text that is not a number fails the run, as in CDAP.
    """
    from pyspark.sql import functions as F  # noqa: N812

    inner = source.non_nullable
    if inner.type is target and inner.logical_type is None:
        return value
    if target is Type.BYTES:
        return F.encode(value, "UTF-8") if inner.type is Type.STRING else _pack(value, inner.type)
    if inner.type is Type.BYTES and inner.logical_type is None:
        is_text = target is Type.STRING  # invalid bytes become U+FFFD, as in Java
        return F.make_valid_utf8(value.cast("string")) if is_text else _unpack(value, target)
    if target is Type.BOOLEAN:
        return F.lower(value) == F.lit("true")
    return value.cast(_SPARK_TYPES[target])


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
