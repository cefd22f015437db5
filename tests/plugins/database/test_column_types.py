"""The types of fields for columns, with what Spark's JDBC reader reports about each column."""

from __future__ import annotations

import doctest
from typing import Any

import pyarrow as pa
import pytest
from database_plugins import catalogue, column_limits, column_types, keyed_writes
from database_plugins.column_types import (
    COMMON,
    MYSQL,
    ORACLE,
    POSTGRES,
    SQL_SERVER,
    ColumnTypes,
    UnsupportedTypeError,
    build_rounding,
    is_rounded,
    to_field_schema,
    to_table_schema,
)
from database_plugins.postgresql import PostgresSource

from localcdap.api.schema import Schema
from tests.plugins.database.support import configure, messages


def column(spark_type: str, type_name: str, scale: int = 0) -> Any:
    from pyspark.sql.types import StructField

    metadata = {"jdbcClientType": type_name, "scale": scale}
    return StructField("c", to_type(spark_type), True, metadata)


def to_type(text: str) -> Any:
    from pyspark.sql import types

    if text.startswith("decimal"):
        precision, scale = text.removeprefix("decimal(").removesuffix(")").split(",")
        return types.DecimalType(int(precision), int(scale))
    return {
        "array": types.ArrayType(types.IntegerType()),
        "bigint": types.LongType(),
        "binary": types.BinaryType(),
        "boolean": types.BooleanType(),
        "date": types.DateType(),
        "double": types.DoubleType(),
        "float": types.FloatType(),
        "int": types.IntegerType(),
        "smallint": types.ShortType(),
        "string": types.StringType(),
        "timestamp": types.TimestampType(),
        "timestamp_ntz": types.TimestampNTZType(),
    }[text]


