"""Statements of BigQuery that fail: the words of the message, and its place."""

from __future__ import annotations

import importlib

import duckdb
import pytest

from localcdap.store.database_errors import query_error
from tests.plugins.cloud.test_bigquery_execute import held, module


@pytest.mark.parametrize(
    ("text", "message", "action"),
    [
        (
            "SELECT 1;\nSELECT id + 9223372036854775807 FROM d.t",
            "int64 overflow: 1 + 9223372036854775807 (line 2, column 1).",
            "Calculate with NUMERIC",
        ),
        ("SELECT SUM(id * 9e18) + SUM(9223372036854775807) FROM d.t", "int64 overflow", None),
        ("SELECT 1 / (id - 1) FROM d.t", "division by zero (line 1, column 1).", "SAFE_DIVIDE"),
        ("SELECT MOD(id, 0) FROM d.t", "division by zero (line 1, column 1).", "SAFE_DIVIDE"),
        ("SELECT CAST(name AS INT64) FROM d.t", "Bad int64 value: a (line 1, column 1).", None),
        ("SELECT CAST(name AS FLOAT64) FROM d.t", "Bad double value: a (line 1", "SAFE_CAST"),
        ("SELECT CAST(name AS DATE) FROM d.t", "Invalid date: 'a' (line 1, column 1).", None),
        ("SELECT CAST('2020-02-30' AS DATE)", "Invalid date: '2020-02-30' (line 1", "SAFE_CAST"),
        ("SELECT CAST(id * 1e19 AS INT64) FROM d.t", "int64 out of range: 1e+19", "SAFE_CAST"),
        (
            "SELECT *\nFROM `p`.d.nosuch",
            "Not found: Table d.nosuch was not found (line 2, column 10).",
            "Did you mean d.",
        ),
        ("SELECT nam FROM d.t", "Unrecognized name: nam (line 1, column 8).", "Did you mean name"),
        ("SELECT t.nam FROM d.t", "Name nam not found inside t (line 1", "Did you mean name"),
        ("SELECT id, COUNT(*) FROM d.t", "column id which is neither grouped nor", "ANY_VALUE"),
        (
            "SELECT SUBSTR(id, 1, 2) FROM d.t",
            "'SUBSTR' of INT64 is not translated (line 1, column 8)",
            "CAST",
        ),
        ("SELECT name + 1 FROM d.t", "for operator + for argument types: STRING, INT64", "CAST"),
        ("SELECT UPPER(id) FROM d.t", "'UPPER' of INT64 is not translated (line 1", "CAST"),
        ("SELECT TRIM(id) FROM d.t", "'TRIM' of INT64 is not translated (line 1", "CAST"),
        ("SELECT SOUNDEX(id) FROM d.t", "'SOUNDEX' of INT64 is not translated (line 1", "CAST"),
        ("SELECT FORMAT('%d', name) FROM d.t", "Invalid type for argument 2 to FORMAT;", None),
        ("SELECT [id][OFFSET(3)] FROM d.t", "Array index 3 is out of bounds (line 1", None),
        ("SELECT (SELECT id FROM d.t)", "Scalar subquery produced more than one element", "LIMIT"),
        ("UPDATE d.t SET nosuch = 1 WHERE true", "Unrecognized name: nosuch (line 1", None),
        ("INSERT INTO d.t VALUES (1)", "wrong column count; Has 1, expected 2", None),
        ("CREATE TABLE d.t (a INT64)", "Already Exists: Table d.t (line 1, column 14).", None),
        ("SELECT PARSE_DATE('%Y', name) FROM d.t", 'Failed to parse input string "a"', "SAFE."),
        ("SELECT REGEXP_CONTAINS(name, '(') FROM d.t", "missing ): ( (line 1, column 1).", None),
    ],
)
def test_a_failure_has_the_words_of_bigquery_and_the_place(text: str, message: str, action):
    statements = module("statements").translate_statements(text)
    failures = importlib.import_module(module("sql").__name__.replace(".sql", ".failures"))
    *before, last = [each.sql for each in statements]
    with held() as engine:
        for sql in before:
            engine.execute(sql).fetchall()
        with pytest.raises(duckdb.Error) as raised:
            engine.execute(last).fetchall()

    failed = query_error(raised.value, last, 512)
    number = f"Statement {len(statements)}: " if before else ""
    found = failures.explain_failure(
        f"Stage 'A': {number}{failed.message}",
        failed.corrective_action,
        text,
        module("sql").list_starts(text),
    )

    assert message in found.message
    assert "googlesql" not in found.message.lower()
    assert action is None or action in (found.action or "")
