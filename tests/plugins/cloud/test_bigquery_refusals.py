"""What of BigQuery's SQL is refused: nothing runs with a meaning of DuckDB's."""

from __future__ import annotations

import re
from pathlib import Path

import duckdb
import pytest

from localcdap.store.googlesql_functions import PREFIX
from tests.plugins.cloud.databases import open_tables
from tests.plugins.cloud.test_bigquery_execute import module

DOCUMENT = Path(__file__).parents[3] / "docs" / "data.md"
_NAMES = f"""
    SELECT DISTINCT function_name FROM duckdb_functions()
    WHERE regexp_full_match(function_name, '[a-z][a-z0-9_]*') AND NOT starts_with(function_name, '{PREFIX}')
"""


def refuse(text: str) -> str:
    """Return the message with which a text is refused."""
    with pytest.raises(module("sql").SqlError) as raised:
        module("statements").translate_statements(text)
    return raised.value.message


def list_documented(opening: str) -> list[str]:
    """Return the names in the paragraph of the documentation that begins so."""
    paragraph = DOCUMENT.read_text().split(opening)[1].split("\n\n")[0]
    return re.findall(r"`(\w+)`", paragraph)


def test_the_documentation_lists_the_functions():
    functions = set(module("signatures").FUNCTIONS) - {"TO_HEX(MD5)"}
    assert list_documented("The functions of its SQL are ") == sorted(functions)
    filtered = module("conditions").FILTER_FUNCTIONS
    assert list_documented("The functions of a source's filter,") == sorted(filtered)


@pytest.mark.slow
def test_no_function_of_duckdb_is_called():
    with duckdb.connect() as engine:
        names = [name for (name,) in engine.execute(_NAMES).fetchall()]
    known = module("signatures").FUNCTIONS
    foreign = [name for name in names if name.upper() not in known]
    assert len(foreign) > 500
    for name in foreign:
        refuse(f"SELECT {name}(x) FROM d.t")


@pytest.mark.slow
def test_an_argument_more_than_a_function_has_is_refused():
    signatures = module("signatures").FUNCTIONS.items()
    most = {name: each.most for name, each in signatures if name.isidentifier()}
    for name, count in most.items():
        if count is not None:
            arguments = ", ".join(f"a{number}" for number in range(count + 1))
            refuse(f"SELECT {name}({arguments}) FROM d.t")


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("SELECT LIST_SORT(x) FROM d.t", "'LIST_SORT'"),
        ("SELECT `list_sort`(x) FROM d.t", "'`list_sort`(x)'"),
        ("SELECT TRY_CAST(x AS INT64) FROM d.t", "'TRY_CAST'"),
        (
            "SELECT 1,\n POSITION('a' IN x) FROM d.t",
            "'POSITION' is not translated (line 2, column 2)",
        ),
        ("SELECT x::INT64 FROM d.t", "'::'"),
        ("SELECT x ILIKE 'a' FROM d.t", "'ILIKE'"),
        ("SELECT x -> 'a' FROM d.t", "'->'"),
        ("SELECT x LIKE ANY ('a', 'b') FROM d.t", "ANY ('a', 'b')"),
        ("SELECT UNNEST(x) FROM d.t", "'UNNEST'"),
        ("SELECT SUM(x) FILTER (WHERE y) FROM d.t", "'FILTER'"),
        ("SELECT COUNT(DISTINCT x, y) FROM d.t", "'COUNT' with 2 arguments"),
        ("SELECT ROUND(x, 2, 'ROUND_HALF_EVEN') FROM d.t", "'ROUND'"),
        ("SELECT TIMESTAMP_SECONDS(x, y) FROM d.t", "'TIMESTAMP_SECONDS' with 2 arguments"),
        ("SELECT TO_JSON_STRING(x, TRUE) FROM d.t", "'TO_JSON_STRING'"),
        ("SELECT REGEXP_INSTR(x, 'a', 2) FROM d.t", "'REGEXP_INSTR'"),
        ("SELECT REGEXP_EXTRACT(x, y) FROM d.t", "'REGEXP_EXTRACT(x, y)'"),
        ("SELECT IF(x, 1) FROM d.t", "'IF'"),
        ("SELECT CAST(x AS DOUBLE) FROM d.t", "'DOUBLE' is not a type of BigQuery"),
        ("SELECT CAST(x AS BIGNUMERIC) FROM d.t", "'BIGNUMERIC'"),
        ("SELECT CAST(x AS GEOGRAPHY) FROM d.t", "'GEOGRAPHY'"),
        ("CREATE TABLE d.t (x BIGNUMERIC)", "'BIGNUMERIC'"),
        ("SELECT * FROM d.t SEMI JOIN d.u USING (id)", "SEMI JOIN"),
        ("SELECT * FROM d.t NATURAL JOIN d.u", "NATURAL JOIN"),
        ("SELECT x FROM d.t EXCEPT ALL SELECT x FROM d.u", "EXCEPT ALL"),
        ("SELECT 1 AS a UNION ALL BY NAME SELECT 2 AS a", "BY NAME"),
        ("SELECT x FROM d.t GROUP BY CUBE(x)", "CUBE"),
        ("SELECT DISTINCT ON (x) x FROM d.t", "(x)"),
        ("SELECT * RENAME (a AS b) FROM d.t", "a AS b"),
        ("SELECT * FROM d.t TABLESAMPLE SYSTEM (10 PERCENT)", "TABLESAMPLE"),
        ("SELECT * FROM VALUES (1)", "VALUES (1)"),
        ("SELECT DATE '2020-01-02' - DATE '2020-01-01'", "'-' of DATE and DATE"),
        ("SELECT UPPER(1)", "'UPPER' of INT64"),
        ("SELECT LEFT(b'abc', 1)", "'LEFT' of BYTES"),
        ("SELECT b'abc' LIKE b'a%'", "'LIKE' of BYTES"),
        ("SELECT 'a' = 1", "'=' of STRING and INT64"),
        ("SELECT 1 IN (2, 'a')", "'IN' of INT64 and STRING"),
        ("SELECT COALESCE(1, 'a')", "'COALESCE' of INT64 and STRING"),
        ("SELECT CASE WHEN TRUE THEN 1 ELSE 'a' END", "'CASE' of INT64 and STRING"),
        ("SELECT 1 AND TRUE", "'AND' of INT64"),
        ("SELECT 1 AS a UNION ALL SELECT 'a'", "'UNION' of INT64 and STRING"),
        ("SELECT DATE_DIFF(x, y, DAYOFWEEK) FROM d.t", "'DATE_DIFF' with DAYOFWEEK"),
        ("SELECT EXTRACT(EPOCH FROM x) FROM d.t", "EXTRACT(EPOCH FROM"),
        ("SELECT JSON_VALUE(x, '$.a[*]') FROM d.t", "'$.a[*]' is not translated"),
        ("SELECT JSON_VALUE(x, y) FROM d.t", "'JSON_VALUE"),
        ("SELECT LAG(x, -1) OVER (ORDER BY y) FROM d.t", "'LAG(x, -1)'"),
        ("ALTER TABLE d.t SET OPTIONS (description = 'x')", "SET OPTIONS"),
    ],
)
def test_what_has_no_translation_is_refused_by_its_name(text: str, named: str):
    message = refuse(text)
    assert named in message
    assert "not translated" in message or "not a type of BigQuery" in message


