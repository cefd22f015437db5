"""A recipe on the sample of a workspace, as the application Data Prep answers it."""

from __future__ import annotations

import datetime
from decimal import Decimal
from typing import Any

import pytest

from localcdap.api.directive.rows import Columns
from localcdap.plugin_lib.wrangler.recipe.builder import load_recipe
from localcdap.plugin_lib.wrangler.workspaces.execution import WorkspaceRows, execute

WHEN = datetime.datetime(2024, 1, 2, 3, 4, 5)


def run(recipe: str, *rows: dict[str, Any], limit: int = 1000) -> WorkspaceRows:
    return execute(load_recipe(recipe), rows, Columns(open=True), limit)


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (None, None),
        (1, "1"),
        (0.0, "0.0"),
        (True, "true"),
        (b"test", "Non-displayable object"),
        (Decimal("1.10"), "1.10"),
        (WHEN.date(), "2024-01-02"),
        (WHEN, "2024-01-02T03:04:05"),
        (WHEN.replace(tzinfo=datetime.UTC), "2024-01-02T03:04:05Z[UTC]"),
        (["A", 1, 0.0, b"x"], '["A",1,0.0,"Non-displayable object"]'),
        ({"d": Decimal("1.11"), "on": WHEN.date()}, '{"d":"1.11","on":"2024-01-02"}'),
    ],
)
def test_a_cell_is_a_text(value: Any, shown: str | None) -> None:
    assert run("", {"a": value}).values == [{"a": shown}]


def test_counts_are_those_of_all_rows() -> None:
    found = run("filter-row exp:{a < 0} true", *({"a": n} for n in range(-1, 5)), limit=2)
    assert found.values == [{"a": "0"}, {"a": "1"}]
    assert found.summary is not None
    assert found.summary.statistics["a"].general == {"non-null": 100.0}


def test_a_failure_has_the_row_and_the_directive() -> None:
    found = run("rename :a :b\nset-type :b integer", {"a": "1"}, {"a": "x"})
    assert found.failure is not None
    assert (found.failure.row_index, found.failure.directive_index) == (1, 2)


def test_messages_of_errors_are_counted() -> None:
    rows = ({"a": -n} for n in range(1, 15))
    found = run("send-to-error-and-continue exp:{a < 0} 'negative'", *rows)
    assert len(found.shown_errors) == 14
    assert found.shown_message.endswith("- 14 rows")
