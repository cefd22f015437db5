"""The library on real pipelines."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from textual.widgets import Static

from localcdap.pipeline.document.reader import read_document
from localcdap.pipeline.library.application_model import DeployRequest, DraftRequest
from localcdap.pipeline.validation.plugins import PluginTemplate
from localcdap.tui import routes as places
from localcdap.tui.canvas.drawing_view import PipelineChart
from localcdap.tui.lists import FilteredList
from localcdap.tui.screens.library.comparison import PipelineComparisonDialog
from tests.e2e.pipelines import csv_source, json_sink, pipeline, schema, write
from tests.tui.studio_driver import SMALL

ROW = schema(id="int", name="string")


def document(name: str = "sales", source: str = "In", version: str | None = None) -> dict:
    made = pipeline(
        [csv_source(source, Path("/data/in"), ROW), json_sink("Out", Path("/data/out"))],
        (source, "Out"),
    )
    for stage in made["config"]["stages"]:
        if version is not None:
            stage["plugin"]["artifact"]["version"] = version
    return {**made, "name": name}


@pytest.fixture
def namespace(cdap):
    cdap.namespaces.create("shop")
    yield "shop"
    cdap.namespaces.delete("shop")


@pytest.fixture
def sales(cdap, namespace: str) -> str:
    cdap.applications.deploy(DeployRequest(document(), namespace))
    request = DeployRequest(document(source="Input"), namespace, change="better names")
    assert cdap.applications.deploy(request).application
    return "sales"


def get_list(driver) -> FilteredList:
    return driver.app.screen.query_one("#library-items", FilteredList)


def read_summary(driver) -> str:
    return str(driver.app.screen.query_one("#library-summary", Static).content)


async def test_an_empty_library_says_what_to_do(open_studio, namespace: str):
    async with open_studio(namespace=namespace) as driver:
        await driver.press("6")
        assert get_list(driver).key is None
        screen = driver.app.screen
        assert screen.explain_disabled("compare") == "no pipeline is highlighted"
        assert screen.check_action("delete", ()) is None


async def test_everything_is_listed_by_kind(open_studio, cdap, namespace: str, sales: str):
    draft = cdap.drafts.save(namespace, DraftRequest(document("idea")))
    template = PluginTemplate("Daily", "batchsource", "File", {"format": "csv"}, ["format"])
    cdap.templates.save(namespace, template)
    async with open_studio(namespace=namespace, size=SMALL) as driver:
        await driver.press("6")
        assert get_list(driver).keys == [
            "deployed sales",
            f"draft {draft.id}",
            "template batchsource Daily",
        ]
        assert "Input  batchsource File" in read_summary(driver)
        drawing = driver.app.screen.query_one(PipelineChart)
        lines = [drawing.render_line(y).text for y in range(drawing.size.height)]
        assert any("Input" in line and "Out" in line and "▶" in line for line in lines), lines
        await driver.press("G")
        assert not drawing.display
        assert "format  csv  locked" in read_summary(driver)


async def test_two_versions_are_compared(open_studio, namespace: str, sales: str):
    async with open_studio(namespace=namespace) as driver:
        for key in ("6", "c", "enter"):
            await driver.press(key)
        await driver.until(lambda: isinstance(driver.app.screen, PipelineComparisonDialog))
        await driver.settled()
        screen = driver.app.screen
        assert [(s.kind, s.before, s.name) for s in screen.comparison.stages] == [
            ("renamed", "In", "Input")
        ]
        await driver.press("s")
        assert [(s.before, s.name) for s in screen.comparison.stages] == [("Input", "In")]
        await driver.press("escape")
        assert driver.app.screen.AREA == "library"


async def test_versions_are_opened_in_the_studio(open_studio, cdap, namespace: str, sales: str):
    async with open_studio(namespace=namespace) as driver:
        gone: list[places.NavigationTarget] = []
        driver.app.navigate = gone.append
        for key in ("6", "o"):
            await driver.press(key)
        versions = driver.app.screen.query_one("#versions", FilteredList)
        versions.focus_list()
        for key in ("j", "enter"):
            await driver.press(key)
        first = cdap.applications.list_versions(namespace, "sales")[1]
        assert gone == [
            places.DeployedTarget("sales"),
            places.DeployedTarget("sales", first.version),
        ]


@pytest.mark.slow
async def test_a_draft_is_renamed_copied_and_an_earlier_revision_restored(
    open_studio, cdap, namespace: str
):
    cdap.drafts.save(namespace, DraftRequest(document("idea")))
    cdap.drafts.save(namespace, DraftRequest(document("idea", source="Later")))
    async with open_studio(namespace=namespace) as driver:
        for key in ("6", "n"):
            await driver.press(key)
        driver.app.focused.value = "plan"
        await driver.press("enter")
        assert [each.name for each in cdap.drafts.list_drafts(namespace)] == ["plan"]

        await driver.press("D")
        assert driver.app.focused.value == "plan_copy"
        await driver.press("enter")
        copied, plan = sorted(
            cdap.drafts.list_drafts(namespace), key=lambda d: d.name != "plan_copy"
        )
        assert get_list(driver).key == f"draft {copied.id}"

        get_list(driver).show(f"draft {plan.id}")
        await driver.settled()
        versions = driver.app.screen.query_one("#versions", FilteredList)
        assert versions.keys == ["3", "2", "1"]
        versions.focus_list()
        for key in ("G", "b"):
            await driver.press(key)
        assert '"In"' in cdap.drafts.export(namespace, plan.id)


@pytest.mark.slow
async def test_renaming_a_deployed_pipeline_warns_about_lost_versions(
    open_studio, cdap, namespace: str, sales: str
):
    async with open_studio(namespace=namespace) as driver:
        for key in ("6", "n"):
            await driver.press(key)
        driver.app.focused.value = "turnover"
        await driver.press("enter")
        assert "1 earlier version" in str(driver.app.screen.query_one("#dialog-detail").content)
        await driver.press("y")
        assert [each.name for each in cdap.applications.list_applications(namespace)] == [
            "turnover"
        ]
        assert get_list(driver).key == "deployed turnover"


@pytest.mark.slow
async def test_deleting_asks_first_and_a_template_can_be_restored(
    open_studio, cdap, namespace: str, sales: str
):
    cdap.templates.save(
        namespace, PluginTemplate("Daily", "batchsource", "File", {"format": "csv"})
    )
    async with open_studio(namespace=namespace) as driver:
        for key in ("6", "d", "n"):
            await driver.press(key)
        assert cdap.applications.has_application(namespace, "sales")
        for key in ("d", "y"):
            await driver.press(key)
        assert not cdap.applications.has_application(namespace, "sales")
        assert get_list(driver).key == "template batchsource Daily"
        await driver.press("d")
        assert cdap.templates.list_templates(namespace) == []
        await driver.press("ctrl+z")
        assert [each.name for each in cdap.templates.list_templates(namespace)] == ["Daily"]


@pytest.mark.slow
async def test_plugins_are_upgraded_after_a_review(open_studio, cdap, namespace: str):
    cdap.drafts.save(namespace, DraftRequest(document("old", version="1.7.0")))
    newest = cdap.artifacts.get_plugin(namespace, "batchsource", "File").artifact.version
    async with open_studio(namespace=namespace) as driver:
        for key in ("6", "u"):
            await driver.press(key)
        await driver.until(lambda: isinstance(driver.app.screen, PipelineComparisonDialog))
        await driver.settled()
        screen = driver.app.screen
        assert [stage.kind for stage in screen.comparison.stages] == ["changed", "changed"]
        await driver.press("enter")
        (draft,) = cdap.drafts.list_drafts(namespace)
        text = cdap.drafts.export(namespace, draft.id)
        assert text.count(f'"version": "{newest}"') == 2
        await driver.press("u")
        assert driver.app.screen.AREA == "library"  # nothing left to do


@pytest.mark.slow
async def test_what_is_exported_is_imported_again(
    open_studio, cdap, namespace: str, sales: str, tmp_path: Path
):
    file = tmp_path / "sales.json"
    async with open_studio(namespace=namespace) as driver:

        async def chosen(*_: object, **__: object) -> Path:
            return file

        driver.app.pick_file = chosen
        for key in ("6", "e"):
            await driver.press(key)
        await driver.until(file.exists)
        await driver.settled()
        assert json.loads(file.read_text()) == document(source="Input")
        await driver.press("i")
        await driver.until(lambda: len(cdap.applications.list_versions(namespace, "sales")) == 3)
        await driver.settled()
        await driver.press("C")
        assert driver.app.screen.comparison.is_equal


async def test_a_failed_import_can_be_fixed(open_studio, cdap, namespace: str, tmp_path: Path):
    file = Path(write(document("old", version="1.7.0"), tmp_path / "old.json"))
    async with open_studio(namespace=namespace) as driver:

        async def chosen(*_: object, **__: object) -> Path:
            return file

        driver.app.pick_file = chosen
        for key in ("6", "i"):
            await driver.press(key)
        await driver.press("x")
        await driver.until(lambda: cdap.applications.has_application(namespace, "old"))
        await driver.settled()
        assert get_list(driver).key == "deployed old"


@pytest.mark.slow
async def test_a_template_is_used_in_a_new_pipeline(open_studio, cdap, namespace: str):
    cdap.templates.save(
        namespace, PluginTemplate("Daily", "batchsource", "File", {"format": "csv"}, ["format"])
    )
    async with open_studio(namespace=namespace) as driver:
        gone: list[places.DocumentTarget] = []
        driver.app.navigate = gone.append
        for key in ("6", "o"):
            await driver.press(key)
    (stage,) = read_document(gone[0].text).stages
    assert (stage.plugin.name, stage.plugin.template) == ("File", "Daily")
    assert stage.plugin.properties == {"format": "csv"}