@pytest.mark.parametrize(
    ("expression", "named"),
    [
        ("UPPER(i)", "'UPPER' of INT64"),
        ("SUBSTR(b, 1, 1)", "'SUBSTR' of BYTES"),
        ("LENGTH(j)", "'LENGTH' of JSON"),
        ("ABS(t)", "'ABS' of BOOL"),
        ("SUM(s)", "'SUM' of STRING"),
        ("UNIX_SECONDS(d)", "'UNIX_SECONDS' of DATE"),
        ("ARRAY_TO_STRING(a, ',')", "'ARRAY_TO_STRING' of ARRAY<INT64>"),
        ("s || i", "'||' of INT64"),
        ("s LIKE b", "'LIKE' of BYTES"),
        ("i = s", "'=' of INT64 and STRING"),
        ("i > '1'", "'>' of INT64"),
        ("t = 1", "'=' of BOOL"),
        ("i IN (1, 2) AND d IN (1)", "'IN' of DATE"),
        ("COALESCE(s, i)", "'COALESCE' of STRING and INT64"),
        ("IF(t, i, 'a')", "'IF' of INT64"),
        ("IF(i, 1, 2)", "'IF' of INT64"),
        ("CASE WHEN t THEN d WHEN FALSE THEN IF(t, s, s) END", "'CASE' of DATE and STRING"),
    ],
)
def test_the_type_of_a_column_is_checked_before_a_row_is_read(expression: str, named: str):
    (found,) = module("statements").translate_statements(f"SELECT {expression} AS v FROM d.t")
    columns = "i BIGINT, s VARCHAR, b BLOB, j JSON, t BOOLEAN, d DATE, a BIGINT[]"
    table = f'CREATE TABLE "d.t" ({columns})'
    with open_tables(table) as engine, pytest.raises(duckdb.Error) as raised:
        engine.execute(found.sql)
    assert f"{named}" in str(raised.value)
    assert "is not translated" in str(raised.value)


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("INITCAP(name) = 'A'", "'INITCAP' is not translated in a filter (line 1, column 9)"),
        ("list_sort(name) = 'A'", "'LIST_SORT' is not translated"),
        ("SUBSTR(name, -1) = 'A'", "is not translated"),
        ("id::STRING = 'A'", "'::' is not translated"),
        ("SAFE_CAST(name AS BOOL)", "is not translated"),
        ("CAST(name AS INT64) = 1", "is not translated"),
    ],
)
def test_a_filter_of_a_source_has_no_meaning_of_spark(text: str, named: str):
    with pytest.raises(module("sql").SqlError) as raised:
        module("conditions").to_spark_condition(text, "t", ["id", "name"], texts=["name"])
    assert named in raised.value.message
