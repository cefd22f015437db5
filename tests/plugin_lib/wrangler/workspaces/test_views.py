"""What a screen sees of a workspace: rows, headers with profiles, failures, and samples of files."""

from __future__ import annotations

import datetime
import decimal
import math
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from localcdap.api import Schema
from localcdap.api.errors import BadRequestError
from localcdap.files.formats import FileInput
from localcdap.plugin_lib.wrangler.catalogs.folder import ARGUMENT
from localcdap.plugin_lib.wrangler.recipe.builder import load_recipe
from localcdap.plugin_lib.wrangler.workspaces.profiles import summarize_column
from localcdap.plugin_lib.wrangler.workspaces.tables import MISSING, Column
from localcdap.plugin_lib.wrangler.workspaces.workspace import (
    SampleSource,
    open_workspace,
    view_workspace,
)
from localcdap.workspace_views import Facet, ValueCount, ViewRequest, WorkspaceView
from tests.plugin_lib.wrangler.recipe.test_lineage import VALUES

SCHEMA = Schema.record("r", [("city", Schema.STRING.as_nullable), ("n", Schema.LONG.as_nullable)])
RECORDS = [
    {"city": "Rome", "n": 3},
    {"city": " ", "n": None},
    {"city": None, "n": 1},
    {"city": "Rome", "n": 10},
]


def open(source: SampleSource, recipe: str = "", **view: Any) -> WorkspaceView:
    loaded = load_recipe(recipe)
    open_workspace("w", source, loaded)
    return view_workspace("w", loaded, ViewRequest(**view))


def test_rows_and_profiles() -> None:
    view = open(SampleSource(schema=SCHEMA, records=RECORDS, total=99), "uppercase :city")
    assert [(each.name, each.type) for each in view.columns] == [("city", "string"), ("n", "long")]
    assert view.rows[0] == ["ROME", "3"]
    assert (view.row_count, view.record_count, view.total_count) == (4, 4, 99)
    city, number = (each.profile for each in view.columns)
    assert city is not None
    assert number is not None
    assert (city.nulls, city.empty, city.distinct) == (1, 1, 2)
    assert city.top[0] == ValueCount("ROME", 2)
    assert city.patterns[0] == ValueCount("A", 2)
    assert (number.nulls, number.lowest, number.highest) == (1, "1", "10")
    assert sum(number.bars) == 3
    assert [each.rows_out for each in view.steps] == [4]


def test_rows_of_a_step_sorted_and_in_parts() -> None:
    source = SampleSource(schema=SCHEMA, records=RECORDS)
    recipe = "filter-row exp:{n == null} true\nrename :n :m"
    view = open(source, recipe, step=1, sort="n", is_descending=True, offset=1, limit=1)
    assert (view.row_count, view.rows) == (3, [["Rome", "3"]])
    assert open(source, recipe, step=0).row_count == 4
    assert [each.name for each in open(source, recipe).columns] == ["city", "m"]
    assert [row[1] for row in open(source, sort="n").rows] == ["1", "3", "10", None]
    shown = open(source, profiles=["n"]).columns
    assert [each.profile is None for each in shown] == [True, False]


def test_of_very_many_columns_some_are_shown() -> None:
    fields = [(f"c{n}", Schema.LONG) for n in range(1000)]
    records = [{name: n for n, (name, _) in enumerate(fields)}] * 3
    source = SampleSource(schema=Schema.record("r", fields), records=records)
    view = open(source, "drop :c0")
    assert (len(view.columns), view.column_count, len(view.rows[0])) == (300, 999, 300)
    assert view.schema is not None
    assert len(view.schema.field_names) == 999
    rest = open(source, first_column=998, most_columns=10)
    assert [each.name for each in rest.columns] == ["c998", "c999"]
    assert rest.rows[0] == ["998", "999"]


def test_failing_records_are_shown_with_what_they_had() -> None:
    view = open(SampleSource(schema=SCHEMA, records=RECORDS), "fail exp:{n == 10}")
    (failure,) = view.failures
    assert (failure.step, failure.record, failure.is_sent) == (1, 4, False)
    assert failure.values == {"city": "Rome", "n": "10"}


def test_problems_of_the_recipe_are_shown() -> None:
    view = open(SampleSource(schema=SCHEMA, records=RECORDS), "uppercase :city\nnonsense :x")
    assert [each.is_warning for each in view.problems] == [False]
    assert view.rows[0] == ["ROME", "3"]
    warned = open(SampleSource(schema=SCHEMA, records=RECORDS), "uppercase :town")
    assert [each.is_warning for each in warned.problems] == [True]


