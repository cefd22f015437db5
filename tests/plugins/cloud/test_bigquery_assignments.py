"""INSERT, UPDATE and MERGE of BigQuery: which values the columns take, and what is said of the others."""

from __future__ import annotations

import datetime
import decimal
from typing import Any

import duckdb
import pytest

from tests.plugins.cloud.databases import open_tables
from tests.plugins.cloud.test_bigquery_execute import module

DAY = datetime.date(2026, 1, 1)
NOON = datetime.datetime(2026, 1, 1, 12)
TABLES = """
    CREATE TABLE "d.t" (
        i BIGINT, s VARCHAR, n DECIMAL(38, 9), f DOUBLE, b BOOLEAN, d DATE, dt TIMESTAMP, ts TIMESTAMPTZ,
        a BIGINT[], st STRUCT(x BIGINT, "y, z" DATE)
    );
    INSERT INTO "d.t" (i) VALUES (1);
    CREATE TABLE "d.u" AS SELECT 1::BIGINT AS i, 'x' AS s, 2.5::DOUBLE AS f, 1.5::DECIMAL(38, 9) AS n
"""


def execute(text: str, columns: str) -> list[tuple[Any, ...]]:
    """The rows of d.t after a statement."""
    with open_tables(TABLES) as engine:
        (found,) = module("statements").translate_statements(text)
        engine.execute(found.sql)
        return engine.execute(f'SELECT {columns} FROM "d.t" ORDER BY ALL NULLS FIRST').fetchall()  # noqa: S608


@pytest.mark.parametrize(
    ("text", "columns", "row"),
    [
        ("INSERT INTO d.t (f, n) VALUES (NULL, NULL), (2, 3)", "f, n", (2.0, 3)),
        ("INSERT INTO d.t (f, n) VALUES (-2.5, -(1.25)), (9, 1.5)", "f, n", (9.0, 1.5)),
        ("INSERT INTO d.t (f, n) SELECT n, i FROM d.u", "f, n", (1.5, 1)),
        ("INSERT INTO d.t (n, d) SELECT 1.5, '2026-01-01' FROM d.u", "n, d", (1.5, DAY)),
        ("INSERT INTO d.t (d, n) SELECT '2026-01-01' x, n y FROM d.u", "d, n", (DAY, 1.5)),
        ("INSERT INTO d.t (i, d) SELECT *, '2026-01-01' FROM (SELECT 7)", "i, d", (7, DAY)),
        ("INSERT INTO d.t (i) WITH q AS (SELECT 7 AS x) SELECT x FROM q ORDER BY x", "i", (7,)),
        ("INSERT INTO d.t (s) SELECT 'a' UNION ALL SELECT 'b'", "s", ("b",)),
        ("INSERT INTO d.t (i, s) VALUES (DEFAULT, 'x')", "s", ("x",)),
        ("INSERT INTO d.t (d, dt) VALUES ('2026-01-01', '2026-01-01 12:00:00')", "dt", (NOON,)),
        ("INSERT INTO d.t (dt) VALUES (DATE '2026-01-01')", "CAST(dt AS DATE)", (DAY,)),
        ("INSERT INTO d.t (a) VALUES ([]), ([1, 2])", "a", ([1, 2],)),
        ("INSERT INTO d.t (s) SELECT 'epoch'", "s", ("epoch",)),
        ("INSERT INTO d.t (i, d) SELECT i, '2026-01-01' FROM d.u ORDER BY i", "d", (DAY,)),
        ("INSERT INTO d.t (i, s) SELECT i, 'b' x FROM d.u ORDER BY x", "s", ("b",)),
        (
            "INSERT INTO d.t (ts) VALUES ('2026-01-01T12:00:00Z'), ('2026-01-01 12:00:00+00')",
            "CAST(ts AS TIMESTAMP)",
            (NOON,),
        ),
        (
            "INSERT INTO d.t (st) VALUES (STRUCT(1 AS x, '2026-01-01' AS `y, z`))",
            "st",
            ({"x": 1, "y, z": DAY},),
        ),
        ("UPDATE d.t SET i = i + 1, n = 2, s = NULL WHERE true", "i, n, s", (2, 2, None)),
        ("UPDATE d.t t SET f = u.i FROM d.u u WHERE t.i = u.i", "f", (1.0,)),
        (
            "MERGE d.t t USING d.u ON t.i = u.i WHEN MATCHED THEN UPDATE SET s = u.s, f = u.n",
            "s, f",
            ("x", 1.5),
        ),
        (
            "MERGE d.t USING d.u ON FALSE WHEN NOT MATCHED THEN INSERT (i, f, d) VALUES (i, n, '2026-01-01')",
            "f, d",
            (1.5, DAY),
        ),
        (
            "MERGE d.t USING (SELECT * FROM d.t) ON FALSE WHEN NOT MATCHED THEN INSERT ROW",
            "i",
            (1,),
        ),
    ],
)
def test_columns_take_values_of_types_that_bigquery_coerces(text: str, columns: str, row):
    found = execute(text, columns)[-1]
    exact = tuple(float(each) if isinstance(each, decimal.Decimal) else each for each in found)
    assert exact == row