# (table, Spark's type, the driver's type, the driver's scale, the type of the field)
CASES: list[tuple[ColumnTypes, str, str, int, Schema]] = [
    (POSTGRES, "smallint", "int2", 0, Schema.INT),
    (POSTGRES, "int", "serial", 0, Schema.INT),
    (POSTGRES, "bigint", "int8", 0, Schema.LONG),
    (POSTGRES, "float", "float4", 8, Schema.FLOAT),
    (POSTGRES, "double", "float8", 17, Schema.DOUBLE),
    (POSTGRES, "decimal(38,18)", "numeric", 0, Schema.STRING),
    (POSTGRES, "decimal(38,18)", "numeric", 18, Schema.decimal(38, 18)),
    (POSTGRES, "decimal(38,0)", "numeric", 0, Schema.decimal(38, 0)),
    (POSTGRES, "decimal(10,3)", "numeric", 3, Schema.decimal(10, 3)),
    (POSTGRES, "decimal(38,0)", "numeric", 10, Schema.decimal(38, 10)),
    (POSTGRES, "string", "money", 0, Schema.STRING),
    (POSTGRES, "boolean", "bool", 0, Schema.BOOLEAN),
    (POSTGRES, "boolean", "bit", 0, Schema.STRING),
    (POSTGRES, "binary", "bit", 0, Schema.STRING),
    (POSTGRES, "string", "varbit", 0, Schema.STRING),
    (POSTGRES, "binary", "bytea", 0, Schema.BYTES),
    (POSTGRES, "date", "date", 0, Schema.DATE),
    (POSTGRES, "timestamp", "timetz", 6, Schema.STRING),
    (POSTGRES, "timestamp_ntz", "timestamp", 6, Schema.DATETIME),
    (POSTGRES, "timestamp", "timestamptz", 6, Schema.TIMESTAMP),
    (POSTGRES, "array", "_int4", 0, Schema.STRING),
    (POSTGRES, "decimal(20,0)", "oid", 0, Schema.LONG),
    *(
        (POSTGRES, "string", name, 0, Schema.STRING)
        for name in ("interval", "uuid", "json", "jsonb", "xml", "inet", "cidr", "point", "mood")
    ),
    (MYSQL, "date", "YEAR", 0, Schema.INT),
    (MYSQL, "bigint", "MEDIUMINT UNSIGNED", 0, Schema.INT),
    (MYSQL, "bigint", "INT UNSIGNED", 0, Schema.LONG),
    (MYSQL, "decimal(20,0)", "BIGINT UNSIGNED", 0, Schema.decimal(20, 0)),
    (MYSQL, "boolean", "BIT", 0, Schema.BOOLEAN),
    (MYSQL, "timestamp_ntz", "DATETIME", 0, Schema.TIMESTAMP),
    (MYSQL, "timestamp", "TIMESTAMP", 0, Schema.TIMESTAMP),
    (MYSQL, "string", "JSON", 0, Schema.STRING),
    (SQL_SERVER, "timestamp_ntz", "datetime", 3, Schema.DATETIME),
    (SQL_SERVER, "timestamp_ntz", "datetime2", 7, Schema.DATETIME),
    (SQL_SERVER, "timestamp_ntz", "smalldatetime", 0, Schema.DATETIME),
    (SQL_SERVER, "timestamp", "datetimeoffset", 7, Schema.TIMESTAMP),
    (SQL_SERVER, "binary", "geometry", 0, Schema.BYTES),
    (SQL_SERVER, "decimal(19,4)", "money", 4, Schema.decimal(19, 4)),
    (SQL_SERVER, "string", "uniqueidentifier", 0, Schema.STRING),
    (ORACLE, "decimal(38,10)", "NUMBER", -127, Schema.STRING),
    (ORACLE, "decimal(38,10)", "FLOAT", -127, Schema.DOUBLE),
    (ORACLE, "decimal(10,2)", "NUMBER", 2, Schema.decimal(10, 2)),
    (ORACLE, "timestamp_ntz", "DATE", 0, Schema.DATETIME),
    (ORACLE, "timestamp_ntz", "TIMESTAMP(6)", 6, Schema.DATETIME),
    (ORACLE, "timestamp", "TIMESTAMP(6) WITH TIME ZONE", 6, Schema.TIMESTAMP),
    (ORACLE, "timestamp", "TIMESTAMP WITH LOCAL TIME ZONE", 6, Schema.DATETIME),
    (ORACLE, "float", "BINARY_FLOAT", 0, Schema.FLOAT),
    (ORACLE, "double", "BINARY_DOUBLE", 0, Schema.DOUBLE),
    (ORACLE, "binary", "LONG RAW", 0, Schema.BYTES),
    (ORACLE, "string", "INTERVALDS", 0, Schema.STRING),
    (COMMON, "timestamp_ntz", "timestamp", 6, Schema.TIMESTAMP),
    (COMMON, "decimal(10,3)", "numeric", 3, Schema.decimal(10, 3)),
]


@pytest.mark.parametrize(("types", "spark_type", "type_name", "scale", "expected"), CASES)
def test_a_field_has_the_type_that_the_schema_reader_of_its_database_gives_it(
    types: ColumnTypes, spark_type: str, type_name: str, scale: int, expected: Schema
):
    assert to_field_schema(column(spark_type, type_name, scale), types) == expected


@pytest.mark.parametrize(
    ("spark_type", "type_name", "text"),
    [
        ("array", "_int4", "Column 'c' has the type _int4, which no field has."),
        (
            "decimal(38,18)",
            "numeric",
            "Column 'c' has the type numeric without a precision, which no field has.",
        ),
    ],
)
def test_a_type_that_the_common_table_lacks_is_refused(spark_type: str, type_name: str, text: str):
    from pyspark.sql.types import StructType

    with pytest.raises(UnsupportedTypeError, match=text):
        to_table_schema(StructType([column(spark_type, type_name)]), "r")


def test_a_column_that_may_be_null_is_a_nullable_field():
    from pyspark.sql.types import StructType

    table = to_table_schema(StructType([column("int", "int4")]), "r", POSTGRES)

    assert table == Schema.record("r", [("c", Schema.INT.as_nullable)])


