"""Conversion of schemas to Spark types and back, consistent with :mod:`localcdap.api.arrow`.

A timestamp is Spark's TIMESTAMP in a session whose time zone is UTC, a ``datetime`` is TIMESTAMP_NTZ,
times of day are TIME, enums are strings and proper unions are structs.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

from localcdap.api.arrow import MAX_DECIMAL_PRECISION, list_union_tags
from localcdap.api.errors import SchemaError
from localcdap.api.schema import LogicalType, Schema, Type
from localcdap.api.sql_names import quote_column

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame
    from pyspark.sql.types import DataType, StructField, StructType


def spark_schema(schema: Schema, *, nullable: bool = False) -> StructType:
    """Return the columns of records of a schema.

    :param nullable: allow null everywhere, also inside values, whatever the schema says. Arrow refuses to
        convert a null record whose members must not be null, so the output of Python stages is typed like
        this.
    :raises SchemaError: for what Spark cannot hold, see :func:`localcdap.api.arrow.arrow_type`.
    """
    from pyspark.sql.types import StructType

    return StructType([_to_field(f.name, f.schema, nullable) for f in schema])


def spark_type(schema: Schema, *, nullable: bool = False) -> DataType:
    """Return the Spark type of values of a schema.

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
            return StructType([_to_field(f.name, f.schema, nullable) for f in inner.fields])
        case Type.UNION:
            members = [m for m in inner.members if m.type is not Type.NULL]
            tagged = zip(list_union_tags(inner), members, strict=True)
            return StructType(
                [StructField(tag, spark_type(m, nullable=nullable), True) for tag, m in tagged]
            )
        case _:
            return _list_simple_types()[inner.logical_type or inner.type]


def _to_field(name: str, schema: Schema, nullable: bool) -> StructField:
    from pyspark.sql.types import StructField

    type = spark_type(schema, nullable=nullable)
    return StructField(name, type, nullable or _allows_null(schema))


def _allows_null(schema: Schema) -> bool:
    return schema.is_nullable or schema.type is Type.NULL


@cache
def _list_simple_types() -> dict[Type | LogicalType, DataType]:
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


def to_schema(struct: StructType, name: str = "record") -> Schema:
    """Return the record schema of a DataFrame.

    The inverse of :func:`spark_schema`, except that enums become strings and unions become records.

    :raises SchemaError: for a Spark type that no schema has.
    """
    return Schema.record(name, [(f.name, _to_field_schema(f, name)) for f in struct.fields])


def _to_field_schema(field: StructField, path: str) -> Schema:
    schema = _to_value_schema(field.dataType, f"{path}_{field.name}")
    return schema.as_nullable if field.nullable else schema


def _to_value_schema(type: DataType, path: str) -> Schema:
    from pyspark.sql.types import ArrayType, DecimalType, MapType, StructType

    if isinstance(type, DecimalType):
        return Schema.decimal(type.precision, type.scale)
    if isinstance(type, ArrayType):
        items = _to_value_schema(type.elementType, path)
        return Schema.array(items.as_nullable if type.containsNull else items)
    if isinstance(type, MapType):
        values = _to_value_schema(type.valueType, path)
        values = values.as_nullable if type.valueContainsNull else values
        return Schema.map(_to_value_schema(type.keyType, path), values)
    if isinstance(type, StructType):
        return to_schema(type, path)
    found = _list_plain_names().get(type.typeName().split("(")[0])
    if found is None:
        raise SchemaError(f"Column '{path}' has the Spark type {type.simpleString()}.")
    return found


@cache
def _list_plain_names() -> dict[str, Schema]:
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


def make_addressable(frame: DataFrame, names: list[str]) -> DataFrame:
    """Rename columns that ``mapInArrow`` cannot handle, since it takes dots and backticks for syntax.

    The workers address columns by position, see :class:`localcdap.engine.tasks.pass_plan.PassPlan`.
    """
    if not any("." in name or "`" in name for name in names):
        return frame
    return frame.toDF(*(f"c{index}" for index in range(len(names))))


def get_column(name: str) -> Column:
    """Return a column by its name, in which dots mean themselves."""
    from pyspark.sql import functions as f

    return f.col(quote_column(name))
