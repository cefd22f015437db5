"""Facets: every row is in one bin, and the condition of a bin selects exactly its rows."""

from __future__ import annotations

import datetime
import decimal
import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from localcdap.api.directive.rows import Columns
from localcdap.plugin_lib.wrangler.recipe.builder import load_recipe
from localcdap.plugin_lib.wrangler.workspaces.engine import WorkspaceEngine
from localcdap.plugin_lib.wrangler.workspaces.facets import apply_facets, list_facet_kinds
from localcdap.plugin_lib.wrangler.workspaces.tables import MISSING, Column, ColumnTable
from localcdap.workspace_views import Facet, FacetView

UTC = datetime.UTC
TEXTS = st.text("aBÜß9 -.,;:'\"\\{}/#$\t€ǅ😀\u0663", max_size=8)
NUMBERS = st.integers(-(2**53), 2**53) | st.integers(-20, 200)
DOUBLES = (
    st.floats() | st.integers(-9, 9).map(float) | st.sampled_from([math.nan, math.inf, -math.inf])
)
DECIMALS = st.decimals(-1000, 1000, places=2)
MOMENTS = st.datetimes(datetime.datetime(1900, 1, 1), datetime.datetime(2100, 1, 1))
COLUMNS = st.one_of(
    *(
        st.lists(st.none() | values, max_size=30)
        for values in (TEXTS, NUMBERS, DOUBLES, DECIMALS, MOMENTS, st.booleans(), st.dates())
    ),
    st.lists(st.none() | MOMENTS.map(lambda each: each.replace(tzinfo=UTC)), max_size=30),
    st.lists(st.sampled_from([None, MISSING, 1, "x", [1], {"a": 1}, b"\0", 2**70]), max_size=20),
)


def make_table(**columns: list[Any]) -> ColumnTable:
    length = len(next(iter(columns.values())))
    return ColumnTable({n: Column(values) for n, values in columns.items()}, range(length))


def look(table: ColumnTable, *facets: Facet) -> tuple[list[FacetView], list[int]]:
    result = apply_facets(table, facets)
    return result.views, list(range(len(table)) if result.rows is None else result.rows)


@given(COLUMNS)
def test_the_counts_of_every_facet_sum_to_the_rows(values: list[Any]) -> None:
    table = make_table(c=values)
    for kind in list_facet_kinds(table.columns["c"]):
        (view,), rows = look(table, Facet("c", kind))
        assert view.problem == ""
        assert sum(each.count for each in view.bins) == len(rows) == len(values)
        keys = [each.key for each in view.bins]
        assert len(set(keys)) == len(keys)


@given(COLUMNS.filter(lambda values: MISSING not in values))
def test_the_condition_of_a_bin_selects_its_rows(values: list[Any]) -> None:
    engine = WorkspaceEngine([{"c": each, "n": n} for n, each in enumerate(values)], Columns())
    for kind in list_facet_kinds(engine.sample.columns["c"]) if values else ():
        (view,), _ = look(engine.sample, Facet("c", kind))
        for bin in view.bins:
            (_,), rows = look(engine.sample, Facet("c", kind, [bin.key]))
            assert len(rows) == bin.count
            if bin.condition is None:
                continue
            recipe = load_recipe(f"filter-row exp:{{{bin.condition}}} false")
            assert not recipe.errors, bin.condition
            engine.run(recipe)
            assert not engine.failures, bin.condition
            kept = engine.get_table().columns.get("n", Column([])).values
            assert kept == rows, (kind, bin)


ROWS = [("Rome", 1), ("Rome", 5), ("Oslo", 5), (None, None), ("Oslo", 90), ("Rome", 5)]


def test_facets_count_what_the_others_keep() -> None:
    table = make_table(city=[each[0] for each in ROWS], n=[each[1] for each in ROWS])
    city, number = Facet("city", "values", ["='Rome'"]), Facet("n", "values", ["=5"])
    (cities, numbers), rows = look(table, city, number)
    assert {each.label: each.count for each in cities.bins} == {"Rome": 2, "Oslo": 1}
    assert {each.label: each.count for each in numbers.bins} == {"1": 1, "5": 2}
    assert [each.label for each in cities.bins if each.is_chosen] == ["Rome"]
    assert rows == [1, 5]
    (gone, numbers), rows = look(table, Facet("town", "values", ["='x'"]), number)
    assert gone.problem == "there is no column town"
    assert rows == [1, 2, 5]
    (wrong,), _ = look(table, Facet("city", "year"))
    assert wrong.problem == "city has no years now"


def test_ranges_have_round_limits() -> None:
    (view,), _ = look(make_table(n=[0.0, 0.5, 9.75, math.nan, math.inf, None]), Facet("n", "range"))
    labels = {each.label: each.count for each in view.bins}
    assert labels == {"0 … 1": 2, "9 … 9.75": 1, "NaN": 1, "infinite": 1, "null": 1}
    (view,), _ = look(make_table(n=[3, 3, 3]), Facet("n", "range"))
    assert [(each.label, each.count) for each in view.bins] == [("3", 3)]


def test_duplicates_are_found_in_all_or_some_columns() -> None:
    table = make_table(city=[each[0] for each in ROWS], n=[each[1] for each in ROWS])
    (view,), rows = look(table, Facet("", "duplicates", ["again"]))
    assert {each.key: each.count for each in view.bins} == {"once": 4, "first": 1, "again": 1}
    assert rows == [5]
    (view,), rows = look(table, Facet("n", "duplicates", ["first", "again"]))
    assert rows == [1, 2, 5]
    (view,), _ = look(table, Facet("n,x", "duplicates"))
    assert view.problem == "there is no column x"


@pytest.mark.parametrize(
    ("values", "kind", "labels"),
    [
        (["AB-12", "X-1", "ab"], "form", {"A-9": 2, "a": 1}),
        ([" ", "", None, "-1.5", "x"], "state", {"null": 1, "blank": 2, "numbers in text": 1, "texts": 1}),
        ([datetime.date(2024, 1, 2), datetime.date(2024, 3, 2)], "month", {"2024-01": 1, "2024-03": 1}),
        ([decimal.Decimal("1.5"), decimal.Decimal(3)], "values", {"1.5": 1, "3.0": 1}),
        ([f"v{n}" for n in range(100)], "values", {f"v{n}": 1 for n in range(60)} | {"40 others": 40}),
    ],
)  # fmt: skip
def test_kinds(values: list[Any], kind: str, labels: dict[str, int]) -> None:
    (view,), _ = look(make_table(c=values), Facet("c", kind))
    assert {each.label: each.count for each in view.bins if each.count} == labels
