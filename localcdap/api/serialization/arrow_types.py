"""Arrow types of schemas, and schemas of Arrow types.

A union of several non-null types is a struct with one nullable member per alternative, exactly one of which
is set; for a null value the struct itself is null. Other types become the Arrow type of the same meaning.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Final

from localcdap.api.errors import SchemaError
from localcdap.api.schema import LogicalType, Schema, Type

if TYPE_CHECKING:
    import pyarrow as pa

MAX_DECIMAL_PRECISION: Final = 38
"""The most digits of a decimal in Arrow's decimal128 and in Spark."""


def list_union_tags(union: Schema) -> list[str]:
    """Return the member names of the struct for a union, one for each non-null alternative.

    A tag is the lower-case type, the logical type, or the record's name; repeated tags are numbered.
    """
    tags: list[str] = []
    for member in union.members:
        if member.type is Type.NULL:
            continue
        tag = (member.name or "record") if member.type is Type.RECORD else member.display_name
        number = len(tags)
        unique = tag
        while unique in tags:
            unique = f"{tag}_{number}"
            number += 1
        tags.append(unique)
    return tags


def is_proper_union(schema: Schema) -> bool:
    """Return whether the schema is a union of more than one non-null type."""
    return schema.type is Type.UNION and schema.non_nullable.type is Type.UNION


def to_arrow_type(schema: Schema) -> pa.DataType:
    """Return the Arrow type of a schema.

    :raises SchemaError: for recursive records and decimals of more than 38 digits, which Arrow and Spark
        cannot hold.
    """
    import pyarrow as pa

    inner = schema.non_nullable
    if inner.logical_type is not None:
        return _to_logical_arrow_type(inner)
    match inner.type:
        case Type.ARRAY if inner.items is not None:
            return pa.list_(_to_arrow_field("element", inner.items))
        case Type.MAP if inner.keys is not None and inner.values is not None:
            return pa.map_(to_arrow_type(inner.keys), _to_arrow_field("value", inner.values))
        case Type.RECORD:
            if inner.fields is None:
                raise SchemaError(
                    f"Record '{inner.name}' contains itself; recursive records cannot be run."
                )
            return pa.struct([_to_arrow_field(f.name, f.schema) for f in inner.fields])
        case Type.UNION:
            members = [m for m in inner.members if m.type is not Type.NULL]
            pairs = zip(list_union_tags(inner), members, strict=True)
            return pa.struct([pa.field(tag, to_arrow_type(m), nullable=True) for tag, m in pairs])
        case _:
            return _get_simple_types()[inner.type]


def to_arrow_schema(schema: Schema) -> pa.Schema:
    """Return the Arrow schema of a batch of records."""
    import pyarrow as pa

    return pa.schema([_to_arrow_field(f.name, f.schema) for f in schema])


def _to_arrow_field(name: str, schema: Schema) -> pa.Field:
    import pyarrow as pa

    nullable = schema.is_nullable or schema.type is Type.NULL
    return pa.field(name, to_arrow_type(schema), nullable=nullable)


@lru_cache(maxsize=1)
def _get_simple_types() -> dict[Type, pa.DataType]:
    import pyarrow as pa

    return {
        Type.NULL: pa.null(),
        Type.BOOLEAN: pa.bool_(),
        Type.INT: pa.int32(),
        Type.LONG: pa.int64(),
        Type.FLOAT: pa.float32(),
        Type.DOUBLE: pa.float64(),
        Type.BYTES: pa.binary(),
        Type.STRING: pa.string(),
        Type.ENUM: pa.string(),
    }


def _to_logical_arrow_type(schema: Schema) -> pa.DataType:
    import pyarrow as pa

    match schema.logical_type:
        case LogicalType.DATE:
            return pa.date32()
        case LogicalType.TIME_MILLIS | LogicalType.TIME_MICROS:
            return pa.time64("ns")
        case LogicalType.TIMESTAMP_MILLIS | LogicalType.TIMESTAMP_MICROS:
            return pa.timestamp("us", tz="UTC")
        case LogicalType.DATETIME:
            return pa.timestamp("us")
        case _:
            precision, scale = schema.precision or 0, schema.scale or 0
            if precision > MAX_DECIMAL_PRECISION:
                raise SchemaError(
                    f"A decimal of {precision} digits cannot be run; the most is "
                    f"{MAX_DECIMAL_PRECISION}."
                )
            return pa.decimal128(precision, scale)


def from_arrow_schema(schema: pa.Schema) -> Schema:
    """Return the record schema of Arrow columns.

    :raises SchemaError: for an Arrow type that no schema type stands for.
    """
    return Schema.record("record", [(f.name, _from_arrow_field(f)) for f in schema])


def _from_arrow_field(field: pa.Field) -> Schema:
    schema = _from_arrow_type(field.type, field.name)
    return schema.as_nullable if field.nullable else schema


def _from_arrow_type(type: pa.DataType, name: str) -> Schema:
    import pyarrow as pa

    kinds = pa.types
    if kinds.is_decimal(type):
        return Schema.decimal(type.precision, type.scale)
    if kinds.is_timestamp(type):
        instant = (
            LogicalType.TIMESTAMP_MILLIS if type.unit == "ms" else LogicalType.TIMESTAMP_MICROS
        )
        return Schema.DATETIME if type.tz is None else Schema.of(instant)
    if kinds.is_list(type) or kinds.is_large_list(type):
        return Schema.array(_from_arrow_field(type.value_field))
    if kinds.is_map(type):
        return Schema.map(_from_arrow_type(type.key_type, name), _from_arrow_field(type.item_field))
    if kinds.is_struct(type):
        return Schema.record(name, [(f.name, _from_arrow_field(f)) for f in type])
    plain = (
        (kinds.is_boolean, Schema.BOOLEAN),
        (kinds.is_date, Schema.DATE),
        (kinds.is_time32, Schema.of(LogicalType.TIME_MILLIS)),
        (kinds.is_time, Schema.TIME),
        (kinds.is_string, Schema.STRING),
        (kinds.is_large_string, Schema.STRING),
        (kinds.is_binary, Schema.BYTES),
        (kinds.is_large_binary, Schema.BYTES),
        (kinds.is_fixed_size_binary, Schema.BYTES),
        (kinds.is_float64, Schema.DOUBLE),
        (kinds.is_floating, Schema.FLOAT),
        (kinds.is_null, Schema.NULL),
    )
    for matches, schema in plain:
        if matches(type):
            return schema
    if kinds.is_integer(type):
        return Schema.INT if type.bit_width <= 32 and not kinds.is_uint32(type) else Schema.LONG
    raise SchemaError(f"Field '{name}' has the type {type}, which no schema has.")
