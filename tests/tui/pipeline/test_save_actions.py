"""Stories of opening, saving and deploying."""

from __future__ import annotations

import json

import pytest

from localcdap.pipeline.editing.edits import SetProperty
from localcdap.pipeline.library.application_model import DeployRequest
from localcdap.tui.dialogs.dialog_screen import InputDialog, LinesDialog
from localcdap.tui.routes import (
    DeployedTarget,
    DocumentTarget,
    DraftTarget,
    NewPipelineTarget,
    PipelineFileTarget,
)
from tests.tui.pipeline.documents import orders
from tests.tui.pipeline.test_editing import TEXT


def show_text(driver):
    """The text of the dialog on top."""
    return "\n".join(str(each.render()) for each in driver.app.screen.query("Static"))


async def test_a_new_pipeline_becomes_a_draft_and_is_saved_again(open_studio, cdap):
    async with open_studio(target=DocumentTarget("kept", TEXT)) as driver:
        editor = await driver.editor()
        await driver.press("ctrl+s")
        await driver.type("kept")
        await driver.press("enter")
        await driver.until(lambda: editor.source.kind == "draft")
        assert not editor.is_changed

        editor.apply(SetProperty("Rename", "rename", "body:words"))
        assert editor.is_changed
        await driver.press("ctrl+s")
        await driver.until(lambda: not editor.is_changed)

        draft = cdap.drafts.get("default", editor.source.draft)
        assert (draft.name, draft.revision) == ("kept", 2)
        assert "body:words" in cdap.drafts.export("default", draft.id)


async def test_a_draft_that_was_saved_elsewhere_is_replaced_only_when_asked(open_studio, cdap):
    from localcdap.pipeline.library.application_model import DraftRequest

    made = cdap.drafts.save("default", DraftRequest(TEXT, name="shared"))
    async with open_studio(target=DraftTarget(made.id)) as driver:
        editor = await driver.editor()
        cdap.drafts.save("default", DraftRequest(TEXT, name="shared"), made.id)
        editor.apply(SetProperty("Rename", "rename", "body:ours"))
        await driver.press("ctrl+s")
        await driver.press("n")
        assert editor.is_changed

        await driver.press("ctrl+s")
        await driver.press("y")
        await driver.until(lambda: not editor.is_changed)
        assert "body:ours" in cdap.drafts.export("default", made.id)


async def test_a_file_is_saved_where_it_came_from(open_studio, tmp_path):
    path = tmp_path / "orders.json"
    path.write_text(TEXT)
    async with open_studio(target=PipelineFileTarget(path)) as driver:
        editor = await driver.editor()
        await driver.press("ctrl+s")
        assert path.read_text() == TEXT  # untouched, to the byte
        editor.apply(SetProperty("Rename", "rename", "body:words"))
        await driver.press("ctrl+s")
        await driver.until(lambda: not editor.is_changed)

        stages = json.loads(path.read_text())["config"]["stages"]
        assert stages[1]["plugin"]["properties"]["rename"] == "body:words"


async def test_a_valid_pipeline_is_deployed_and_one_with_failures_shows_them(open_studio, cdap):
    async with open_studio(target=DocumentTarget("shop", TEXT)) as driver:
        editor = await driver.editor()
        await driver.press("D")
        await driver.type("a b")
        await driver.press("enter")
        assert "letters, digits" in str(driver.app.screen.query_one("#dialog-problem").render())
        await driver.press("backspace", "backspace", "backspace")
        await driver.type("shop")
        await driver.press("enter")
        await driver.until(lambda: editor.source.kind == "deployed")
        assert cdap.applications.describe("default", "shop").number == 1

        editor.apply(SetProperty("Rename", "rename", "nothing:x"))
        await driver.until(lambda: editor.failures)
        await driver.press("D", "enter")
        await driver.until(lambda: driver.app.screen.query_one("#drawer").display)
        assert cdap.applications.describe("default", "shop").number == 1


@pytest.mark.slow
async def test_what_a_deployment_breaks_is_asked_first(open_studio, cdap):
    cdap.applications.deploy(DeployRequest(orders(), name="stall"))
    async with open_studio(target=DeployedTarget("stall")) as driver:
        editor = await driver.editor()
        await driver.press("I")
        await driver.until(lambda: isinstance(driver.app.screen, LinesDialog))
        assert "no field changes" in show_text(driver)
        await driver.press("escape")

        editor.apply(SetProperty("Rename", "rename", "body:words"))
        await driver.validated(editor)
        for answer, version in (("escape", 1), ("enter", 2)):
            await driver.press("D")
            await driver.until(lambda: isinstance(driver.app.screen, InputDialog))
            await driver.press("enter")
            await driver.until(lambda: isinstance(driver.app.screen, LinesDialog))
            shown = show_text(driver)
            assert "Fields of stages" in shown
            assert "Rename" in shown
            await driver.press(answer)
            await driver.until(lambda: not isinstance(driver.app.screen, LinesDialog))
            await driver.settled()
            assert cdap.applications.describe("default", "stall").number == version


@pytest.mark.slow
async def test_unsaved_changes_are_asked_for(open_studio, cdap):
    async with open_studio(target=DocumentTarget("first", TEXT)) as driver:
        editor = await driver.editor()
        editor.apply(SetProperty("Rename", "rename", "body:words"))
        driver.app.navigate(NewPipelineTarget("second"))
        await driver.until(lambda: driver.app.screen.__class__.__name__ == "Chooser")
        await driver.press("escape")
        assert driver.app.screen.editor is editor

        driver.app.navigate(NewPipelineTarget("second"))
        await driver.until(lambda: driver.app.screen.__class__.__name__ == "Chooser")
        await driver.press("down", "enter")
        await driver.until(lambda: driver.app.screen.editor is not editor)
        assert driver.app.screen.editor.title == "second"