def test_samples_of_files(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("n\n" + "".join(f"{n}\n" for n in range(5000)) + "1,2\n")
    first = open(SampleSource(FileInput(str(path)), limit=10))
    assert [row[0] for row in first.rows] == [str(n) for n in range(10)]
    assert (first.record_count, first.total_count, first.format.format) == (10, None, "csv")
    chosen = [open(SampleSource(FileInput(str(path)), limit=10, seed=seed)) for seed in (1, 1, 2)]
    assert chosen[0].rows == chosen[1].rows != chosen[2].rows
    assert chosen[0].total_count == 5000
    assert len(chosen[0].unreadable) == 1
    assert max(int(row[0] or 0) for row in chosen[0].rows) > 1000
    lines = open(SampleSource(FileInput(str(path)), limit=3), "parse-as-csv :body ',' true")
    assert (lines.format.format, lines.record_count, lines.row_count) == ("text", 3, 2)


def test_a_workspace_that_is_not_open_says_so() -> None:
    assert not view_workspace("other", load_recipe(""), ViewRequest()).is_open
    with pytest.raises(BadRequestError, match="needs a file, or records"):
        open(SampleSource())


@given(
    st.lists(st.sampled_from([*VALUES, math.nan, math.inf, 2**70, decimal.Decimal("1.5"), MISSING]))
)
def test_any_values_have_a_profile(values: list[Any]) -> None:
    profile = summarize_column(Column(values))
    assert profile.rows == len(values)
    assert profile.nulls >= sum(each is None or each is MISSING for each in values)
    assert sum(each.count for each in profile.top) <= len(values) - profile.nulls


@pytest.mark.parametrize(
    ("values", "lowest", "highest"),
    [
        ([datetime.date(2024, 1, 2), datetime.date(2025, 1, 2)], "2024-01-02", "2025-01-02"),
        ([datetime.time(1), datetime.time(2, 3)], "01:00", "02:03"),
        ([decimal.Decimal("1.50"), decimal.Decimal("10.25")], "1.50", "10.25"),
        ([1, 2.5], "1.0", "2.5"),
        ([True, False], None, None),
        ([[1], {"a": 1}], "[1]", '{"a":1}'),
    ],
)
def test_ranges(values: list[Any], lowest: str | None, highest: str | None) -> None:
    profile = summarize_column(Column(values))
    assert (profile.lowest, profile.highest) == (lowest, highest)


def test_a_step_is_compared_with_the_rows_before_it() -> None:
    source = SampleSource(schema=SCHEMA, records=RECORDS)
    recipe = "uppercase :city\nfilter-row exp:{n == null} true\nsplit-to-rows :city 'O'"
    first, second, third = (open(source, recipe, step=n, compares=True) for n in (1, 2, 3))
    assert first.rows[0] == ["ROME", "3"]
    assert [each.kind for each in first.changes] == ["changed", "same", "same", "changed"]
    assert first.changes[0].before == [(0, "Rome")]
    assert [each.kind for each in second.changes] == ["same", "dropped", "same", "same"]
    assert second.rows[1] == [" ", None]
    assert [each.kind for each in third.changes][:2] == ["changed", "new"]


def test_large_samples_show_their_head_first() -> None:
    records = [{"city": f"c{n % 50}", "n": n} for n in range(30_000)]
    source = SampleSource(schema=SCHEMA, records=records)
    recipe = load_recipe("set-column :city exp:{city + n}\nfilter-row exp:{n % 2 == 0} true")
    open_workspace("large", source, recipe)
    view = view_workspace("large", recipe, ViewRequest(seconds=0.001))
    assert (view.is_complete, view.has_rows) == (False, False)
    while not view.has_rows:
        view = view_workspace("large", recipe, ViewRequest(seconds=0.02))
    assert (view.head_count, view.row_count, view.rows[0]) == (1000, 500, ["c11", "1"])
    assert 0 <= view.share < 1
    while not view.is_complete:
        view = view_workspace("large", recipe, ViewRequest(seconds=0.05))
    assert (view.head_count, view.row_count, view.share) == (None, 15_000, 1)


def test_profiles_begin_at_the_nearest_column_and_are_added_later() -> None:
    fields = [(f"c{n}", Schema.LONG) for n in range(20)]
    records = [{name: n for n, (name, _) in enumerate(fields)}] * 50
    source = SampleSource(schema=Schema.record("r", fields), records=records)
    request = {"nearest": 15, "profile_seconds": 0.0}
    view = open(source, **request)
    assert [n for n, each in enumerate(view.columns) if each.profile] == [15]
    assert not view.is_complete
    for _ in range(19):
        view = view_workspace("w", load_recipe(""), ViewRequest(**request))
    assert view.is_complete
    assert all(each.profile for each in view.columns)


def test_columns_are_shown_without_rows(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("city,n\n")
    empty = open(SampleSource(FileInput(str(path))), "uppercase :city\nset-type :n int")
    assert [(each.name, each.type) for each in empty.columns] == [("city", "string"), ("n", "int")]
    assert (empty.row_count, empty.rows) == (0, [])
    dropped = open(
        SampleSource(schema=SCHEMA, records=RECORDS),
        "filter-row exp:{true} true",
        facets=[Facet("city", "values"), Facet("", "duplicates")],
    )
    assert [each.name for each in dropped.columns] == ["city", "n"]
    assert all(each.problem == "" for each in dropped.facets)


def test_directives_read_the_files_that_arguments_name(tmp_path: Path) -> None:
    (tmp_path / "icd-9_cm_codes.txt").write_text("0010    Cholera\n")
    source = SampleSource(schema=SCHEMA, records=[{"city": "0010", "n": 1}])
    recipe = load_recipe("catalog-lookup 'ICD-9' :city")
    open_workspace("w", source, recipe)

    def view(arguments: dict[str, str]) -> WorkspaceView:
        return view_workspace("w", recipe, ViewRequest(), arguments=arguments)

    (failure,) = view({}).failures
    assert ARGUMENT in failure.message
    for start_time in ("1", "2"):
        found = view({ARGUMENT: str(tmp_path), "logical.start.time": start_time})
        assert (found.failures, found.rows) == ([], [["0010", "1", "Cholera"]])
    assert len(view({ARGUMENT: str(tmp_path / "none")}).failures) == 1
