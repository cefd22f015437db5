"""Rows of structured tables as mappings."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from localcdap.api.app import InvalidTableFieldError, StructuredRows, TransactionError
from localcdap.api.app.table import create_row_class

Row = create_row_class(("name", "id", "size"), ("id", "name"))


def test_a_row_is_a_read_only_mapping():
    row = Row(("a", 7, None))

    assert row == {"name": "a", "id": 7, "size": None}
    assert dict(row) | {"size": 1} == {"name": "a", "id": 7, "size": 1}
    assert row == Row(("a", 7, None))
    assert isinstance(row, Mapping)
    assert row.key == (7, "a")
    assert list(row.items()) == [("name", "a"), ("id", 7), ("size", None)]
    assert (row["id"], row.get("size", 3), row.get("other", 3)) == (7, None, 3)
    assert ("size" in row, "other" in row, len(row)) == (True, False, 3)
    assert repr(row) == "StructuredRow({'name': 'a', 'id': 7, 'size': None})"
    with pytest.raises(TypeError):
        row["id"] = 8
    with pytest.raises(TypeError):
        hash(row)


def test_a_field_that_was_not_read_is_an_error_of_its_own():
    with pytest.raises(InvalidTableFieldError, match="other is not in this row. It has: name, id"):
        Row(("a", 7, None))["other"]


def test_rows_are_taken_once_whichever_way():
    rows = StructuredRows(Row, [("a", 1, 1), ("b", 2, 2), ("c", 3, 3)])

    assert next(rows)["name"] == "a"
    assert next(iter(rows))["name"] == "b"
    assert [row["name"] for row in rows] == ["c"]
    assert list(rows) == []
    rows.close()
    with pytest.raises(TransactionError, match="closed"):
        list(rows)
