"""Values made those of the declared schema, and what is known of a schema before there are values."""

from __future__ import annotations

import datetime
import decimal
import math

import pytest

from localcdap.api.directive import DirectiveError
from localcdap.api.directive.rows import Columns, Row
from localcdap.api.schema import LogicalType, Schema
from localcdap.plugin_lib.wrangler.recipe.output import OutputConverter
from localcdap.plugin_lib.wrangler.recipe.propagation import can_become, find_schema_mismatches

UTC = datetime.UTC
DAY = datetime.date(2026, 1, 2)
AT = datetime.datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
D = decimal.Decimal
CASES = [
    (Schema.INT, "12", 12),
    (Schema.INT, "+12", 12),
    (Schema.INT, " ", None),
    (Schema.INT, "", None),
    (Schema.INT, None, None),
    (Schema.INT, -(2**31), -(2**31)),
    (Schema.LONG, str(2**62), 2**62),
    (Schema.LONG, 5, 5),
    (Schema.DOUBLE, " 1.5e3 ", 1500.0),
    (Schema.DOUBLE, "1.5f", 1.5),
    (Schema.DOUBLE, "-Infinity", -math.inf),
    (Schema.DOUBLE, D("1.25"), 1.25),
    (Schema.DOUBLE, 3, 3.0),
    (Schema.BOOLEAN, "TRUE", True),
    (Schema.BOOLEAN, "yes", False),
    (Schema.BOOLEAN, True, True),
    (Schema.STRING, 12, "12"),
    (Schema.STRING, 1e10, "1.0E10"),
    (Schema.STRING, True, "true"),
    (Schema.STRING, "", ""),
    (Schema.STRING, DAY, "2026-01-02"),
    (Schema.BYTES, "ä", "ä".encode()),
    (Schema.BYTES, b"x", b"x"),
    (Schema.DATE, DAY, DAY),
    (Schema.DATE, "2026-01-02", DAY),
    (Schema.TIMESTAMP, AT, AT),
    (Schema.TIMESTAMP, "2026-01-02T03:04:05Z[UTC]", AT),
    (Schema.DATETIME, AT.replace(tzinfo=None), AT.replace(tzinfo=None)),
    (Schema.decimal(5, 2), D("1.5"), D("1.50")),
    (Schema.decimal(5, 2), "1.25", D("1.25")),
    (Schema.decimal(5, 2), 7, D("7.00")),
    (Schema.array(Schema.INT.as_nullable), ["1", 2, None], [1, 2, None]),
    (Schema.map(Schema.STRING, Schema.LONG), {"a": "1"}, {"a": 1}),
    (Schema.record("r", [("a", Schema.INT.as_nullable)]), {"a": "1", "b": 2}, {"a": 1}),
]
REFUSED = [
    (Schema.INT, "1.5", "Unable to convert '1.5' to integer for field name 'f'"),
    (Schema.INT, " 12", "Unable to convert ' 12' to integer"),
    (Schema.INT, str(2**31), "Unable to convert '2147483648' to integer"),
    (Schema.INT, 1.5, "field 'f' is integer, but the value is of type 'float'"),
    (Schema.INT, "9" * 5000, "Unable to convert"),
    (Schema.LONG, "x", "Unable to convert 'x' to long"),
    (Schema.INT, 2**31, "field 'f' is integer, but 2147483648 does not fit it"),
    (Schema.INT, -(2**31) - 1, "field 'f' is integer, but -2147483649 does not fit it"),
    (Schema.LONG, 2**63, "field 'f' is long, but 9223372036854775808 does not fit it"),
    (Schema.DOUBLE, "one", "Unable to convert 'one' to double"),
    (Schema.BOOLEAN, 1, "field 'f' is boolean"),
    (Schema.DATE, "yesterday", "Unable to convert 'yesterday' to date"),
    (Schema.DATE, AT, "field 'f' is date"),
    (Schema.decimal(5, 2), "1.255", "Unable to convert '1.255' to decimal"),
    (Schema.decimal(5, 2), 12345, "Unable to convert '12345' to decimal"),
    (Schema.array(Schema.INT), "x", "Unable to decode array 'f'"),
]


def convert_value(schema: Schema, value: object) -> object:
    converter = OutputConverter(Schema.record("out", [("f", schema)]))
    return converter.convert(Row(F=value))["f"]


@pytest.mark.parametrize(("schema", "value", "expected"), CASES, ids=str)
def test_values_become_those_of_the_schema(schema, value, expected):
    made = convert_value(schema.as_nullable, value)

    assert made == expected
    assert type(made) is type(expected)


@pytest.mark.parametrize(("schema", "value", "message"), REFUSED, ids=lambda each: str(each)[:40])
def test_what_cannot_become_one_is_reported(schema, value, message):
    with pytest.raises(DirectiveError) as caught:
        convert_value(schema, value)

    assert message in str(caught.value)


def test_a_field_that_must_have_a_value_refuses_rows_without():
    with pytest.raises(
        DirectiveError, match="Field 'f' of type 'STRING' .* cannot be set to 'NULL'"
    ):
        convert_value(Schema.STRING, None)


@pytest.mark.parametrize(
    ("source", "target", "expected"),
    [
        (Schema.STRING, Schema.INT, True),
        (Schema.INT, Schema.STRING, True),
        (Schema.INT, Schema.LONG, True),
        (Schema.LONG, Schema.INT, True),
        (Schema.LONG, Schema.BOOLEAN, False),
        (Schema.DOUBLE, Schema.INT, False),
        (Schema.DATE, Schema.STRING, True),
        (Schema.DATE, Schema.INT, False),
        (Schema.STRING, Schema.DATE, True),
        (Schema.DATE, Schema.TIMESTAMP, False),
        (Schema.TIMESTAMP, Schema.of(LogicalType.TIMESTAMP_MILLIS), True),
        (Schema.INT, Schema.decimal(5), True),
        (Schema.decimal(5), Schema.DOUBLE, True),
        (Schema.STRING, Schema.array(Schema.STRING), False),
        (Schema.NULL, Schema.INT, True),
        (Schema.BOOLEAN, Schema.INT, False),
        (Schema.record("r", []), Schema.map(Schema.STRING, Schema.STRING), True),
    ],
    ids=str,
)
def test_which_types_can_become_which(source, target, expected):
    assert can_become(source, target.as_nullable) is expected


def test_declared_fields_that_no_row_can_fill_are_reported():
    columns = Columns([("a", Schema.DOUBLE), ("b", None)])
    declared = Schema.record(
        "out",
        [
            ("A", Schema.INT),
            ("b", Schema.INT),
            ("c", Schema.STRING),
            ("d", Schema.STRING.as_nullable),
            ("e", Schema.decimal(77, 38).as_nullable),
        ],
    )

    found = {
        each.field: each.message
        for each in find_schema_mismatches(columns, declared)
        if not each.is_warning
    }

    assert found == {
        "A": "Field 'A' is a double after the recipe, and cannot become an int as the output schema says.",
        "c": "No directive makes the field 'c' of the output schema, which must not be null.",
        "e": "Field 'e' has 77 digits in the output schema, and Spark's decimals at most 38.",
    }
    assert [
        each.field for each in find_schema_mismatches(columns, declared) if each.is_warning
    ] == ["d"]
    columns.open = True
    assert [each.field for each in find_schema_mismatches(columns, declared)] == ["A", "e"]
