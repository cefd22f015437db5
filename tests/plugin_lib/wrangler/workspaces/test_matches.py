"""Columns whose values meet."""

from __future__ import annotations

from localcdap.plugin_lib.wrangler.workspaces.tables import MISSING, Column
from localcdap.plugin_lib.wrangler.workspaces.workspace import find_matches
from localcdap.workspace_views import ColumnMatch


def test_the_columns_that_match_best_come_first() -> None:
    left = {"id": Column([1, 2, 3]), "town": Column(["Rome", "Oslo", None])}
    right = {
        "code": Column(["1", "2", "9", MISSING]),
        "town": Column(["Rome", "Rome", "Oslo", "Paris"]),
        "x": Column(["", None, "q", "q"]),
    }
    assert find_matches(left, right) == [
        ColumnMatch("id", "code", 2, 3, is_unique=True),
        ColumnMatch("town", "town", 2, 3, is_unique=False),
    ]
    assert find_matches(left, {"x": right["x"]}) == []
