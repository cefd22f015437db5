"""Values of BigQuery's SQL at the ends of types, as the reference of GoogleSQL describes them."""

from __future__ import annotations

import datetime
import decimal
from typing import Any

import duckdb
import pytest

from tests.plugins.cloud.databases import open_tables
from tests.plugins.cloud.test_bigquery_execute import module

TABLE = """
    CREATE TABLE "d.t" AS SELECT
        'nan'::DOUBLE AS f, 2.5::DOUBLE AS g, -2.5::DECIMAL(38, 9) AS n, 5::BIGINT AS i, 'a' AS s,
        (-9223372036854775808)::BIGINT AS smallest, DATE '9999-12-31' AS d, DATE '2026-01-01' AS e,
        TIMESTAMP '9999-12-31 23:00:00' AS dt, TIMESTAMPTZ '9999-12-31 23:00:00+00' AS ts, 'x'::BLOB AS b
"""


def evaluate(expression: str) -> Any:
    (found,) = module("statements").translate_statements(f"SELECT {expression} AS v FROM d.t")
    with open_tables(TABLE) as engine:
        ((value,),) = engine.execute(found.sql).fetchall()
    return value


@pytest.mark.parametrize(
    ("expression", "value"),
    [
        ("CASE f WHEN f THEN 1 ELSE 2 END", 2),
        ("CASE f WHEN g THEN 1 WHEN 2.5 THEN 2 WHEN f THEN 3 END", None),
        ("CASE g WHEN f THEN 1 WHEN g THEN 2 END", 2),
        ("CASE s WHEN s THEN 1 END + CASE d WHEN e THEN 1 WHEN d THEN 2 END", 3),
        ("CASE b WHEN b THEN 1 END", 1),
        ("IS_NAN(LEAST(g, f, 1))", True),
        ("IS_NAN(GREATEST(f, g))", True),
        ("LEAST(f, NULL)", None),
        ("LEAST(g, i, 9)", 2.5),
        ("LEAST(n, i)", decimal.Decimal("-2.5")),
        ("LEAST(d, e)", datetime.date(2026, 1, 1)),
        ("LEAST(s, CONCAT(s, 'b'))", "a"),
        ("IS_NAN(SIGN(f))", True),
        ("SIGN(g)", 1.0),
        ("SIGN(n) / 4", decimal.Decimal("-0.25")),
        ("SIGN(i) + 9223372036854775806", 9223372036854775807),
        ("SAFE_NEGATE(smallest)", None),
        ("SAFE_NEGATE(i)", -5),
        ("DATE_ADD(d, INTERVAL 0 DAY)", datetime.date(9999, 12, 31)),
        ("DATETIME_SUB(dt, INTERVAL 23 HOUR)", datetime.datetime(9999, 12, 31)),
        ("CAST(TIMESTAMP_SUB(ts, INTERVAL 23 HOUR) AS STRING)", "9999-12-31 00:00:00+00"),
        ("SAFE.DATE_ADD(d, INTERVAL 1 DAY)", None),
        ("DATE_ADD(CAST(NULL AS DATE), INTERVAL 1 DAY)", None),
        ("FORMAT_DATE('%Y-%m-%d %D %F %e%%H %a', e)", "2026-01-01 01/01/26 2026-01-01  1%H Thu"),
        ("FORMAT_TIME('%H:%M:%E3S %T %p', TIME '10:00:00')", "10:00:00.000 10:00:00 AM"),
        ("FORMAT_TIMESTAMP('%Z %H%z', TIMESTAMP '2026-01-01 10:00:00')", "UTC 10+0000"),
    ],
)
def test_values_are_those_of_the_reference(expression: str, value: Any):
    found = evaluate(expression)
    assert (found, type(found)) == (value, type(value))


@pytest.mark.parametrize(
    ("expression", "message"),
    [
        ("-smallest", "int64 overflow"),
        ("ABS(smallest)", "int64 overflow"),
        ("DATE_ADD(d, INTERVAL 1 DAY)", "date or time overflow: year 10000"),
        ("DATE_ADD(dt, INTERVAL 1 HOUR)", "date or time overflow: year 10000"),
        ("DATE_SUB('0001-01-01', INTERVAL 1 DAY)", "date or time overflow: year 0"),
        ("DATETIME_ADD(dt, INTERVAL 1 HOUR)", "date or time overflow: year 10000"),
        ("DATETIME_SUB(dt, INTERVAL 9999 YEAR)", "date or time overflow: year 0"),
        ("TIMESTAMP_ADD(ts, INTERVAL 1 HOUR)", "date or time overflow: year 10000"),
        ("TIMESTAMP_SUB(ts, INTERVAL -1 HOUR)", "date or time overflow: year 10000"),
    ],
)
def test_what_a_type_does_not_hold_fails_in_the_words_of_bigquery(expression: str, message: str):
    text = f"SELECT {expression} FROM d.t"  # noqa: S608
    with pytest.raises(duckdb.Error) as raised:
        evaluate(expression)

    found = module("failures").explain_failure(str(raised.value), None, text, [0])

    assert message in found.message
    assert "(line 1, column 1)" in found.message


@pytest.mark.parametrize(
    ("expression", "element"),
    [
        ("FORMAT_DATE('%Y %H', e)", "%H"),
        ("FORMAT_DATE('%T', e)", "%T"),
        ("FORMAT_DATE('%E6S', e)", "%E6S"),
        ("FORMAT_DATE('%E*S', e)", "%E*S"),
        ("FORMAT_DATE('%p', e)", "%p"),
        ("FORMAT_DATETIME('%Z', dt)", "%Z"),
        ("FORMAT_DATETIME('%Ez', dt)", "%Ez"),
        ("FORMAT_TIME('%Y', TIME '10:00:00')", "%Y"),
        ("FORMAT_TIME('%e', TIME '10:00:00')", "%e"),
        ("FORMAT_TIME('%E4Y', TIME '10:00:00')", "%E4Y"),
    ],
)
def test_an_element_that_a_value_lacks_is_refused_with_its_place(expression: str, element: str):
    with pytest.raises(module("sql").SqlError) as raised:
        evaluate(expression)
    assert "is not translated (line 1, column " in raised.value.message
    assert raised.value.action == f"Remove '{element}', which the value lacks."
