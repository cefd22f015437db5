"""Expectations in the prep area: made, counted on the sample, changed, and taken along."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from localcdap.api.schema import Schema
from localcdap.cli.main import run
from localcdap.expectations.rules import NotNull, RuleAction
from localcdap.tui.routes import DocumentTarget, PrepTarget
from localcdap.tui.screens.prep.recipe import PrepRecipe, PrepRule, PrepStep, RuleList, read_lines
from tests.tui.inspector.bench import pipeline
from tests.tui.screens.prep.test_screen import column, get_screen, opened, shown, write

CONTENT = "name,city,amount\nada,Rome,10\nbob,,7\ncy,Oslo,300\ndan,Rome,12\n"


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "people.csv"
    path.write_text(CONTENT)
    return path


def violations(driver) -> list[int]:
    view = get_screen(driver).view
    assert view is not None
    return [each.violations for each in view.checks]


async def test_rules_are_made_counted_and_changed(open_studio, path):
    async with open_studio(target=PrepTarget(path=str(path))) as driver:
        screen = await opened(driver)
        await driver.press("X")
        assert not screen.recipe.rules
        await driver.press("P", "enter")
        assert screen.recipe.expectations == [NotNull(column="name")]
        assert "✓ name is not null" in shown(driver)
        await driver.press("P", "enter")
        assert len(screen.recipe.rules) == 1  # there is one already

        await driver.press("right", "m")
        await driver.type("expect that city is one")
        await driver.press("enter")
        await driver.press("v", "space", "enter")
        await driver.type("all rows")
        await driver.press("enter")
        assert [type(each.rule).__name__ for each in screen.recipe.rules] == [
            "NotNull",
            "InSet",
            "MeetsCondition",
        ]
        assert violations(driver) == [0, 0, 2]
        assert "2 of 4 (50 %)" in shown(driver)

        await driver.press("F", "P")
        await driver.type("a condition is")
        await driver.press("enter")
        await driver.press("ctrl+u")
        await driver.type('{"rule": "range", "column": "amount", "max": 100}\n')
        assert "'max'" not in shown(driver)
        assert "which is string" in shown(driver) or "does not suit" in shown(driver)
        await write(driver, "set-type :amount int")
        assert violations(driver) == [0, 0, 2, 1]

        await driver.press("X", "down", "down", "space")
        assert len(screen.recipe.expectations) == 3
        assert violations(driver) == [0, 0, 1]
        await driver.press("d")
        assert len(screen.recipe.rules) == 3
        await driver.press("enter")
        await driver.type("fails")
        await driver.press("enter")
        assert screen.recipe.rules[2].rule.action is RuleAction.FAIL
        assert screen.query_one(RuleList).highlighted == 2
        await driver.press("u", "u")
        assert len(screen.recipe.rules) == 4
        await driver.press("U", "U")
        assert screen.recipe.rules[2].rule.action is RuleAction.FAIL
    async with open_studio(target=PrepTarget(path=str(path))) as driver:
        screen = await opened(driver)
        assert len(screen.recipe.rules) == 3
        assert violations(driver) == [0, 0, 1]
        assert "fails the run" in shown(driver)


@pytest.mark.slow
async def test_rules_go_along(open_studio, path, tmp_path, capsys, home):
    target = tmp_path / "r.recipe"
    async with open_studio(target=PrepTarget(path=str(path))) as driver:
        screen = await opened(driver)
        await write(driver, "uppercase :name")
        await driver.press("right", "P")
        await driver.type("a condition is")
        await driver.press("enter")
        await driver.press("ctrl+u")
        await driver.type('{"rule": "not-null", "column": "city"}\n')
        assert violations(driver) == [1]

        screen._save_recipe(target)
        await driver.until(target.exists)
        await driver.press("R")
        await driver.until(lambda: "in the result" in shown(driver))
        await driver.settled()
        assert "city is not null: 25 % (1 of 4)" in shown(driver)
        await driver.press("escape")

        await driver.press("x", "enter")
        editor = await driver.editor()
        await driver.validated(editor)
        assert list(editor.failures) == []
        assert editor.get_node("Wrangler")["expectations"] == [
            {"rule": "not-null", "column": "city"}
        ]
    output = str(tmp_path / "out.csv")
    given = ("prep", "apply", str(target), str(path), "-o", output)
    assert run([*given, "--home", str(tmp_path / "home")]) == 0
    assert "city is not null: 25 % (1 of 4)" in capsys.readouterr().err


@pytest.mark.slow
async def test_a_stage_gives_and_gets_its_rules(open_studio, path):
    names = ("name", "city", "amount")
    schema = str(Schema.record("r", [(name, Schema.STRING.as_nullable) for name in names]))
    source = {"referenceName": "r", "path": str(path), "format": "csv", "skipHeader": "true"}
    document = pipeline(
        "File:batchsource Wrangler:transform Trash:batchsink",
        File=source | {"schema": schema},
        Wrangler={"field": "*", "directives": "uppercase :name", "schema": schema},
        Trash={"referenceName": "t"},
    )
    kept = [{"rule": "not-null", "column": "city"}]
    next(each for each in document["config"]["stages"] if each["name"] == "Wrangler")[
        "expectations"
    ] = kept
    async with open_studio(target=DocumentTarget("p", json.dumps(document))) as driver:
        editor = await driver.editor()
        editor.select("Wrangler")
        view = driver.app.screen.view
        view.inspector.show_selected()
        await driver.settled()
        view.inspector.focus_content()
        await driver.settled()
        await driver.press("f11")
        screen = await opened(driver)
        assert column(driver, 0)[0] == "ADA"
        assert violations(driver) == [1]
        assert not screen.recipe.can_undo
        await driver.press("P", "enter", "ctrl+s")
        await driver.until(lambda: driver.app.current_mode == "studio")
        await driver.settled()
        made = [*kept, {"rule": "not-null", "column": "name"}]
        assert editor.get_node("Wrangler")["expectations"] == made
        editor.undo()
        assert editor.get_node("Wrangler")["expectations"] == kept


def test_rules_are_kept_as_lines():
    rule = NotNull(column="a", name="it's {there}")
    recipe = PrepRecipe([PrepStep("trim :a", is_on=False)], [PrepRule(rule), PrepRule(rule, False)])
    assert recipe.lines[1].startswith("#expect {")
    assert read_lines(recipe.lines) == (recipe.steps, recipe.rules)
    assert recipe.expectations == [rule]
    assert not recipe.add_rule(rule)
    assert not recipe.can_undo
