"""The physical and logical types of values."""

from __future__ import annotations

import enum
from typing import Final


class Type(enum.Enum):
    """The physical types; the value is the name in a schema document."""

    NULL = "null"
    BOOLEAN = "boolean"
    INT = "int"
    LONG = "long"
    FLOAT = "float"
    DOUBLE = "double"
    BYTES = "bytes"
    STRING = "string"
    ENUM = "enum"
    ARRAY = "array"
    MAP = "map"
    RECORD = "record"
    UNION = "union"

    @property
    def is_simple(self) -> bool:
        """Whether a value of this type has no parts: all types except enum, array, map, record and union."""
        return self in SIMPLE

    @property
    def is_numeric(self) -> bool:
        """Whether this is a number type."""
        return self in (Type.INT, Type.LONG, Type.FLOAT, Type.DOUBLE)


SIMPLE: Final = frozenset(
    (
        Type.NULL,
        Type.BOOLEAN,
        Type.INT,
        Type.LONG,
        Type.FLOAT,
        Type.DOUBLE,
        Type.BYTES,
        Type.STRING,
    )
)


class LogicalType(enum.Enum):
    """The logical types; the value is the name in a schema document."""

    DATE = "date"
    TIME_MILLIS = "time-millis"
    TIME_MICROS = "time-micros"
    TIMESTAMP_MILLIS = "timestamp-millis"
    TIMESTAMP_MICROS = "timestamp-micros"
    DECIMAL = "decimal"
    DATETIME = "datetime"

    @property
    def base(self) -> Type:
        """The physical type of this logical type."""
        return _BASES[self]


_BASES: Final = {
    LogicalType.DATE: Type.INT,
    LogicalType.TIME_MILLIS: Type.INT,
    LogicalType.TIME_MICROS: Type.LONG,
    LogicalType.TIMESTAMP_MILLIS: Type.LONG,
    LogicalType.TIMESTAMP_MICROS: Type.LONG,
    LogicalType.DECIMAL: Type.BYTES,
    LogicalType.DATETIME: Type.STRING,
}