async def test_what_cannot_be_opened_is_reported(open_studio, tmp_path):
    async with open_studio(target=PipelineFileTarget(tmp_path / "none.json")) as driver:
        await driver.settled()
        await driver.until(lambda: driver.app.notices.newest_first)

        assert driver.app.screen.view is None
        assert "cannot be read" in driver.app.notices.newest_first[0].title


async def test_a_place_opens_at_its_stage(open_studio, cdap):
    cdap.applications.deploy(DeployRequest(orders(), name="placed"))
    async with open_studio(target=DeployedTarget("placed", stage="Out")) as driver:
        editor = await driver.editor()
        assert editor.selected == "Out"
        driver.app.navigate(DeployedTarget("placed", stage="Rename"))
        await driver.until(lambda: editor.selected == "Rename")
        assert driver.app.screen.editor is editor


async def test_leaving_with_unsaved_changes_asks(open_studio, cdap):
    async with open_studio(target=DocumentTarget("left", TEXT)) as driver:
        editor = await driver.editor()
        editor.apply(SetProperty("Rename", "rename", "body:words"))
        await driver.press("ctrl+q")
        await driver.until(lambda: driver.app.screen.__class__.__name__ == "Chooser")
        await driver.press("escape")
        assert driver.app.is_running
        assert driver.app.screen.editor is editor

        await driver.press("1", "ctrl+q")
        await driver.until(lambda: driver.app.screen.__class__.__name__ == "Chooser")
        await driver.pilot.press("down", "enter")
        await driver.until(lambda: driver.app._exit)


@pytest.mark.slow
async def test_drafts_deployed_pipelines_and_files_are_offered_to_be_opened(open_studio, cdap):
    from localcdap.pipeline.library.application_model import DraftRequest

    cdap.drafts.save("default", DraftRequest(TEXT, name="offered"))
    async with open_studio() as driver:
        await driver.press("2")
        assert driver.app.screen.view is None
        await driver.press("o")
        await driver.until(lambda: driver.app.screen.__class__.__name__ == "Chooser")
        await driver.type("offered")
        await driver.press("enter")
        editor = await driver.editor()

        assert (editor.title, editor.source.kind) == ("orders", "draft")


@pytest.mark.slow
async def test_another_namespace_validates_again_and_has_its_own_drafts(open_studio, cdap):
    cdap.namespaces.create("elsewhere")
    async with open_studio(target=DocumentTarget("moved", TEXT)) as driver:
        editor = await driver.editor()
        driver.app.namespace = "elsewhere"
        await driver.settled()
        await driver.validated(editor)
        assert editor.namespace == "elsewhere"
        await driver.press("ctrl+s", "enter")
        await driver.until(lambda: editor.source.kind == "draft")

    assert [each.name for each in cdap.drafts.list_drafts("elsewhere")] == ["orders"]


async def test_leaving_saves_the_file_that_was_changed(open_studio, tmp_path):
    path = tmp_path / "orders.json"
    path.write_text(TEXT)
    async with open_studio(target=PipelineFileTarget(path)) as driver:
        editor = await driver.editor()
        editor.apply(SetProperty("Rename", "rename", "body:words"))
        await driver.press("ctrl+q", "enter")
        await driver.until(lambda: "body:words" in path.read_text())
        assert not editor.is_changed


@pytest.mark.slow
async def test_a_file_that_another_program_changes_is_compared_and_reloaded(open_studio, tmp_path):
    path = tmp_path / "orders.json"
    path.write_text(TEXT)
    async with open_studio(target=PipelineFileTarget(path)) as driver:
        editor = await driver.editor()
        editor.apply(SetProperty("Out", "format", "csv"))
        path.write_text(TEXT.replace("body:text", "body:other"))
        await driver.until(lambda: editor.is_file_changed)
        assert "changed by another program" in driver.app.notices.newest_first[0].title

        await driver.press("f5", "down", "enter")
        await driver.until(lambda: getattr(driver.app.screen, "comparison", None))
        whats = {
            (stage.name, each.what)
            for stage in driver.app.screen.comparison.stages
            for each in stage.changes
        }
        assert len(whats) == 2
        assert {name for name, _ in whats} == {"Rename", "Out"}

        await driver.press("escape", "enter")
        await driver.until(lambda: driver.app.screen.editor not in (None, editor))
        reloaded = await driver.editor()
        assert reloaded.get_properties("Rename")["rename"] == "body:other"
        assert not reloaded.is_changed
        assert not reloaded.is_file_changed


async def test_a_file_that_is_saved_here_is_not_reported(open_studio, tmp_path):
    path = tmp_path / "orders.json"
    path.write_text(TEXT)
    async with open_studio(target=PipelineFileTarget(path)) as driver:
        editor = await driver.editor()
        for name in ("a", "b"):
            editor.apply(SetProperty("Rename", "rename", f"body:{name}"))
            await driver.press("ctrl+s")
            editor._check_file()
            await driver.app.workers.wait_for_complete(
                [each for each in driver.app.workers if each.group == "file"]
            )
            await driver.settled()
        assert not editor.is_file_changed
