"""Schemas as Spark types, consistent with :mod:`localcdap.api.arrow`.

A timestamp is Spark's TIMESTAMP in a session whose time zone is UTC, a ``datetime`` is TIMESTAMP_NTZ,
times of day are TIME, enums are strings and proper unions are structs.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import TYPE_CHECKING, Any

from localcdap.api.arrow import MAX_DECIMAL_PRECISION, list_union_tags
from localcdap.api.errors import SchemaError
from localcdap.api.schema import LogicalType, Schema, Type

if TYPE_CHECKING:
    from pyspark.sql.types import DataType, StructField, StructType


def spark_schema(schema: Schema, *, nullable: bool = False) -> StructType:
    """The columns of records of a schema.

    :param nullable: allow null everywhere, also inside values, whatever the schema says. Arrow refuses to
        convert a null record whose members must not be null, so what Python makes is typed like this.
    :raises SchemaError: for what Spark cannot hold, see :func:`localcdap.api.arrow.to_arrow_type`.
    """
    from pyspark.sql.types import StructType

    return StructType([_field(f.name, f.schema, nullable) for f in schema])


def spark_type(schema: Schema, *, nullable: bool = False) -> DataType:
    """The type of a column of the schema's values.

    :param nullable: as for :func:`spark_schema`.
    :raises SchemaError: for what Spark cannot hold.
    """
    from pyspark.sql.types import ArrayType, DecimalType, MapType, StructField, StructType

    inner = schema.non_nullable
    if inner.logical_type is LogicalType.DECIMAL:
        if (inner.precision or 0) > MAX_DECIMAL_PRECISION:
            raise SchemaError(
                f"A decimal of {inner.precision} digits cannot be run; the most is "
                f"{MAX_DECIMAL_PRECISION}."
            )
        return DecimalType(inner.precision or 0, inner.scale or 0)
    match inner.type:
        case Type.ARRAY if inner.items is not None:
            items = spark_type(inner.items, nullable=nullable)
            return ArrayType(items, nullable or _allows_null(inner.items))
        case Type.MAP if inner.keys is not None and inner.values is not None:
            keys = spark_type(inner.keys, nullable=nullable)
            values = spark_type(inner.values, nullable=nullable)
            return MapType(keys, values, nullable or _allows_null(inner.values))
        case Type.RECORD:
            if inner.fields is None:
                raise SchemaError(
                    f"Record '{inner.name}' contains itself; recursive records cannot be run."
                )
            return StructType([_field(f.name, f.schema, nullable) for f in inner.fields])
        case Type.UNION:
            members = [m for m in inner.members if m.type is not Type.NULL]
            tagged = zip(list_union_tags(inner), members, strict=True)
            return StructType(
                [StructField(tag, spark_type(m, nullable=nullable), True) for tag, m in tagged]
            )
        case _:
            return _simple()[inner.logical_type or inner.type]


def _field(name: str, schema: Schema, nullable: bool) -> StructField:
    from pyspark.sql.types import StructField

    type = spark_type(schema, nullable=nullable)
    return StructField(name, type, nullable or _allows_null(schema))


def _allows_null(schema: Schema) -> bool:
    return schema.is_nullable or schema.type is Type.NULL


@cache
def _simple() -> dict[Type | LogicalType, DataType]:
    from pyspark.sql import types

    return {
        Type.NULL: types.NullType(),
        Type.BOOLEAN: types.BooleanType(),
        Type.INT: types.IntegerType(),
        Type.LONG: types.LongType(),
        Type.FLOAT: types.FloatType(),
        Type.DOUBLE: types.DoubleType(),
        Type.BYTES: types.BinaryType(),
        Type.STRING: types.StringType(),
        Type.ENUM: types.StringType(),
        LogicalType.DATE: types.DateType(),
        LogicalType.TIME_MILLIS: types.TimeType(),
        LogicalType.TIME_MICROS: types.TimeType(),
        LogicalType.TIMESTAMP_MILLIS: types.TimestampType(),
        LogicalType.TIMESTAMP_MICROS: types.TimestampType(),
        LogicalType.DATETIME: types.TimestampNTZType(),
    }


def schema_of(struct: StructType, name: str = "record") -> Schema:
    """The record schema of a DataFrame.

    The inverse of :func:`spark_schema`, but for enums (strings here) and unions (records here).

    :raises SchemaError: for a Spark type that no schema has.
    """
    return Schema.record(name, [(f.name, _schema_of_field(f, name)) for f in struct.fields])


def _schema_of_field(field: StructField, path: str) -> Schema:
    schema = _schema_of(field.dataType, f"{path}_{field.name}")
    return schema.as_nullable if field.nullable else schema


def _schema_of(type: DataType, path: str) -> Schema:
    from pyspark.sql.types import ArrayType, DecimalType, MapType, StructType

    if isinstance(type, DecimalType):
        return Schema.decimal(type.precision, type.scale)
    if isinstance(type, ArrayType):
        items = _schema_of(type.elementType, path)
        return Schema.array(items.as_nullable if type.containsNull else items)
    if isinstance(type, MapType):
        values = _schema_of(type.valueType, path)
        values = values.as_nullable if type.valueContainsNull else values
        return Schema.map(_schema_of(type.keyType, path), values)
    if isinstance(type, StructType):
        return schema_of(type, path)
    found = _plain_names().get(type.typeName().split("(")[0])
    if found is None:
        raise SchemaError(f"Column '{path}' has the Spark type {type.simpleString()}.")
    return found


@cache
def _plain_names() -> dict[str, Schema]:
    widened = {"byte": Schema.INT, "short": Schema.INT, "varchar": Schema.STRING}
    named = {
        "void": Schema.NULL,
        "boolean": Schema.BOOLEAN,
        "integer": Schema.INT,
        "long": Schema.LONG,
        "float": Schema.FLOAT,
        "double": Schema.DOUBLE,
        "binary": Schema.BYTES,
        "string": Schema.STRING,
        "char": Schema.STRING,
        "date": Schema.DATE,
        "time": Schema.TIME,
        "timestamp": Schema.TIMESTAMP,
        "timestamp_ntz": Schema.DATETIME,
    }
    return named | widened


def differences(schema: Schema, struct: StructType) -> Iterator[tuple[str, str, str]]:
    """How a DataFrame's columns differ from a schema: field, what is declared, what the DataFrame has.

    Names, order and types count; whether null is allowed does not.
    """
    wanted = spark_schema(schema)
    if wanted.names != struct.names:
        yield from _different_names(wanted, struct)
        return
    for declared, actual in zip(wanted.fields, struct.fields, strict=True):
        if _shape(declared.dataType) != _shape(actual.dataType):
            yield declared.name, declared.dataType.simpleString(), actual.dataType.simpleString()


def _different_names(wanted: StructType, struct: StructType) -> Iterator[tuple[str, str, str]]:
    for field in wanted.fields:
        if field.name not in struct.names:
            yield field.name, field.dataType.simpleString(), "nothing"
    for field in struct.fields:
        if field.name not in wanted.names:
            yield field.name, "nothing", field.dataType.simpleString()
    if sorted(wanted.names) == sorted(struct.names):
        moved = next(a for a, b in zip(wanted.names, struct.names, strict=True) if a != b)
        yield moved, f"order {', '.join(wanted.names)}", f"order {', '.join(struct.names)}"


def _shape(type: DataType) -> Any:
    """A type without nullability, digits of a time, and collation."""
    from pyspark.sql.types import ArrayType, DecimalType, MapType, StructType

    if isinstance(type, StructType):
        return [(f.name, _shape(f.dataType)) for f in type.fields]
    if isinstance(type, ArrayType):
        return ["array", _shape(type.elementType)]
    if isinstance(type, MapType):
        return ["map", _shape(type.keyType), _shape(type.valueType)]
    if isinstance(type, DecimalType):
        return ("decimal", type.precision, type.scale)
    return type.typeName().split("(")[0]
