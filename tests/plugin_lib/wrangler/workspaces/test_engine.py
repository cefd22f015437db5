"""The kept steps of a workspace: any way to a recipe gives the rows of that recipe."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from localcdap.api.directive import Directive, Row, RowContext, plugin
from localcdap.api.directive.rows import Columns
from localcdap.plugin_lib.wrangler.recipe.builder import load_recipe
from localcdap.plugin_lib.wrangler.workspaces import engine as engine_module
from localcdap.plugin_lib.wrangler.workspaces.engine import WorkspaceEngine
from localcdap.plugin_lib.wrangler.workspaces.steps import run_gradually

ROWS = [{"a": f"x{n % 3},y", "b": str(n), "c": None if n % 4 else "c"} for n in range(20)]
DIRECTIVES = [
    "uppercase :a",
    "set-type :b int",
    "filter-row exp:{b == '3'} true",
    "drop :c",
    "split-to-rows :a ','",
    "copy :a :d true",
    "send-to-error exp:{b == '7'}",
    "rename :b :n",
    "set-column :e exp:{a + 1}",
]


def read(engine: WorkspaceEngine, step: int | None = None) -> list[dict[str, Any]]:
    table = engine.get_table(step)
    return [
        {name: column.values[index] for name, column in table.columns.items()}
        for index in range(len(table))
    ]


def make_engine(recipe: list[str], **more: Any) -> WorkspaceEngine:
    engine = WorkspaceEngine(ROWS, Columns((name, None) for name in "abc"), **more)
    assert engine.run(load_recipe("\n".join(recipe)))
    return engine


@given(
    st.lists(st.lists(st.sampled_from(DIRECTIVES), max_size=6), min_size=1, max_size=5),
    st.sampled_from([0, 5_000, 10**9]),
)
def test_every_way_to_a_recipe_gives_its_rows(recipes: list[list[str]], memory: int) -> None:
    engine = make_engine([], memory=memory)
    for recipe in recipes:
        engine.run(load_recipe("\n".join(recipe)))
        fresh = make_engine(recipe)
        assert engine.counts == fresh.counts
        for step in range(len(recipe) + 1):
            assert read(engine, step) == read(fresh, step)
        assert engine.failures == fresh.failures


def test_only_changed_steps_run(monkeypatch: pytest.MonkeyPatch) -> None:
    ran: list[str] = []

    def count_step(directive: Any, table: Any, lookups: Any) -> Any:
        ran.append(directive.directive_name())
        return run_gradually(directive, table, lookups)

    monkeypatch.setattr(engine_module, "run_gradually", count_step)
    engine = make_engine(["uppercase :a", "drop :c"])
    engine.run(load_recipe("uppercase :a\ndrop :c\nset-type :b int"))
    assert ran == ["uppercase", "drop", "set-type"]
    engine.run(load_recipe("uppercase :a\nset-type :b int"))
    assert ran[3:] == ["set-type"]
    engine.run(load_recipe("uppercase :a"))
    assert ran[4:] == []


def test_steps_share_what_they_do_not_change() -> None:
    engine = make_engine(["uppercase :a", "set-column :d exp:{b}"])
    first, second, third = (engine.get_table(step).columns for step in range(3))
    assert first["b"] is second["b"] is third["b"]
    assert first["a"] is not second["a"]
    assert second["a"] is third["a"]


def test_each_call_goes_on_however_short_its_time_is() -> None:
    engine = make_engine([])
    recipe = load_recipe("set-column :a exp:{a + b}\ndrop :c\nset-type :b int")
    shares = []
    while not engine.run(recipe, seconds=-1):
        shares.append(engine.share)
    assert len(shares) > 3
    assert shares == sorted(shares)
    assert engine.share == 1
    fresh = make_engine(["set-column :a exp:{a + b}", "drop :c", "set-type :b int"])
    assert (read(engine), engine.counts) == (read(fresh), fresh.counts)


def test_a_change_ends_the_step_that_runs() -> None:
    engine = make_engine(["drop :c"])
    assert not engine.run(load_recipe("drop :c\nset-column :a exp:{a + b}"), seconds=-1)
    assert engine.run(load_recipe("drop :c\nuppercase :a"))
    assert read(engine) == read(make_engine(["drop :c", "uppercase :a"]))


@plugin(type="directive", name="hang", description="Hangs at one row.")
class Hanging(Directive):
    def change(self, row: Row, context: RowContext) -> None:
        while row.value("b") == 6:
            pass


@plugin(type="directive", name="explode", description="Makes rows without end.")
class Exploding(Directive):
    def expand(self, row: Row, context: RowContext) -> Iterator[Row]:
        while True:
            yield Row(row)


@pytest.mark.parametrize(
    ("directive", "limit_s", "message"),
    [(Hanging, 0.6, "at row 5 or just after it"), (Exploding, 30, "more than 500,000 rows of 20")],
)
def test_a_step_without_end_keeps_the_rows_before_it(
    directive: type[Directive], limit_s: float, message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(engine_module, "LIMIT_S", limit_s)
    name = directive.directive_name()
    recipe = f"set-type :b int\n{name}\ndrop :c"
    engine = WorkspaceEngine(ROWS, Columns((name, None) for name in "abc"))
    loaded = load_recipe(recipe, [name], lambda _type, _name: directive)
    assert not loaded.errors
    assert engine.run(loaded)
    assert engine.stopped is not None
    assert message in engine.stopped[1]
    assert (engine.stopped[0], len(engine.counts)) == (1, 1)
    assert engine.run(loaded), "it is not tried again"
    assert read(engine)[3]["b"] == 3
    assert engine.run(load_recipe("set-type :b int\ndrop :c"))
    assert engine.stopped is None


def test_a_recipe_runs_up_to_what_is_wrong() -> None:
    engine = make_engine(["uppercase :a", "nonsense :a", "drop :a"])
    assert [each.directive for each in engine.counts] == ["uppercase :a"]


def test_failures_name_record_and_step() -> None:
    engine = make_engine(["set-type :b int", "fail exp:{b == 3}"])
    (found,) = engine.failures
    assert (found[0], found[1].record) == (2, 3)
    assert engine.counts[1].failed == 1
    assert engine.counts[1].rows_out == 19
