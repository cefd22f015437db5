"""Values of fields as bytes, in Java's order, and back (hydrator-common, ``FieldEncryptor.java``)."""

from __future__ import annotations

import datetime
import decimal
import struct
from typing import TYPE_CHECKING, Any, Final

from localcdap.api import LogicalType, Schema, Type

if TYPE_CHECKING:
    import pyarrow as pa

TYPES: Final = (Type.INT, Type.LONG, Type.FLOAT, Type.DOUBLE, Type.STRING, Type.BYTES)
"""The types of fields that can be encrypted; logical types are those of the values that stand for them."""
_FORMS: Final = {Type.INT: ">i", Type.LONG: ">q", Type.FLOAT: ">f", Type.DOUBLE: ">d"}
_WITHIN: Final = {LogicalType.TIME_MILLIS: 1000, LogicalType.TIMESTAMP_MILLIS: 1000}
"""Microseconds of a unit."""


class FieldBytesError(ValueError):
    """Bytes are not a value of the type of a field."""


def list_values(column: pa.Array, schema: Schema) -> list[Any]:
    """Return the values of a column as the type that stands for its logical type has them."""
    import pyarrow as pa

    inner = schema.non_nullable
    match inner.logical_type:
        case LogicalType.DATE:
            return list(column.cast(pa.int32()).to_pylist())
        case LogicalType.DECIMAL:
            return [_to_unscaled(v, inner.scale or 0) for v in column.to_pylist()]
        case LogicalType.DATETIME:
            return [None if value is None else value.isoformat() for value in column.to_pylist()]
        case None:
            return list(column.to_pylist())
        case other:
            unit = _WITHIN.get(other, 1)
            found = column.cast(pa.int64()).to_pylist()
            return [None if value is None else value // unit for value in found]


def build_column(values: list[Any], schema: Schema, type: pa.DataType) -> pa.Array:
    """Return the column of values that :func:`list_values` returned.

    :param type: of the column.
    """
    import pyarrow as pa

    inner = schema.non_nullable
    match inner.logical_type:
        case LogicalType.DATE:
            return pa.array(values, pa.int32()).cast(type)
        case LogicalType.DECIMAL:
            scale = inner.scale or 0
            return pa.array([None if v is None else _from_unscaled(v, scale) for v in values], type)
        case LogicalType.DATETIME:
            moments = [None if v is None else datetime.datetime.fromisoformat(v) for v in values]
            return pa.array(moments, type)
        case None:
            return pa.array(values, type)
        case other:
            unit = _WITHIN.get(other, 1)
            scaled = [None if value is None else value * unit for value in values]
            return pa.array(scaled, pa.int64()).cast(type)


def to_bytes(value: Any, schema: Schema) -> bytes:
    """Return the bytes of a value."""
    kind = schema.non_nullable.type
    if kind in _FORMS:
        return struct.pack(_FORMS[kind], value)
    return value if isinstance(value, bytes) else str(value).encode()


def from_bytes(data: bytes, schema: Schema) -> Any:
    """Return the value that bytes stand for.

    :raises FieldBytesError: when they are not a value of the type.
    """
    kind = schema.non_nullable.type
    try:
        if kind in _FORMS:
            return struct.unpack(_FORMS[kind], data)[0]
        return data.decode() if kind is Type.STRING else data
    except (struct.error, UnicodeDecodeError) as error:
        raise FieldBytesError(f"it is not a {schema.non_nullable.display_name}: {error}") from None


def _to_unscaled(value: decimal.Decimal | None, scale: int) -> bytes | None:
    """Return the digits of a decimal as Java's ``BigInteger.toByteArray`` does."""
    if value is None:
        return None
    number = int(value.scaleb(scale))
    return number.to_bytes(
        (number if number >= 0 else ~number).bit_length() // 8 + 1, "big", signed=True
    )


def _from_unscaled(data: bytes, scale: int) -> decimal.Decimal:
    return decimal.Decimal(int.from_bytes(data, "big", signed=True)).scaleb(-scale)
