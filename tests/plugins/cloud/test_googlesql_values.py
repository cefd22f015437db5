"""Values of BigQuery's SQL, each as FORMAT('%T') of the original prints it.

The table ``googlesql_values.jsonl`` has one expression a line, with its value as the reference implementation
of GoogleSQL (google/zetasql, external product mode, time zone UTC) evaluates it; ``!`` is an error.
"""

from __future__ import annotations

import functools
import json
import sys
from pathlib import Path
from typing import Any

import duckdb
import pytest

from localcdap.artifacts.loading import load_plugin
from localcdap.googlesql.string_format import format_string
from localcdap.testing import artifact_ref
from tests.plugins.cloud.databases import open_tables
from tests.plugins.cloud.test_actions import PLUGINS

VALUES = [
    json.loads(line)
    for line in Path(__file__).with_name("googlesql_values.jsonl").read_text().splitlines()
]
CHUNK = 50
"""Expressions in one test: a test of its own takes longer than to evaluate an expression."""


@functools.cache
def statements() -> Any:
    plugin = load_plugin(artifact_ref(PLUGINS, "action", "BigQueryExecute"))
    return sys.modules[plugin.__module__.rpartition(".")[0] + ".statements"]


@pytest.mark.parametrize("start", range(0, len(VALUES), CHUNK))
def test_expressions_have_the_values_of_googlesql(start: int):
    def evaluate(expression: str) -> str | None:
        try:
            (found,) = statements().translate_statements(f"SELECT {expression} AS v")
            with open_tables() as engine:
                result = engine.execute(found.sql)
                type = str(result.description[0][1])
                ((value,),) = result.fetchall()
        except (duckdb.Error, ValueError):
            return "!"
        return format_string("%T", [(type, value)])

    expected = dict(VALUES[start : start + CHUNK])
    assert {expression: evaluate(expression) for expression in expected} == expected
