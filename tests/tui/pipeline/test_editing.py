"""Whole stories of editing: what a user presses, and what the pipeline is afterwards."""

from __future__ import annotations

import json

import pytest

from localcdap.pipeline.editing.edits import SetProperty
from localcdap.settings import load_settings
from localcdap.tui.pipeline.plugin_palette import StagePalette
from localcdap.tui.routes import DocumentTarget, NewPipelineTarget
from localcdap.tui.widgets.lines import CapabilityToggle
from tests.tui.pipeline.documents import orders, pipeline, stage
from tests.tui.studio_driver import SMALL

TEXT = json.dumps(orders())


def links(editor):
    return [(c.source, c.target, c.branch or "") for c in editor.document.connections]


async def agreed(driver, cdap, editor):
    """Wait until the service has made every edit; its document is ours then."""
    await driver.validated(editor)
    assert json.loads(cdap.editing.get_document(editor._session.id)) == json.loads(editor.to_text())


async def test_a_pipeline_is_built_from_nothing(open_studio, cdap):
    async with open_studio(target=NewPipelineTarget("built")) as driver:
        editor = await driver.editor()
        canvas = driver.app.screen.view.canvas
        assert "a adds one" in canvas.render_line(canvas.size.height // 3).text
        for plugin in ("file source", "csvparser", "file sink"):
            await driver.press("a")
            await driver.type(plugin)
            await driver.press("enter")
            await driver.until(lambda: not isinstance(driver.app.screen, StagePalette))
            assert driver.app.screen.view.inspector in driver.app.focused.ancestors
            await driver.press("escape")

        assert editor.stages == ["File", "CSVParser", "File2"]
        assert links(editor) == [("File", "CSVParser", ""), ("CSVParser", "File2", "")]
        assert editor.selected == "File2"
        await agreed(driver, cdap, editor)
        assert {failure.stage for failure in editor.failures} >= {"File", "File2"}

        await driver.press("ctrl+z", "ctrl+z", "ctrl+y")
        assert editor.stages == ["File", "CSVParser"]
        await agreed(driver, cdap, editor)


async def test_a_stage_is_inserted_into_a_connection(open_studio, cdap):
    async with open_studio(target=DocumentTarget("orders", TEXT)) as driver:
        editor = await driver.editor()
        before = links(editor)
        source, target, _ = before[0]
        editor.select(source)
        await driver.press("A")
        await driver.until(lambda: isinstance(driver.app.screen, StagePalette))
        listing = driver.app.screen.query_one("FilteredList")
        await driver.until(lambda: listing.keys)
        assert not [
            key for key in listing.keys if key.split("/")[0] in ("batchsource", "batchsink")
        ]
        await driver.type("csvparser")
        await driver.press("enter")

        assert editor.selected == "CSVParser"
        assert driver.app.screen.view.inspector in driver.app.focused.ancestors
        inserted = [(source, "CSVParser", ""), ("CSVParser", target, "")]
        assert sorted(links(editor)) == sorted([*before[1:], *inserted])
        await agreed(driver, cdap, editor)
        editor.undo()
        assert links(editor) == before


async def test_stages_are_connected_renamed_copied_and_deleted(open_studio, cdap):
    async with open_studio(target=DocumentTarget("orders", TEXT)) as driver:
        editor = await driver.editor()
        assert editor.is_valid
        assert editor.selected == "Orders"

        await driver.press("d")
        assert editor.selected == "Orders 2"
        await driver.press("c")
        await driver.type("rename")
        await driver.press("enter")
        assert ("Orders 2", "Rename", "") in links(editor)

        await driver.press("R")
        await driver.type("More")
        await driver.press("enter")
        assert "More" in editor.stages
        assert ("More", "Rename", "") in links(editor)
        assert editor.selected == driver.app.screen.view.canvas.selected == "More"

        await driver.press("y", "p")
        assert editor.selected == "More2"
        await driver.press("delete")
        assert "More2" not in editor.stages

        editor.select("More")
        await driver.press("x")
        assert ("More", "Rename", "") not in links(editor)
        await agreed(driver, cdap, editor)

        for _ in range(6):
            await driver.press("u")
        assert json.loads(editor.to_text()) == json.loads(TEXT)
        assert not editor.can_undo
        await agreed(driver, cdap, editor)


async def test_a_condition_asks_which_way(open_studio, cdap):
    document = pipeline(
        [
            stage("in", "batchsource", "File"),
            stage("if", "condition", "Conditional", "condition-plugins"),
            stage("t", "transform", "JavaScript"),
            stage("u", "transform", "JavaScript"),
        ],
        "in>if",
    )
    async with open_studio(target=DocumentTarget("c", json.dumps(document))) as driver:
        editor = await driver.editor()
        editor.select("if")
        await driver.press("c", "t", "enter")
        await driver.press("enter")
        await driver.press("c", "u", "enter")
        await driver.press("enter")

        assert links(editor)[1:] == [("if", "t", "true"), ("if", "u", "false")]
        labels = {
            wire.label[2] for wire in driver.app.screen.view.canvas.drawing.wires if wire.label
        }
        assert labels == {" true ", " false "}


@pytest.mark.slow
async def test_a_splitter_asks_for_its_port(open_studio):
    document = pipeline(
        [
            stage("in", "batchsource", "File", path="/x", format="text", referenceName="in"),
            stage(
                "split", "splittertransform", "NullFieldSplitter", "transform-plugins", field="body"
            ),
            stage("t", "transform", "JavaScript"),
        ],
        "in>split",
    )
    async with open_studio(target=DocumentTarget("s", json.dumps(document))) as driver:
        editor = await driver.editor()
        editor.select("split")
        ports = list(editor.get_state("split").port_schemas)
        assert ports
        await driver.press("c", "t", "enter")
        await driver.press("enter")

        assert links(editor)[1] == ("split", "t", ports[0])


@pytest.mark.slow
async def test_what_cannot_be_connected_says_why(open_studio):
    async with open_studio(target=DocumentTarget("orders", TEXT)) as driver:
        editor = await driver.editor()
        editor.select("Out")
        await driver.press("c", "enter")
        assert "Not now: a sink has no output" in str(
            driver.app.screen.query_one("#chooser-detail").render()
        )
        await driver.press("escape")
        assert len(links(editor)) == 2


@pytest.mark.slow
async def test_a_stage_dropped_on_another_is_connected(open_studio):
    document = orders()
    document["config"]["connections"] = []
    async with open_studio(target=DocumentTarget("orders", json.dumps(document))) as driver:
        editor = await driver.editor()
        canvas = driver.app.screen.view.canvas
        canvas.post_message(canvas.Drawn("Orders", "Rename"))
        await driver.settled()
        canvas.post_message(canvas.Drawn("Out", "Rename"))
        await driver.settled()

        assert links(editor) == [("Orders", "Rename", "")]
        assert "a sink has no output" in driver.app.notices.newest_first[0].title


async def test_an_edit_is_seen_at_once_and_validated_soon(open_studio):
    async with open_studio(target=DocumentTarget("orders", TEXT)) as driver:
        editor = await driver.editor()
        assert editor.apply(SetProperty("Rename", "rename", "nothing:text"))

        assert editor.get_properties("Rename")["rename"] == "nothing:text"
        assert not editor.is_validated
        await driver.until(lambda: editor.failures)
        assert editor.failures[0].stage == "Rename"
        title = driver.app.screen.view.query_one("TitleBar")
        await driver.until(lambda: " failures in " in str(title.render()))
        assert "changed" in str(title.render())

        await driver.press("n")
        assert editor.selected == "Rename"
        editor.undo()
        await driver.until(lambda: editor.is_valid)
        assert not editor.is_changed


async def test_what_is_refused_changes_nothing(open_studio):
    async with open_studio(target=DocumentTarget("orders", TEXT)) as driver:
        editor = await driver.editor()

        assert not editor.apply(SetProperty("nobody", "a", "b"))
        driver.app.screen.view.canvas.paste("nonsense")
        await driver.settled()

        assert json.loads(editor.to_text()) == json.loads(TEXT)
        assert editor.is_valid


@pytest.mark.slow
async def test_a_session_that_is_lost_is_opened_again(open_studio, cdap):
    async with open_studio(target=DocumentTarget("orders", TEXT)) as driver:
        editor = await driver.editor()
        editor.apply(SetProperty("Rename", "rename", "body:first"))
        await driver.validated(editor)
        first = editor._session.id
        cdap.editing.close(first)
        editor.apply(SetProperty("Rename", "rename", "nothing:x"))

        await driver.until(lambda: editor._session.id not in (None, first))
        await driver.until(lambda: editor.failures)
        await agreed(driver, cdap, editor)

        editor.undo()
        editor.undo()  # of which the new session knows nothing
        assert json.loads(editor.to_text()) == json.loads(TEXT)
        await driver.until(lambda: editor.is_valid)
        await agreed(driver, cdap, editor)


async def test_new_plugins_appear_in_the_palette_under_the_highlight(open_studio, cdap, home):
    async with open_studio(target=NewPipelineTarget()) as driver:
        await driver.editor()
        await driver.press("a")
        await driver.until(lambda: isinstance(driver.app.screen, StagePalette))
        palette = driver.app.screen
        listing = palette.query_one("FilteredList")
        await driver.until(lambda: listing.keys)
        await driver.press("down", "down", "down")
        before, keys, focused = listing.key, listing.keys, driver.app.focused

        folder = home.path / "plugins"
        folder.mkdir(exist_ok=True)
        (folder / "aaa-1.0.0.py").write_text(PLUGIN)
        await driver.until(lambda: "batchsource/AAA" in listing.keys)

        assert listing.key == before
        assert driver.app.focused is focused
        assert len(listing.keys) == len(keys) + 1

        chip = next(c for c in palette.query(CapabilityToggle) if c.capability == "pii")
        chip.action_require()
        await driver.until(lambda: listing.keys == ["batchsource/AAA"])
        await driver.press("enter")
        await driver.until(lambda: driver.app.screen is not palette)
        assert driver.app.screen.editor.stages == ["AAA"]
        (folder / "aaa-1.0.0.py").unlink()


PLUGIN = """
from localcdap.api import BatchSource, PluginConfig, capability, plugin

@plugin(type="batchsource", name="AAA", description="Comes first.")
@capability("pii")
class Aaa(BatchSource):
    class Config(PluginConfig):
        pass

    def configure(self, stage):
        pass
"""


@pytest.mark.slow
@pytest.mark.parametrize("size", [SMALL, (160, 48)])
async def test_the_inspector_is_beside_or_over_the_canvas(open_studio, size):
    async with open_studio(size=size, target=DocumentTarget("orders", TEXT)) as driver:
        await driver.editor()
        view = driver.app.screen.view
        is_wide = size[0] >= 120
        assert view.inspector.display is is_wide
        await driver.press("enter")

        assert view.inspector.display
        assert view.query_one("#canvas-frame").display is is_wide
        assert view.inspector in driver.app.focused.ancestors
        await driver.press("escape")
        await driver.press("escape")
        assert view.canvas.display
        assert driver.app.focused is view.canvas


@pytest.mark.slow
async def test_settings_are_one_edit(open_studio, cdap):
    async with open_studio(target=DocumentTarget("orders", TEXT)) as driver:
        editor = await driver.editor()
        await driver.press("s")
        screen = driver.app.screen
        screen.query_one("#description").text = "All orders."
        screen.query_one("#numOfRecordsPreview").value = "x"
        await driver.press("ctrl+s")
        assert "whole number" in str(screen.query_one("#dialog-problem").render())
        screen.query_one("#numOfRecordsPreview").value = "7"
        screen.query_one("#resources-memoryMB").value = "512"
        screen.query_one("#properties").text = "system.spark.spark.sql.shuffle.partitions=2"
        await driver.press("ctrl+s")

        document = editor.document
        assert document.description == "All orders."
        assert document.num_of_records_preview == 7
        assert document.resources.memory_mb == 512
        assert document.properties == {"system.spark.spark.sql.shuffle.partitions": "2"}
        await agreed(driver, cdap, editor)
        editor.undo()
        assert json.loads(editor.to_text()) == json.loads(TEXT)


async def test_a_note_is_marked_and_saved_with_the_stage(open_studio):
    async with open_studio(target=DocumentTarget("orders", TEXT)) as driver:
        editor = await driver.editor()
        await driver.press("m")
        await driver.type("Comes nightly")
        await driver.press("enter")

        assert editor.get_node("Orders")["description"] == "Comes nightly"
        canvas = driver.app.screen.view.canvas
        assert any(
            "Orders" in canvas.render_line(y).text and "✎" in canvas.render_line(y).text
            for y in range(canvas.size.height)
        )


@pytest.mark.slow
async def test_files_are_looked_at_when_asked(open_studio, tmp_path):
    (tmp_path / "orders.csv").write_text("id,body\n1,a\n")
    document = orders(str(tmp_path / "orders.csv"))
    del document["config"]["stages"][0]["plugin"]["properties"]["schema"]
    async with open_studio(target=DocumentTarget("looked", json.dumps(document))) as driver:
        editor = await driver.editor()
        assert editor.get_state("Orders").detected_ms is None
        await driver.press("V")
        await driver.until(lambda: editor.get_state("Orders").detected_ms and editor.is_validated)

        names = [field.name for field in editor.get_state("Orders").output_schema.fields]
        assert names == ["id", "body"]


@pytest.mark.slow
async def test_where_a_bucket_lies_is_said_by_name_or_in_its_field(open_studio, home):
    document = orders()
    document["config"]["stages"][0]["plugin"]["properties"]["path"] = "gs://sales/in.csv"
    async with open_studio(target=DocumentTarget("orders", json.dumps(document))) as driver:
        editor = await driver.editor()
        await driver.press("colon")
        await driver.type("map a bucket")
        await driver.press("enter", "enter")
        await driver.type("data/sales")
        await driver.press("enter")
        assert load_settings(home.settings_file).locations == {"gs://sales": "data/sales"}

        driver.app.screen.view.show_stage(editor.stages[0], "path")
        await driver.until(lambda: driver.app.screen.view.inspector.form.is_ready)
        await driver.press("f2")
        await driver.type("map gs")
        await driver.press("enter")
        await driver.type("data/other")
        await driver.press("enter")
        assert load_settings(home.settings_file).locations == {"gs://sales": "data/other"}
