"""Columns as the types of a schema: no value is cut, rounded or turned into another one without an error."""

from __future__ import annotations

from typing import Any

import pytest

from localcdap.api.schema import Schema
from localcdap.plugin_lib.spark.conversion import conform_columns, from_text

pytestmark = pytest.mark.spark


class Context:
    """The part of a context that a conversion uses."""

    def fail(self, message: str, action: str | None = None) -> Exception:
        return ValueError(message)

    def raising(self, message: Any, record: Any = None) -> Any:
        from pyspark.sql import functions as f

        return f.raise_error(message)


def record(**fields: Schema) -> Schema:
    return Schema.record("r", list(fields.items()))


INTS = Schema.array(Schema.INT)
PART = record(n=Schema.INT)


def convert(spark: Any, values: dict[str, str], **wanted: Schema) -> dict[str, Any]:
    """The values, given as expressions of Spark by field, as the wanted types."""
    rows = spark.sql(f"SELECT {', '.join(f'{sql} AS {name}' for name, sql in values.items())}")
    found = rows.select(conform_columns(Context(), rows, record(**wanted))).collect()
    return found[0].asDict(recursive=True)


def test_numbers_that_fit_are_converted(spark):
    found = convert(
        spark,
        {
            "a": "CAST(2.00 AS DECIMAL(10, 2))",
            "b": "2D",
            "c": "7L",
            "d": "CAST(1.50 AS DECIMAL(10, 2))",
            "e": "0.1D",
            "f": "CAST('Infinity' AS DOUBLE)",
            "g": "array(1D, null)",
            "h": "named_struct('n', 3L, 'more', 1)",
            "i": "map(1L, 2D)",
            "j": "CAST(null AS DOUBLE)",
        },
        a=Schema.LONG,
        b=Schema.INT,
        c=Schema.INT,
        d=Schema.decimal(8, 1),
        e=Schema.FLOAT,
        f=Schema.FLOAT,
        g=Schema.array(Schema.INT.as_nullable),
        h=PART,
        i=Schema.map(Schema.INT, Schema.INT),
        j=Schema.INT.as_nullable,
    )
    assert found.pop("e") == pytest.approx(0.1)
    assert [str(value) for value in found.values()] == [
        *("2", "2", "7", "1.5", "inf", "[1, None]", "{'n': 3}", "{1: 2}", "None"),
    ]


@pytest.mark.parametrize(
    ("sql", "wanted", "told"),
    [
        ("CAST(1.50 AS DECIMAL(10, 2))", Schema.INT, "'x' must be of type int, but it is 1.50."),
        ("2.7D", Schema.LONG, "'x' must be of type long, but it is 2.7."),
        ("CAST('NaN' AS DOUBLE)", Schema.INT, "'x' must be of type int, but it is NaN."),
        ("2147483648L", Schema.INT, "'x' must be of type int, but it is 2147483648."),
        ("1e300D", Schema.FLOAT, "'x' must be of type float, but it is 1.0E300."),
        (
            "CAST(1.25 AS DECIMAL(10, 2))",
            Schema.decimal(10, 1),
            "'x' must be of type decimal(10, 1), but it is 1.25.",
        ),
        ("array(1.5D)", INTS, "'x' must be of type int, but it is 1.5."),
        ("named_struct('n', 1.5D)", PART, "'x.n' must be of type int, but it is 1.5."),
        ("array(named_struct('n', 1.5D))", Schema.array(PART), "'x.n' must be of type int"),
        ("map('a', 1.5D)", Schema.map(Schema.STRING, Schema.INT), "'x' must be of type int"),
    ],
)
def test_numbers_that_do_not_fit_fail_with_their_field_and_value(spark, sql, wanted, told):
    with pytest.raises(Exception, match=".") as caught:
        convert(spark, {"x": sql}, x=wanted)
    assert told in str(caught.value)


@pytest.mark.parametrize(
    ("sql", "wanted"),
    [
        ("TIMESTAMP '2026-01-02 10:00:00'", Schema.DATE),
        ("'1'", Schema.INT),
        ("array('a')", INTS),
        ("named_struct('n', 'a')", PART),
        ("named_struct('m', 1)", PART),
    ],
)
def test_other_types_are_refused_before_a_row_is_read(spark, sql, wanted):
    with pytest.raises(
        ValueError, match="field 'x' is of type .* in the data, but its schema says"
    ):
        convert(spark, {"x": sql}, x=wanted)


PARSED = [
    (Schema.DATE, "2024-05-01", "2024-05-01"),
    (Schema.DATE, " 2024-02-29 ", "2024-02-29"),
    (Schema.DATE, "2023-02-29", None),
    *((Schema.DATE, text, None) for text in ("45123", "2024", "2024-05", "2024-5-1", "20240501")),
    *((Schema.DATE, text, None) for text in ("2024-05-01T00:00", "45123-01-01", "2024-05-01x")),
    (Schema.DATETIME, "2024-05-01T10:20:30.5", "2024-05-01 10:20:30.500000"),
    *((Schema.DATETIME, text, None) for text in ("2024", "2024-05", "2024-5-1T10:20:30", "10:20")),
    (Schema.TIMESTAMP, "2024-05-01T10:20:30Z", "2024-05-01 10:20:30"),
    *((Schema.TIMESTAMP, text, None) for text in ("45123", "2024-05", "-2024")),
    (Schema.decimal(10, 2), "1.05", "1.05"),
    (Schema.decimal(10, 2), "1.0500", "1.05"),
    (Schema.decimal(10, 2), "-105e-2", "-1.05"),
    (Schema.decimal(10, 2), "1.05E0", "1.05"),
    (Schema.decimal(10, 2), "1000e-3", "1.00"),
    (Schema.decimal(10, 2), "12e3", "12000.00"),
    (Schema.decimal(10, 2), "0e-9", "0.00"),
    (Schema.decimal(10, 2), ".5e+1", "5.00"),
    (Schema.decimal(2, 0), "1.2e1", "12"),
    *((Schema.decimal(10, 2), text, None) for text in ("1005e-3", "1e-9", "1.005", "1.005e0")),
    *((Schema.decimal(10, 2), text, None) for text in ("1e8", "e5", "1e", "x", "1e99999999999")),
    (Schema.decimal(2, 0), "1.25e1", None),
]


def test_texts_become_values_or_are_none(spark):
    from pyspark.sql import functions as f

    rows = spark.range(1).select(
        [
            from_text(f.lit(text), schema).cast("string").alias(str(number))
            for number, (schema, text, _) in enumerate(PARSED)
        ]
    )
    values = list(rows.collect()[0])
    for (schema, text, expected), value in zip(PARSED, values, strict=True):
        value = value.rstrip("0") if value is not None and ":" in value else value
        assert value == (expected.rstrip("0") if expected and ":" in expected else expected), (
            schema,
            text,
        )
