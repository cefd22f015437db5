"""Conversion of schemas to Spark types and back, and the check that the data has the propagated schemas.

The types are consistent with :mod:`localcdap.api.arrow`: a timestamp is Spark's TIMESTAMP in a session whose
time zone is UTC, a ``datetime`` is TIMESTAMP_NTZ, times of day are TIME, enums are strings and proper unions
are structs.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from typing import TYPE_CHECKING, Any, Final

import msgspec

from localcdap.api.arrow import MAX_DECIMAL_PRECISION, list_union_tags
from localcdap.api.errors import SchemaError, StageError
from localcdap.api.schema import LogicalType, Schema, Type
from localcdap.api.sql_names import quote_column
from localcdap.engine.messages.flow import Stream
from localcdap.engine.plan.error_attribution import to_stage_error

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


_THREADS: Final = 2
"""Spark keeps the part of a plan that it has analysed for the next analysis of the session. More threads
analyse the same parts at once: of a chain of 20 stages, 8 threads took 0.37 s on 2 cores, and 2 took 0.15 s.
"""


class SchemaCheck(msgspec.Struct):
    """A DataFrame that a plugin made for a stream, and the schema that the stream should have."""

    stream: Stream
    schema: Schema
    frame: DataFrame


def check_schemas(checks: Sequence[SchemaCheck]) -> None:
    """Compare DataFrames with their schemas before anything is read.

    Names, order and types must be equal; nullability is not compared. Each analysis is a round trip to
    Spark.

    :raises StageError: for the first stage, in the order of the pipeline, that is wrong.
    """
    with ThreadPoolExecutor(_THREADS, thread_name_prefix="check") as threads:
        analyses = [threads.submit(_fetch_columns, each.frame) for each in checks]
    for each, analysis in zip(checks, analyses, strict=True):
        error = analysis.exception()
        if error is not None:
            raise to_stage_error(error, each.stream.stage) from error
        _compare(each, analysis.result())


def _fetch_columns(frame: DataFrame) -> StructType:
    columns: StructType = frame.schema
    return columns


def _compare(check: SchemaCheck, columns: StructType) -> None:
    for name, declared, actual in list_differences(check.schema, columns):
        stage = check.stream.stage
        port = f" on port '{check.stream.port}'" if check.stream.port is not None else ""
        raise StageError(
            f"Stage '{stage}': field '{name}'{port} is {declared} in the output schema, but {actual} in "
            "the data.",
            "Correct the output schema of the stage, or its plugin's 'configure'.",
            stage=stage,
        )


def list_differences(schema: Schema, struct: StructType) -> Iterator[tuple[str, str, str]]:
    """Yield how the columns of a DataFrame differ from a schema: field, declared type, actual type.

    Names, order and types are compared; nullability is not.
    """
    wanted = spark_schema(schema)
    if wanted.names != struct.names:
        yield from _list_name_differences(wanted, struct)
        return
    for declared, actual in zip(wanted.fields, struct.fields, strict=True):
        if _normalize_type(declared.dataType) != _normalize_type(actual.dataType):
            yield declared.name, declared.dataType.simpleString(), actual.dataType.simpleString()


def _list_name_differences(
    wanted: StructType, struct: StructType
) -> Iterator[tuple[str, str, str]]:
    for field in wanted.fields:
        if field.name not in struct.names:
            yield field.name, field.dataType.simpleString(), "nothing"
    for field in struct.fields:
        if field.name not in wanted.names:
            yield field.name, "nothing", field.dataType.simpleString()
    if sorted(wanted.names) == sorted(struct.names):
        moved = next(a for a, b in zip(wanted.names, struct.names, strict=True) if a != b)
        yield moved, f"order {', '.join(wanted.names)}", f"order {', '.join(struct.names)}"


def _normalize_type(type: DataType) -> Any:
    """Return a type without nullability, precision of a time, and collation."""
    from pyspark.sql.types import ArrayType, DecimalType, MapType, StructType

    if isinstance(type, StructType):
        return [(f.name, _normalize_type(f.dataType)) for f in type.fields]
    if isinstance(type, ArrayType):
        return ["array", _normalize_type(type.elementType)]
    if isinstance(type, MapType):
        return ["map", _normalize_type(type.keyType), _normalize_type(type.valueType)]
    if isinstance(type, DecimalType):
        return ("decimal", type.precision, type.scale)
    return type.typeName().split("(")[0]
