"""Lookups in a sample find what those of a run find."""

from __future__ import annotations

import datetime
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from localcdap.api.arrow import from_arrow_schema
from localcdap.api.directive import DirectiveError
from localcdap.api.tables import TableFile, TableShape
from localcdap.engine.plan.tables import sort_rows
from localcdap.engine.tasks.lookups import SortedRows, get_lookup_schema
from localcdap.plugin_lib.wrangler.recipe.builder import load_recipe
from localcdap.plugin_lib.wrangler.workspaces.tables import (
    SampleLookup,
    SampleTables,
)

KEYS: list[list[Any]] = [
    ["b", "a", None, "b", "ü"],
    [3, 1, None, 3, -7],
    [1.5, 2.0, None, 1.5, 1e20],
    [True, False, None, True, None],
    [b"b", b"a", None, b"b", b"\xc3\xbc"],
    [datetime.date(2026, 1, 2), None, datetime.date(1, 1, 1), None, datetime.date(2026, 1, 2)],
]


@pytest.mark.parametrize("keys", KEYS, ids=lambda keys: type(keys[0]).__name__)
def test_rows_are_found_as_in_a_run(tmp_path: Path, keys: list[Any]) -> None:
    table = pa.table({"key": keys, "value": [f"v{i}" for i in range(len(keys))]})
    schema = from_arrow_schema(table.schema)
    shape = TableShape(schema)
    expected = SortedRows(sort_rows("t", table, shape), get_lookup_schema("t", shape))
    pq.write_table(table, tmp_path / "t.parquet")
    found = SampleLookup(TableFile("t", schema, path=str(tmp_path / "t.parquet")), schema)
    texts = [each.decode() for each in expected.keys.to_pylist()]
    assert texts
    for text in [*texts, "none", ""]:
        assert found.get(text) == expected.get(text), text
    assert found.sorted_rows()[0].to_pylist() == expected.keys.to_pylist()
    assert found.sorted_rows()[1].to_pylist() == expected.rows.to_pylist()


def test_what_cannot_be_looked_into_says_so(tmp_path: Path) -> None:
    table = pa.table({"key": [["a"]], "value": ["v"]})
    pq.write_table(table, tmp_path / "t.parquet")
    tables = SampleTables()
    recipe = load_recipe("table-lookup :id 't'\ntable-lookup :id 'u'")
    schema = from_arrow_schema(table.schema)
    wanted: list[list[str]] = []

    def open_tables(names: Sequence[str]) -> list[TableFile]:
        wanted.append(list(names))
        return [
            TableFile("t", schema, path=str(tmp_path / "t.parquet")),
            TableFile("u", problem="there is no table 'u'"),
        ]

    tables.open(recipe, open_tables)
    tables.open(recipe, open_tables)
    assert wanted == [["t", "u"]]
    assert (tables.find_shape("t"), tables.find_shape("u")) == (None, None)
    for name, reason in (("t", "its key is of type"), ("u", "there is no table")):
        with pytest.raises(DirectiveError, match=reason):
            tables.lookups[name].get("a")
