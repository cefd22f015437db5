"""Rows that wait to be written into tables."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from localcdap.engine.plan.tables import find_repeated_key


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        ([], None),
        ([[]], None),
        ([[(1, "a"), (1, "b")], [(2, "a")]], None),
        ([[(1, "a"), (2, "a")], [(1, "a"), (1, "a")]], ({"a": 1, "b": "a"}, 3)),
        ([[(None, "a"), (None, "a"), (1, None), (1, None)]], None),
    ],
)
def test_a_repeated_key_is_found_in_all_files(
    tmp_path: Path, files: list[list[tuple[Any, Any]]], expected: Any
):
    schema = pa.schema([("a", pa.int32()), ("b", pa.string()), ("c", pa.list_(pa.int32()))])
    for number, rows in enumerate(files):
        made = [{"a": a, "b": b, "c": [1]} for a, b in rows]
        pq.write_table(pa.Table.from_pylist(made, schema), tmp_path / f"{number}.parquet")
    assert find_repeated_key(tmp_path, ["a", "b"]) == expected
