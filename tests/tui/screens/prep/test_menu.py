"""The menu of a column offers directives that can be read, and filters that do what they say."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from localcdap.api.directive.rows import Columns
from localcdap.plugin_lib.wrangler.recipe.builder import load_recipe
from localcdap.plugin_lib.wrangler.workspaces.engine import WorkspaceEngine
from localcdap.tui.screens.prep.directives import (
    build_filter,
    build_replacement,
    is_plain_name,
    list_entries,
)
from localcdap.workspace_views import ColumnView, ValueSummary

TYPES = ["string", "int", "long", "double", "decimal", "boolean", "timestamp", "date", "array"]


@pytest.mark.parametrize("type", TYPES)
@pytest.mark.parametrize("value", [None, "it's 5/6 \\ x", "7"])
def test_complete_entries_are_directives(type: str, value: str | None) -> None:
    if type not in ("string", "timestamp", "date", "array"):
        value = "7"
    entries = list_entries(ColumnView("city", type), value)
    assert entries[0].group == "value" or type in ("timestamp", "date", "array")
    for entry in entries:
        assert "{c}" not in entry.directive
        if entry.is_complete:
            assert load_recipe(entry.directive).errors == [], entry
    groups = [each.group for each in entries]
    assert groups == sorted(groups, key=groups.index)


def test_only_fitting_directives_are_offered() -> None:
    labels = {type: {e.label for e in list_entries(ColumnView("c", type), "1")} for type in TYPES}
    assert "UPPERCASE" in labels["string"]
    assert "UPPERCASE" not in labels["long"]
    assert "Round" in labels["double"]
    assert "Round" not in labels["string"]
    assert "Drop" in labels["array"]


def test_the_forms_of_dates_that_a_column_has_are_offered() -> None:
    profile = ValueSummary(2, 0, 0, 2, date_forms=["dd/MM/yyyy", "MM/dd/yyyy"])
    offered = [e.directive for e in list_entries(ColumnView("c", "string", profile), "1")]
    assert 'parse-as-simple-date :c "dd/MM/yyyy"' in offered
    assert 'parse-as-simple-date :c "MM/dd/yyyy"' in offered
    assert "parse-as-date :c" not in offered
    assert "parse-as-date :c" in [e.directive for e in list_entries(ColumnView("c", "string"), "1")]


@given(st.one_of(st.none(), st.text(max_size=20)), st.booleans())
def test_filters_keep_or_drop_the_rows_with_a_value(value: str | None, keeps: bool) -> None:
    directive = build_filter(ColumnView("city", "string"), value, keeps=keeps)
    if directive is None:
        assert value is not None
        assert not value.isprintable()
        return
    others: list[str | None] = [each for each in ("Rome", None) if each != value]
    rows = [{"city": each} for each in (value, *others)]
    engine = WorkspaceEngine(rows, Columns([("city", None)]))
    recipe = load_recipe(directive)
    assert recipe.errors == []
    engine.run(recipe)
    found = engine.get_table().columns["city"].values
    assert found == ([value] if keeps else others)


@given(st.lists(st.text(min_size=1, max_size=12), min_size=2, max_size=5, unique=True))
def test_replacements_change_whole_values(values: list[str]) -> None:
    into, *others = values
    directive = build_replacement(ColumnView("city", "string"), others, into)
    if directive is None:
        assert any(not each.isprintable() or "'" in each for each in values)
        return
    recipe = load_recipe(directive)
    assert recipe.errors == []
    rows = [{"city": each} for each in (*values, f"{others[0]}x", None)]
    engine = WorkspaceEngine(rows, Columns([("city", None)]))
    engine.run(recipe)
    found = engine.get_table().columns["city"].values
    expected = f"{others[0]}x"
    assert found == [*[into] * len(values), into if expected in others else expected, None]


def test_names_that_directives_cannot_write() -> None:
    assert is_plain_name("first_name")
    assert not is_plain_name("first name")
    assert not is_plain_name("1st")