@pytest.mark.parametrize(
    ("text", "scale", "expected"),
    [
        ("0.25", 1, "0.2"),
        ("0.35", 1, "0.4"),
        ("-0.250", 1, "-0.2"),
        ("2.5", 0, "2"),
        ("1E+3", 2, "1000.00"),
        ("0." + "3" * 60, 38, "0." + "3" * 38),
        ("NaN", 1, "NaN"),
        (None, 1, None),
    ],
)
def test_decimals_are_rounded_half_to_even(text: str | None, scale: int, expected: str | None):
    assert build_rounding(scale)(pa.array([text], pa.string())).to_pylist() == [expected]


def test_only_postgresql_rounds_and_only_what_has_more_decimals():
    numeric = column("decimal(10,3)", "numeric", 3)

    assert is_rounded(numeric, Schema.decimal(10, 1), POSTGRES)
    assert is_rounded(column("decimal(38,18)", "numeric"), Schema.decimal(38, 38), POSTGRES)
    assert not is_rounded(numeric, Schema.decimal(10, 3), POSTGRES)
    assert not is_rounded(numeric, Schema.STRING, POSTGRES)
    assert not is_rounded(numeric, Schema.decimal(10, 1), MYSQL)
    assert PostgresSource.column_types is POSTGRES


def test_an_upsert_applies_the_last_record_of_a_key():
    assert keyed_writes.build_keyed_write("upsert", "t", "s", ["id", "v"], ["id"]) == (
        'INSERT INTO t ("id", "v") SELECT record."id", record."v" FROM s AS record WHERE NOT EXISTS '
        '(SELECT 1 FROM s later WHERE later."id" = record."id" AND later."localcdap_order" > '
        'record."localcdap_order") ORDER BY record."localcdap_order" ON CONFLICT ("id") DO UPDATE SET '
        '"id" = EXCLUDED."id", "v" = EXCLUDED."v"'
    )
    assert keyed_writes.build_keyed_write("update", "t", "s", ["id", "v"], ["id"]).startswith(
        'UPDATE t AS target SET "id" = record."id", "v" = record."v" FROM s AS record '
        'WHERE target."id" = record."id" AND NOT EXISTS ('
    )


@pytest.mark.parametrize("table", ["t", 'sales."a.b"', '"a.b"', "sales.orders"])
def test_the_table_for_the_records_is_in_the_schema_of_the_target(table: str):
    owner = "sales." if table.startswith("sales.") else ""
    assert keyed_writes.build_staging_name(table, "7f") == f'{owner}"localcdap_7f"'


SINK = {"jdbcPluginName": "x", "database": "d", "tableName": "t"}


@pytest.mark.parametrize(
    ("properties", "expected"),
    [
        ({"operationName": "upsert", "relationTableKey": "id"}, []),
        (
            {"operationName": "update"},
            ["Table key must be set if the operation is 'Update' or 'Upsert'."],
        ),
        ({"relationTableKey": "id"}, ["Table key should be null in case of 'INSERT'."]),
        (
            {"operationName": "upsert", "relationTableKey": "key"},
            ["Table key field 'key' does not exist in the schema."],
        ),
        (
            {"operationName": "upsert", "relationTableKey": "id", "columns": "v"},
            ["Table key field 'id' is not one of the columns to write."],
        ),
    ],
)
def test_the_key_of_a_sink_belongs_to_its_operation(
    properties: dict[str, str], expected: list[str]
):
    schema = Schema.record("r", [("id", Schema.INT), ("v", Schema.STRING)])

    for name in ("Postgres", "CloudSQLPostgreSQL"):
        instance = {"connectionName": "c"} if name != "Postgres" else {}
        result = configure("batchsink", name, SINK | instance | properties, given=schema)
        assert messages(result) == expected


def test_other_sinks_only_insert():
    result = configure("batchsink", "Mysql", SINK | {"operationName": "upsert"})

    assert messages(result) == ["Property 'operationName' must be one of insert, not 'upsert'."]


def test_the_examples_are_right():
    for module in (keyed_writes, column_types, column_limits, catalogue):
        assert doctest.testmod(module).failed == 0
