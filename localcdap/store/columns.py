"""The DuckDB types of schemas, and quoting of SQL identifiers and strings."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from localcdap.api.arrow import MAX_DECIMAL_PRECISION, list_union_tags
from localcdap.api.errors import StoreError
from localcdap.api.schema import LogicalType, Schema, Type
from localcdap.api.sql_names import quote_identifier

_SIMPLE: Final = {
    Type.NULL: "INTEGER",  # a column that is always null; DuckDB files have no type for that
    Type.BOOLEAN: "BOOLEAN",
    Type.INT: "INTEGER",
    Type.LONG: "BIGINT",
    Type.FLOAT: "FLOAT",
    Type.DOUBLE: "DOUBLE",
    Type.BYTES: "BLOB",
    Type.STRING: "VARCHAR",
    Type.ENUM: "VARCHAR",
}
_LOGICAL: Final = {
    LogicalType.DATE: "DATE",
    LogicalType.TIME_MILLIS: "TIME",
    LogicalType.TIME_MICROS: "TIME",
    LogicalType.TIMESTAMP_MILLIS: "TIMESTAMPTZ",
    LogicalType.TIMESTAMP_MICROS: "TIMESTAMPTZ",
    LogicalType.DATETIME: "TIMESTAMP",
}


def to_column_type(schema: Schema) -> str:
    """Return the DuckDB type of a schema, which always allows null. A union is a STRUCT with one field per
    member, as in Arrow.

    :raises StoreError: for recursive records, decimals over 38 digits, and records whose field names
        differ in case only, which DuckDB treats as equal.
    """
    inner = schema.non_nullable
    if inner.logical_type is not None:
        return _LOGICAL.get(inner.logical_type) or _to_decimal_type(inner)
    match inner.type:
        case Type.ARRAY if inner.items is not None:
            return f"{to_column_type(inner.items)}[]"
        case Type.MAP if inner.keys is not None and inner.values is not None:
            return f"MAP({to_column_type(inner.keys)}, {to_column_type(inner.values)})"
        case Type.RECORD:
            if not inner.fields:
                raise StoreError(
                    f"Record '{inner.name}' is empty or contains itself; neither has a table."
                )
            return _to_struct_type(inner.field_names, [f.schema for f in inner])
        case Type.UNION:
            members = [m for m in inner.members if m.type is not Type.NULL]
            return _to_struct_type(list_union_tags(inner), members)
        case _:
            return _SIMPLE[inner.type]


def check_names(names: Sequence[str]) -> None:
    """Check that the names can be columns of one table.

    :raises StoreError: for an empty name, and for two names that differ in case only.
    """
    seen: dict[str, str] = {}
    for name in names:
        if not name or "\0" in name:
            raise StoreError(f"A field cannot be called {name!r} in a table.", "Rename the field.")
        other = seen.setdefault(name.lower(), name)
        if other is not name:
            raise StoreError(
                f"Fields '{other}' and '{name}' differ in case only; a table treats them as equal.",
                "Rename one of them.",
            )


def _to_decimal_type(schema: Schema) -> str:
    precision, scale = schema.precision or 0, schema.scale or 0
    if not 0 <= scale <= precision <= MAX_DECIMAL_PRECISION:
        raise StoreError(
            f"A decimal of {precision} digits, {scale} of them after the point, has no column type; "
            f"the most is {MAX_DECIMAL_PRECISION} digits."
        )
    return f"DECIMAL({precision}, {scale})"


def _to_struct_type(names: Sequence[str], schemas: Sequence[Schema]) -> str:
    check_names(names)
    members = (
        f"{quote_identifier(n)} {to_column_type(s)}" for n, s in zip(names, schemas, strict=True)
    )
    return f"STRUCT({', '.join(members)})"
