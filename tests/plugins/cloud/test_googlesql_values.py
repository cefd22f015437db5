"""Values of BigQuery's SQL, each as FORMAT('%T') of the original prints it.

The table ``googlesql_values.jsonl`` has one expression a line, with its value as the reference implementation
of GoogleSQL (google/zetasql, external product mode, time zone UTC) evaluates it; ``!`` is an error.
"""

from __future__ import annotations

import functools
import json
import re
import sys
from pathlib import Path
from typing import Any

import duckdb
import pytest

from localcdap.artifacts.loading import load_plugin
from localcdap.googlesql.string_format import format_string
from localcdap.store.googlesql_functions import register_functions
from localcdap.testing import artifact_ref
from tests.plugins.cloud.test_actions import PLUGINS


def read_values() -> dict[str, list[tuple[str, str]]]:
    """The expressions and their values, by the function or word with which an expression begins."""
    lines = Path(__file__).with_name("googlesql_values.jsonl").read_text().splitlines()
    found: dict[str, list[tuple[str, str]]] = {}
    for expression, value in map(json.loads, lines):
        name = re.match(r"[A-Za-z_.]*", expression)
        found.setdefault(name[0] if name else "", []).append((expression, value))
    return found


VALUES = read_values()


@functools.cache
def statements() -> Any:
    plugin = load_plugin(artifact_ref(PLUGINS, "action", "BigQueryExecute"))
    return sys.modules[plugin.__module__.rpartition(".")[0] + ".statements"]


@pytest.fixture(scope="module")
def engine():
    with duckdb.connect() as made:
        register_functions(made)
        made.execute("SET TimeZone = 'UTC'")
        yield made


def evaluate(engine: duckdb.DuckDBPyConnection, expression: str) -> str | None:
    """Return the value of an expression; ``!`` for a failure."""
    try:
        (found,) = statements().translate_statements(f"SELECT {expression} AS v")
        rows = engine.sql(found.sql)
        ((value,),) = rows.fetchall()
        return format_string("%T", [(str(rows.types[0]), value)])
    except (duckdb.Error, ValueError):
        return "!"


@pytest.mark.parametrize("name", VALUES)
def test_expressions_have_the_values_of_googlesql(engine: duckdb.DuckDBPyConnection, name: str):
    values = VALUES[name][::4]
    assert {each: evaluate(engine, each) for each, _ in values} == dict(values)


@pytest.mark.slow
def test_all_expressions_have_the_values_of_googlesql(engine: duckdb.DuckDBPyConnection):
    values = dict(value for group in VALUES.values() for value in group)
    assert {each: evaluate(engine, each) for each in values} == values


_TABLES = {
    "{V}": "(SELECT x FROM UNNEST([1.0, CAST('nan' AS FLOAT64), 2.0, CAST('nan' AS FLOAT64), "
    "CAST('-inf' AS FLOAT64), CAST('inf' AS FLOAT64), NULL]) AS x)",
    "{W}": "(SELECT x FROM UNNEST([CAST('nan' AS FLOAT64), 2.0, 3.0]) AS x)",
}


def test_nan_has_the_place_and_the_partners_that_it_has_in_googlesql(
    engine: duckdb.DuckDBPyConnection,
):
    """Queries that sort, group, join, compare and aggregate the NaN of two tables."""
    expected, found = {}, {}
    lines = Path(__file__).with_name("googlesql_nan.jsonl").read_text().splitlines()
    for query, value in map(json.loads, lines):
        sql = query.replace("{V}", _TABLES["{V}"]).replace("{W}", _TABLES["{W}"])
        expected[query] = value
        try:
            (statement,) = statements().translate_statements(sql)
            ((found[query],),) = engine.sql(statement.sql).fetchall()
        except (duckdb.Error, ValueError):
            found[query] = "!"
    assert found == expected
