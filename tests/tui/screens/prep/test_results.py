"""What leads from a recipe: all rows, a stage to paste, and a test that Spark passes."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import pytest

from localcdap.cli.files import read_pipeline
from localcdap.engine.messages.host import StatementBatch
from localcdap.pipeline.library.application_model import DeployRequest, DraftRequest
from localcdap.pipeline_tests.cases import create_case_request
from localcdap.pipeline_tests.reader import read_test
from localcdap.pipeline_tests.report import Outcome, PipelineTestReport, evaluate
from localcdap.pipeline_tests.service import run_cases
from localcdap.tui.routes import DocumentTarget, PrepTarget
from localcdap.tui.screens.prep.result_keys import describe_surprises
from localcdap.tui.screens.prep.source import PrepSource
from localcdap.workspace_views import ColumnTotals, ColumnView, ValueSummary
from tests.tui.inspector.bench import pipeline
from tests.tui.screens.prep.test_screen import get_screen, opened, shown, write


def make_file(folder: Path, rows: int) -> Path:
    path = folder / "people.csv"
    lines = [f"{n},{'Rome' if n % 2 else ' Oslo '},{n}.5" for n in range(rows)]
    path.write_text("\n".join(["id,city,price", *lines, "x,,9999"]) + "\n")
    return path


async def test_all_rows_are_compared_with_the_sample(open_studio, tmp_path):
    path = make_file(tmp_path, 1500)
    async with open_studio(target=PrepTarget(path=str(path))) as driver:
        screen = await opened(driver)
        await write(driver, "set-type :id int")
        await write(driver, "set-type :price double")
        await driver.press("R")
        await driver.until(lambda: "did not show" in shown(driver))
        said = shown(driver)
        assert "1,501 rows read · 1,500 in the result · 1 failed" in said
        assert "highest 999 → 1499" in said
        await driver.press("enter")
        assert driver.app.screen is screen
        assert list(tmp_path.iterdir()) == [path], "nothing is written"


async def test_a_stage_is_copied(open_studio, tmp_path):
    path = make_file(tmp_path, 5)
    async with open_studio(target=PrepTarget(path=str(path))) as driver:
        await opened(driver)
        await write(driver, "trim :city")
        await driver.press("x")
        await driver.type("as a stage\n")
        (stage,) = json.loads(driver.app.clipboard)["stages"]
        assert stage["plugin"]["properties"]["directives"] == "trim :city"


@pytest.mark.slow
async def test_a_recipe_is_saved_as_a_program(open_studio, tmp_path):
    path = make_file(tmp_path, 5)
    async with open_studio(target=PrepTarget(path=str(path))) as driver:
        screen = await opened(driver)
        await write(driver, "trim :city")
        await driver.press("x")
        await driver.type("as SQL\n")
        await driver.until(lambda: "Save SQL of Spark" in shown(driver))
        await driver.press("escape")
        screen._save_program("sql", tmp_path / "people.sql")
        await driver.until((tmp_path / "people.sql").exists)
        assert "`city`" in (tmp_path / "people.sql").read_text()
        await write(driver, "stemming :city")
        screen._save_program("pyspark", tmp_path / "people.py")
        await driver.settled()
        notice = next(iter(driver.app.notices.newest_first))
        assert "line 2: 'stemming :city' has no equal in Spark" in f"{notice.title} {notice.detail}"
        assert not (tmp_path / "people.py").exists()


@pytest.mark.slow
@pytest.mark.spark
async def test_a_recipe_gives_the_same_rows_as_its_stage_on_spark(open_studio, tmp_path, cdap):
    path = make_file(tmp_path, 30)
    async with open_studio(target=PrepTarget(path=str(path))) as driver:
        screen = await opened(driver)
        recipe = [
            "trim :city",
            "uppercase :city",
            "set-type :price double",
            "set-column :twice exp:{price * 2}",
            "split-to-rows :city 'S'",
            "filter-row exp:{city == 'RO'} true",
            "mask-number :id 'x#'",
            "set-column :label exp:{id + '/' + city.length()}",
        ]
        screen.recipe.insert(recipe, 0)
        screen.finish_change()
        await driver.settled()
        screen._save_test(tmp_path / "people.test.json")
        await driver.until((tmp_path / "people.test.json").exists)
        await driver.settled()
    report = await asyncio.to_thread(_run_test, cdap, tmp_path / "people.test.json")
    assert (report.outcome, report.reasons) == (Outcome.PASSED, [])


def _run_test(cdap, file: Path) -> PipelineTestReport:
    test, mistakes = read_test(file)
    assert test is not None
    assert test.pipeline is not None
    assert mistakes == []
    document = read_pipeline(str(test.pipeline))
    (result,) = run_cases(cdap.cases, "default", [create_case_request(test, document)])
    return evaluate(test, result, None)


@pytest.mark.parametrize(
    ("totals", "surprises"),
    [
        ({}, []),
        ({"nulls": 300}, ["null 0.0% → 30.0%"]),
        ({"type": "double"}, ["type long → double"]),
        ({"highest": "70"}, ["highest 9 → 70"]),
        ({"distinct": 900}, ["not unique: 900 values in 1,000 rows"]),
    ],
)
def test_what_the_sample_did_not_show(totals, surprises):
    sample = ColumnView("n", "long", ValueSummary(10, 0, 0, 10, "0", "9"))
    column = {"type": "long", "rows": 1000, "nulls": 0, "distinct": 1000, "highest": "9"} | totals
    if totals.get("nulls"):
        column["distinct"] = 700
    known = ColumnTotals("n", empty=0, has_more=False, lowest="0", **column)
    assert describe_surprises(sample, known) == surprises
    assert describe_surprises(None, known) == ["the sample does not have it"]


@pytest.mark.slow
async def test_a_recipe_is_inserted_into_pipelines(open_studio, tmp_path, cdap):
    path = make_file(tmp_path, 5)
    document = pipeline("Lines:batchsource Out:batchsink")
    target = DocumentTarget("open", json.dumps(document))
    async with open_studio(target=target) as driver:
        editor = await driver.editor()
        await driver.press("semicolon")
        get_screen(driver).open_source(PrepSource(path=str(path)))
        await opened(driver)
        await write(driver, "trim :city")
        await driver.press("x")
        await driver.type("insert it\n")
        await driver.press("enter")
        await driver.until(lambda: driver.app.current_mode == "studio")
        await driver.settled()
        assert "In the connection Lines → Out" in shown(driver)
        await driver.press("enter")
        assert [(c.source, c.target) for c in editor.document.connections] == [
            ("Lines", "Wrangler"),
            ("Wrangler", "Out"),
        ]
        assert editor.get_properties("Wrangler")["directives"] == "trim :city"
        editor.undo()
        assert editor.stages == ["Lines", "Out"]
        await driver.press("semicolon", "x")
        await driver.type("insert it\n")
        await driver.press("enter")
        await driver.until(lambda: driver.app.current_mode == "studio")
        await driver.settled()
        await driver.type("source, into out\n")
        assert [(c.source, c.target) for c in editor.document.connections] == [
            ("Lines", "Out"),
            ("Source", "Wrangler"),
            ("Wrangler", "Out"),
        ]

    cdap.drafts.save("default", DraftRequest(json.dumps(document), name="kept"))
    async with open_studio(target=PrepTarget(path=str(path))) as driver:
        await opened(driver)
        await driver.press("x")
        await driver.type("insert it\n")
        await driver.press("enter")
        await driver.settled()
        notice = next(iter(driver.app.notices.newest_first))
        assert "no pipeline is open" in notice.title
        await driver.press("semicolon", "x")
        await driver.type("insert it\n")
        await driver.type("kept\n")
        await driver.until(lambda: "After Lines" in shown(driver))
        await driver.type("after lines\n")
        editor = await driver.editor()
        assert editor.is_changed
        assert ("Lines", "Wrangler") in [(c.source, c.target) for c in editor.document.connections]


def make_lines_pipeline(path: Path) -> str:
    schema = {"type": "record", "name": "line", "fields": [{"name": "city", "type": "string"}]}
    read = {
        "referenceName": "lines",
        "path": str(path),
        "format": "csv",
        "schema": json.dumps(schema),
    }
    stages = [
        {"name": name, "plugin": {"name": plugin, "type": type, "properties": properties}}
        for name, plugin, type, properties in (
            ("Lines", "File", "batchsource", read),
            ("Out", "Trash", "batchsink", {"referenceName": "out"}),
        )
    ]
    artifact = {"name": "cdap-data-pipeline", "version": "6.10.1", "scope": "SYSTEM"}
    config = {"stages": stages, "connections": [{"from": "Lines", "to": "Out"}]}
    return json.dumps({"name": "lines", "artifact": artifact, "config": config})


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["deployed", "file"])
async def test_a_recipe_is_inserted_into_what_is_not_open(open_studio, tmp_path, cdap, kind):
    path = make_file(tmp_path, 5)
    text = make_lines_pipeline(path)
    file = tmp_path / "lines.json"
    file.write_text(text)
    if kind == "deployed":
        cdap.applications.deploy(DeployRequest(text, name="given"))
    async with open_studio(target=PrepTarget(path=str(path))) as driver:
        await opened(driver)
        await write(driver, "trim :city")
        await driver.press("x")
        await driver.type("insert it\n")
        await driver.type("given\n" if kind == "deployed" else "a file\n")
        if kind == "file":
            await driver.until(lambda: "Insert into a pipeline" in shown(driver))
            await driver.type(f"{file}\n")
        await driver.until(lambda: "In the connection Lines → Out" in shown(driver))
        await driver.press("enter")
        editor = await driver.editor()
        assert [(c.source, c.target) for c in editor.document.connections] == [
            ("Lines", "Wrangler"),
            ("Wrangler", "Out"),
        ]
        assert editor.is_changed
    assert file.read_text() == text, "nothing is saved yet"


@pytest.mark.slow
async def test_all_rows_of_a_table_and_of_a_connection(open_studio, tmp_path, cdap):
    batch = StatementBatch(
        "default",
        ["CREATE TABLE many AS SELECT range AS id, 'x' || range AS t FROM range(120000)"],
        ["many"],
    )
    cdap.table_statements.carry_out(batch)
    async with open_studio(target=PrepTarget(table="many")) as driver:
        await opened(driver)
        await write(driver, "filter-row exp:{id >= 119990} false")
        await driver.press("R")
        await driver.until(lambda: "did not show" in shown(driver))
        assert "120,000 rows read · 10 in the result" in shown(driver)
        await driver.press("enter")

        path = make_file(tmp_path, 1500)
        plugin = {"name": "File", "properties": {"root": str(tmp_path)}}
        cdap.connections.load("default", {"name": "here", "plugin": plugin})
        target = tmp_path / "out.csv"
        get_screen(driver).open_source(PrepSource(connection="here", place=f"/{path.name}"))
        await opened(driver)
        get_screen(driver).run_on_all(target)
        await driver.until(target.exists)
        await driver.settled()
        assert "1,501 rows read · 1,501 in the result" in shown(driver)
        await driver.press("enter")
        cdap.connections.delete("default", "here")


async def test_rows_are_looked_up_in_tables(open_studio, tmp_path, cdap):
    statements = [
        "CREATE TABLE towns (key VARCHAR, country VARCHAR, since INTEGER)",
        "INSERT INTO towns VALUES ('Rome', 'IT', 753), ('Rome', 'US', 1), (NULL, 'x', 2)",
    ]
    cdap.table_statements.carry_out(StatementBatch("default", statements, ["towns"]))
    path = make_file(tmp_path, 4)
    async with open_studio(target=PrepTarget(path=str(path))) as driver:
        screen = await opened(driver)
        await write(driver, "table-lookup :city 'towns'")
        assert [each.name for each in screen.view.columns][3:] == ["city_country", "city_since"]
        assert [row[3:] for row in screen.view.rows] == [
            [None, None],
            ["IT", "753"],
            [None, None],
            ["IT", "753"],
        ]
        assert "city" in screen.view.failures[0].message, "null cannot be a key"
        await write(driver, "table-lookup :id 'nowhere'")
        assert screen.view.row_count == 0
        messages = [each.message for each in screen.view.failures]
        assert sum("there is no table 'nowhere'; available: " in each for each in messages) == 4


@pytest.mark.slow
async def test_the_mouse(open_studio, tmp_path):
    path = make_file(tmp_path, 5)
    async with open_studio(target=PrepTarget(path=str(path))) as driver:
        screen = await opened(driver)
        await write(driver, "trim :city")
        await write(driver, "uppercase :city")
        await driver.press("P", "enter")
        await driver.pilot.click("#prep-rows RecordGrid", offset=(20, 5))
        await driver.settled()
        assert screen.column.name == "city"
        await driver.pilot.click("#prep-steps", offset=(6, 0))
        await driver.settled()
        assert screen.line.input.value == "trim :city"
        await driver.press("escape")
        await driver.pilot.click("#prep-rules", offset=(6, 1))
        await driver.settled()
        assert "A run fails for it" in shown(driver)
        await driver.press("escape", "v")
        await driver.pilot.click("#prep-facets", offset=(12, 1))
        await driver.settled()
        assert "Keep only these rows" in shown(driver)
        await driver.pilot.click("#chooser-list OptionList", offset=(6, 0))
        await driver.settled()
        assert len(screen.recipe.directives) == 3
