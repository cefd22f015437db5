"""Types of BigQuery's columns, and which fields fit into them (CDAP ``BigQueryUtil``)."""

from __future__ import annotations

from typing import Final

from localcdap.api import LogicalType, Schema, Type

_TYPES: Final[dict[Type | LogicalType, str]] = {
    Type.BOOLEAN: "BOOLEAN",
    Type.INT: "INTEGER",
    Type.LONG: "INTEGER",
    Type.FLOAT: "FLOAT",
    Type.DOUBLE: "FLOAT",
    Type.BYTES: "BYTES",
    Type.STRING: "STRING",
    Type.ENUM: "STRING",
    Type.RECORD: "RECORD",
    LogicalType.DATE: "DATE",
    LogicalType.TIME_MILLIS: "TIME",
    LogicalType.TIME_MICROS: "TIME",
    LogicalType.TIMESTAMP_MILLIS: "TIMESTAMP",
    LogicalType.TIMESTAMP_MICROS: "TIMESTAMP",
    LogicalType.DATETIME: "DATETIME",
    LogicalType.DECIMAL: "NUMERIC",
}
_STORED: Final[dict[str, Schema]] = {
    "INTEGER": Schema.LONG,
    "FLOAT": Schema.DOUBLE,
    "TIME": Schema.TIME,
    "TIMESTAMP": Schema.TIMESTAMP,
}
"""Column types that are wider than some of the types of fields."""
_FIELDS: Final = {
    "INTEGER": "long",
    "FLOAT": "double",
    "BOOLEAN": "boolean",
    "BYTES": "bytes",
    "RECORD": "record",
    "STRING": "string or datetime",
    "DATETIME": "datetime or string",
    "DATE": "date",
    "TIME": "time",
    "TIMESTAMP": "timestamp",
    "NUMERIC": "decimal",
}
"""The types of fields for the types of columns, in messages (``BigQueryUtil.BQ_TYPE_MAP``)."""
NUMBERS: Final = frozenset(("INTEGER", "FLOAT", "NUMERIC"))
_TEXTS: Final = frozenset(("STRING", "DATETIME"))
_NUMERIC: Final = Schema.decimal(38, 9)
"""The type of NUMERIC columns: 29 digits before the point and 9 after it."""
_MOST_DIGITS: Final = 76
_MOST_DECIMALS: Final = 38
"""Precision and scale of BIGNUMERIC."""


def get_type(schema: Schema) -> str | None:
    """Return the name of BigQuery's type for a field, for an array that of its items; None when there is
    none (maps, unions). ``NUMERIC`` also stands for BIGNUMERIC.
    """
    inner = schema.non_nullable
    if inner.items is not None:
        return get_type(inner.items)
    return _TYPES.get(inner.logical_type or inner.type)


def describe_type(schema: Schema) -> str:
    """Return the types of the fields that a column accepts, for messages."""
    name = get_type(schema)
    found = schema.non_nullable.display_name if name is None else _FIELDS[name]
    return f"array of {found}" if schema.non_nullable.items is not None else found


def to_column(schema: Schema) -> Schema:
    """Return the schema that the column of a new table has for a field: as wide as in BigQuery.

    Integers are longs and fractions doubles. A decimal is NUMERIC, or has its scale and 38 digits where
    NUMERIC cannot hold it (``BigQuerySinkUtils.getTableDataType``). Types that BigQuery lacks stay.
    """
    inner = schema.non_nullable
    if inner.items is not None:
        wide = Schema.array(to_column(inner.items))
    elif inner.type is Type.RECORD and inner.fields:
        wide = Schema.record(
            inner.name or "record", [(each.name, to_column(each.schema)) for each in inner]
        )
    elif inner.precision is not None:
        whole = inner.precision - (inner.scale or 0)
        fits = (inner.scale or 0) <= 9 and whole <= 29
        wide = _NUMERIC if fits else Schema.decimal(max(38, inner.precision), inner.scale or 0)
    else:
        wide = _STORED.get(get_type(inner) or "", inner)
    return wide.as_nullable if schema.is_nullable else wide


def to_64_bits(schema: Schema) -> Schema:
    """Return a column's schema with INT64 for 32-bit integers and FLOAT64 for floats, nested ones too."""
    inner = schema.non_nullable
    if inner.items is not None:
        wide = Schema.array(to_64_bits(inner.items))
    elif inner.type is Type.RECORD and inner.fields:
        members = [(member.name, to_64_bits(member.schema)) for member in inner]
        wide = Schema.record(inner.name or "record", members)
    else:
        wide = {Schema.INT: Schema.LONG, Schema.FLOAT: Schema.DOUBLE}.get(inner, inner)
    return wide.as_nullable if schema.is_nullable else wide


def accepts(column: Schema, field: Schema) -> bool:
    """Return whether a column accepts a field (``BigQueryUtil.validateFieldSchemaMatches``).

    The parts of nested types are compared when rows are written. A field or column that is always null fits.
    """
    if column.non_nullable == field.non_nullable or Type.NULL in (column.type, field.type):
        return True
    if (column.non_nullable.items is None) is not (field.non_nullable.items is None):
        return False
    held, given = get_type(column), get_type(field)
    return held is not None and (held == given or {held, given} == _TEXTS)


def name_column_type(field: Schema) -> str | None:
    """Return a name of a column's type that is equal for fields which one column accepts, see
    :func:`accepts`; None for a field that is always null.
    """
    inner = field.non_nullable
    if inner.type is Type.NULL:
        return None
    name = get_type(inner) or inner.display_name
    name = "STRING or DATETIME" if name in _TEXTS else name
    return name if inner.items is None else f"array of {name}"


def is_too_large(field: Schema) -> bool:
    """Return whether a decimal has more digits than a column of BigQuery holds."""
    inner = field.non_nullable
    if inner.precision is None:
        return False
    return inner.precision > _MOST_DIGITS or (inner.scale or 0) > _MOST_DECIMALS


def can_convert(field: Schema, column: Schema) -> bool:
    """Return whether values of a field can be written as another type.

    BigQuery reads numbers, dates and times from texts, and texts from every simple value. CDAP does not
    compare the types of the sink's schema and of its input, and leaves it to BigQuery.
    """
    given, wanted = field.non_nullable, column.non_nullable
    if given == wanted or Type.NULL in (given.type, wanted.type):
        return True
    if not (given.is_simple and wanted.is_simple):
        return given.type is wanted.type
    kinds = {get_type(given), get_type(wanted)}
    if (
        len(kinds) == 1
        or "STRING" in kinds
        or kinds <= NUMBERS
        or kinds == {"DATETIME", "TIMESTAMP"}
    ):
        return True
    return get_type(given) == "DATE" and kinds & {"DATETIME", "TIMESTAMP"} != set()
