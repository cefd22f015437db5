"""Nested functions of BigQuery's SQL have their values, in a text that grows with the number of levels."""

from __future__ import annotations

import pytest

from tests.plugins.cloud.databases import open_tables
from tests.plugins.cloud.test_googlesql_values import statements

ROWS = "(VALUES (1, -1.26, 'x'), (1, 2.74, NULL), (2, 4.5, ' y ')) AS t (n, a, s)"


def translate(query: str) -> str:
    (found,) = statements().translate_statements(query.replace("FROM t", "FROM d.t"))
    return found.sql.replace('"d.t" AS "t"', ROWS)


def nest(count: int) -> str:
    return "ROUND(ABS(" * count + "a" + ") * 1.5, 2)" * count


def test_the_text_grows_with_the_number_of_levels():
    lengths = [len(translate(f"SELECT {nest(count)} AS v FROM t")) for count in (2, 4, 8)]

    assert lengths[2] < 3 * lengths[1] < 9 * lengths[0]


@pytest.mark.parametrize(
    ("query", "rows"),
    [
        (f"SELECT {nest(3)} AS v FROM t", [(4.26,), (9.26,), (15.2,)]),
        (
            f"SELECT {nest(2)} AS v, COUNT(*) AS c FROM t GROUP BY {nest(2)}",
            [(2.84, 1), (6.17, 1), (10.13, 1)],
        ),
        (
            "SELECT n, ROUND(ABS(ROUND(SUM(a) / COUNT(*), 3)) * 10, 1) AS v FROM t GROUP BY n",
            [(1, 7.4), (2, 45.0)],
        ),
        (
            "SELECT IF(n = 2, ROUND(ABS(ROUND(a / (n - 1), 1)), 1), 0) AS v FROM t",
            [(0.0,), (0.0,), (4.5,)],
        ),
        ("SELECT APPROX_COUNT_DISTINCT(ABS(ROUND(n, 1))) AS v FROM t", [(2,)]),
        ("SELECT UPPER(TRIM(LOWER(REVERSE(s)))) AS v FROM t", [("X",), ("Y",), (None,)]),
        ("SELECT a FROM t WHERE ROUND(ABS(ROUND(a, 1)), 0) = 3", [(2.74,)]),
        (
            "SELECT SUM(ROUND(ABS(ROUND(a, 1)), 0)) OVER (PARTITION BY n) AS v FROM t",
            [(4.0,), (4.0,), (5.0,)],
        ),
    ],
)
def test_nested_functions(query: str, rows: list[tuple[object, ...]]):
    with open_tables() as engine:
        given = engine.execute(translate(query)).fetchall()
    found = [tuple(_plain(each) for each in row) for row in given]
    assert sorted(found, key=repr) == sorted(rows, key=repr)


def _plain(value: object) -> object:
    return value if value is None or isinstance(value, str | int) else float(str(value))