INSERTED = "Value has type {} which cannot be inserted into column {}, which has type {}"
ASSIGNED = "Value of type {} cannot be assigned to {}, which has type {}"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("INSERT INTO d.t (i) VALUES (1.5)", (INSERTED, "FLOAT64", "i", "INT64")),
        ("INSERT INTO d.t (s, i) VALUES ('a', '1')", (INSERTED, "STRING", "i", "INT64")),
        ("INSERT INTO d.t (i) VALUES (1), ('2'), (3)", (INSERTED, "STRING", "i", "INT64")),
        (
            "INSERT INTO d.t VALUES (1, 2, 3, 4, 5, 6, 7, 8, 9, 10)",
            (INSERTED, "INT64", "s", "STRING"),
        ),
        ("INSERT INTO d.t (b) VALUES (1)", (INSERTED, "INT64", "b", "BOOL")),
        ("INSERT INTO d.t (i) VALUES (true)", (INSERTED, "BOOL", "i", "INT64")),
        (
            "INSERT INTO d.t (d) VALUES (CONCAT('2026-01', '-01'))",
            (INSERTED, "STRING", "d", "DATE"),
        ),
        ("INSERT INTO d.t (ts) VALUES (DATE '2026-01-01')", (INSERTED, "DATE", "ts", "TIMESTAMP")),
        ("INSERT INTO d.t (s) VALUES (DATE '2026-01-01')", (INSERTED, "DATE", "s", "STRING")),
        ("INSERT INTO d.t (a) VALUES ([1.5])", (INSERTED, "ARRAY<FLOAT64>", "a", "ARRAY<INT64>")),
        ("INSERT INTO d.t (a) VALUES (1)", (INSERTED, "INT64", "a", "ARRAY<INT64>")),
        (
            "INSERT INTO d.t (st) VALUES (STRUCT(1.5 AS x, DATE '2026-01-01' AS `y, z`))",
            (INSERTED, "STRUCT<x FLOAT64, y, z DATE>", "st", "STRUCT<x INT64, y, z DATE>"),
        ),
        ("INSERT INTO d.t (i, s) SELECT i, f FROM d.u", (INSERTED, "FLOAT64", "s", "STRING")),
        ("INSERT INTO d.t (n) SELECT f FROM d.u", (INSERTED, "FLOAT64", "n", "NUMERIC")),
        ("INSERT INTO d.t (i) SELECT n FROM d.u", (INSERTED, "NUMERIC", "i", "INT64")),
        ("INSERT INTO d.t (d) SELECT s FROM d.u", (INSERTED, "STRING", "d", "DATE")),
        ("UPDATE d.t SET i = 1.5 WHERE true", (ASSIGNED, "FLOAT64", "i", "INT64")),
        ("UPDATE d.t SET s = 'x', i = 0.5 WHERE true", (ASSIGNED, "FLOAT64", "i", "INT64")),
        ("UPDATE d.t SET d = u.s FROM d.u WHERE true", (ASSIGNED, "STRING", "d", "DATE")),
        (
            "MERGE d.t t USING d.u ON t.i = u.i WHEN MATCHED THEN UPDATE SET i = u.f",
            (ASSIGNED, "FLOAT64", "i", "INT64"),
        ),
        (
            "MERGE d.t USING d.u ON FALSE WHEN NOT MATCHED THEN INSERT (i, s) VALUES (i, f)",
            (INSERTED, "FLOAT64", "s", "STRING"),
        ),
        (
            (
                "MERGE d.t USING (SELECT CAST(i AS STRING) AS i, t.* EXCEPT (i) FROM d.t) ON FALSE "
                "WHEN NOT MATCHED THEN INSERT ROW"
            ),
            (INSERTED, "STRING", "i", "INT64"),
        ),
    ],
)
def test_other_values_are_refused_in_the_words_of_bigquery(text: str, message: tuple[str, ...]):
    pattern, given, column, wanted = message
    with pytest.raises(duckdb.Error) as raised:
        execute(text, "*")

    found = module("failures").explain_failure(str(raised.value), None, text, [0])

    assert pattern.format(given, column, wanted) in found.message
    assert "(line 1, column " in found.message
    assert found.action == "Convert the value with CAST."


@pytest.mark.parametrize(
    ("text", "type", "column"),
    [
        ("INSERT INTO d.t (d) VALUES ('2026-01-01'), ('2026-01-01 10:00:00')", "DATE", "d"),
        ("INSERT INTO d.t (s, d) VALUES ('epoch', 'epoch')", "DATE", "d"),
        ("INSERT INTO d.t (dt) SELECT '2026-01-01 10:00:00+05'", "DATETIME", "dt"),
        ("INSERT INTO d.t (s, ts) SELECT 'a', '2026/01/01' AS x", "TIMESTAMP", "ts"),
        ("UPDATE d.t SET d = ' 2026-01-01' WHERE true", "DATE", "d"),
        (
            "MERGE d.t USING d.u ON FALSE WHEN NOT MATCHED THEN INSERT (d) VALUES ('today')",
            "DATE",
            "d",
        ),
    ],
)
def test_a_literal_of_another_form_is_refused(text: str, type: str, column: str):
    with pytest.raises(duckdb.Error) as raised:
        execute(text, "*")

    found = module("failures").explain_failure(str(raised.value), None, text, [0])

    assert (
        f"Could not cast literal to type {type}, that of column {column} (line 1" in found.message
    )
