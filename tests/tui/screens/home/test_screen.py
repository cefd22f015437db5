"""The home screen."""

from __future__ import annotations

import json

import pytest
from textual.content import Content
from textual.widgets import OptionList, Static

from localcdap.engine.messages.spool import RunStatus
from localcdap.home import find_shipped_data
from localcdap.host import demo
from localcdap.pipeline.library.application_model import DeployRequest, DraftRequest
from localcdap.runs.model import RunError, get_now
from localcdap.schedules.model import (
    EventKind,
    Schedule,
    ScheduleEvent,
    ScheduleStatus,
    ScheduleSummary,
    TimeTrigger,
)
from localcdap.tui.routes import DeployedTarget, PipelineFileTarget, RunTarget, SchedulesTarget
from localcdap.tui.screens.home.pipeline_import import FailedImportDialog
from localcdap.tui.screens.home.screen import Overview, RecentPipeline, _spread, list_next_steps
from tests.runs.stored_runs import write_run
from tests.tui.pipeline.documents import orders
from tests.tui.studio_driver import SMALL

DEMO = (find_shipped_data() / "demo" / "pipeline.json").read_text()


@pytest.fixture
def targets(monkeypatch):
    """Where the studio was asked to go."""
    places = []
    monkeypatch.setattr(
        "localcdap.tui.app.StudioApp.navigate", lambda app, place: places.append(place)
    )
    return places


def lines(driver, name):
    listed = driver.app.screen.query_one(f"#{name}", OptionList)
    return [str(listed.get_option_at_index(i).prompt) for i in range(listed.option_count)]


async def test_an_empty_namespace_suggests_the_demo(open_studio, cdap):
    cdap.namespaces.create("new")
    async with open_studio(size=SMALL, namespace="new") as driver:
        assert driver.app.screen.has_class("-empty")
        assert driver.app.focused.id == "begin"
        assert driver.app.focused.highlighted_option.id == "run_demo"
        assert lines(driver, "runs") == ["Nothing yet."]


async def test_what_is_deployed_appears_by_itself(open_studio, cdap, targets):
    async with open_studio() as driver:
        cdap.applications.deploy(DeployRequest(DEMO, name="shown"))
        await driver.until(lambda: "shown" in " ".join(lines(driver, "pipelines")))
        assert not driver.app.screen.has_class("-empty")
        driver.app.screen.query_one("#pipelines").focus()
        await driver.press("enter")

        assert targets == [DeployedTarget("shown")]


async def test_the_highlight_stays_on_its_pipeline_when_newer_ones_are_deployed(
    open_studio, cdap, targets
):
    cdap.applications.deploy(DeployRequest(DEMO, name="older"))
    async with open_studio() as driver:
        driver.app.screen.query_one("#pipelines").focus()
        row = next(n for n, line in enumerate(lines(driver, "pipelines")) if "older" in line)
        driver.app.focused.highlighted = row
        cdap.applications.deploy(DeployRequest(DEMO, name="newer"))
        await driver.until(lambda: "newer" in " ".join(lines(driver, "pipelines")))
        assert "older" in str(driver.app.focused.highlighted_option.prompt)


async def test_drafts_and_recent_files_are_listed_too(open_studio, cdap, tmp_path):
    cdap.drafts.save("default", DraftRequest(DEMO, "unfinished"))
    file = tmp_path / "exported.json"
    file.write_text(DEMO)
    async with open_studio() as driver:
        driver.app.user_state.remember_file(file)
        driver.app.user_state.remember_file(tmp_path / "gone.json")
        driver.app.screen.reload()
        await driver.settled()

        shown = " ".join(lines(driver, "pipelines"))
        assert "unfinished" in shown
        assert "exported" in shown
        assert "gone" not in shown


async def test_another_namespace_shows_what_is_there(open_studio, cdap):
    cdap.namespaces.create("elsewhere")
    cdap.applications.deploy(DeployRequest(DEMO, "elsewhere", "there"))
    async with open_studio(namespace="elsewhere") as driver:
        assert [line.split()[0] for line in lines(driver, "pipelines")] == ["there"]


async def test_a_file_is_opened(open_studio, targets, tmp_path):
    file = tmp_path / "exported.json"
    file.write_text(DEMO)
    async with open_studio() as driver:
        await driver.press("o")
        await driver.paste(str(file))
        await driver.press("enter")

        assert targets == [PipelineFileTarget(file)]
        assert driver.app.user_state.files[0] == str(file)


async def test_a_good_file_is_deployed(open_studio, cdap, targets, tmp_path):
    file = tmp_path / "good.json"
    file.write_text(DEMO)
    async with open_studio() as driver:
        await driver.press("i")
        await driver.paste(str(file))
        await driver.press("enter")
        await driver.until(lambda: targets)

        assert targets == [DeployedTarget("spending_by_customer")]


@pytest.fixture
def missing_versions(tmp_path):
    """A pipeline that names a version of an artifact that is not here."""
    document = json.loads(DEMO)
    document["name"] = "imported"
    for stage in document["config"]["stages"]:
        stage["plugin"]["artifact"]["version"] = "1.0.0"
    file = tmp_path / "elsewhere.json"
    file.write_text(json.dumps(document))
    return file


async def test_an_import_uses_installed_versions(open_studio, cdap, targets, missing_versions):
    async with open_studio() as driver:
        await driver.press("i")
        await driver.paste(str(missing_versions))
        await driver.press("enter")
        await driver.until(lambda: isinstance(driver.app.screen, FailedImportDialog))
        assert not cdap.applications.has_application("default", "imported")
        marks = [str(line.render())[0] for line in driver.app.screen.query(".import-line")]
        assert {"✗", "⚒"} == {*marks}
        assert marks == sorted(marks, key="✗⚒".index)  # why, then what can be done
        await driver.press("x")
        await driver.until(lambda: targets)

        assert targets == [DeployedTarget("imported")]
        assert cdap.applications.has_application("default", "imported")


async def test_a_failed_import_is_opened_in_the_studio_or_cancelled(
    open_studio, cdap, targets, missing_versions
):
    async with open_studio() as driver:
        for key in ("escape", "o"):
            await driver.press("i")
            await driver.paste(str(missing_versions))
            await driver.press("enter")
            await driver.until(lambda: isinstance(driver.app.screen, FailedImportDialog))
            await driver.press(key)

        assert targets == [PipelineFileTarget(missing_versions)]


@pytest.mark.slow
async def test_a_file_opened_after_a_fixed_import_is_fixed_too(open_studio, missing_versions):
    text = missing_versions.read_text()
    missing_versions.write_text(text.replace('"csv"', '"cvs"', 1))
    async with open_studio() as driver:
        await driver.press("i")
        await driver.paste(str(missing_versions))
        await driver.press("enter")
        for key, title in (("x", "has"), ("o", "still has")):
            title = f"imported {title} "
            await driver.until(lambda title=title: title in read_title(driver.app.screen))
            await driver.press(key)
        await driver.until(lambda: getattr(driver.app.screen, "editor", None) is not None)
        editor = driver.app.screen.editor
        await driver.until(lambda: editor.can_undo and editor.is_validated)

        assert {failure.field for failure in editor.failures} == {"format"}


def read_title(screen):
    """The title of the dialog, where there is one."""
    return "".join(str(title.content) for title in screen.query("#dialog-title").results(Static))


def test_a_name_keeps_space_next_to_its_facts():
    facts = [["deployed", "5 min ago"], ["deployed"]]
    for width, line in (
        (46, "a name of a pipeline    deployed · 5 min ago"),
        (40, "a name of a pipe… deployed · 5 min ago"),
        (33, "a name of a pipeline   deployed"),
        (20, "a name o… deployed"),
    ):
        assert _spread(Content("a name of a pipeline"), facts, width).plain == line


@pytest.mark.parametrize("content", [b"\xff\xfe", b"{", b"[]", b""])
async def test_a_file_that_is_no_pipeline_is_reported(open_studio, targets, tmp_path, content):
    file = tmp_path / "bad.json"
    file.write_bytes(content)
    async with open_studio() as driver:
        await driver.press("i")
        await driver.paste(str(file))
        await driver.press("enter")
        await driver.until(lambda: len(driver.app.notices))

        assert driver.app.notices.newest_first[0].severity == "error"
        assert "bad.json" in driver.app.notices.newest_first[0].title
        assert targets == []


@pytest.mark.spark
async def test_the_demo_runs(open_studio, cdap, home, targets, engine_directory):
    async with open_studio() as driver:
        await driver.press("d")
        await driver.until(lambda: targets, 60)

        assert demo.install_demo(home).exists()
        run = cdap.runs.get("default", "last")
        assert targets == [RunTarget(run.run)]
        assert cdap.runs.stop(run.run).status.is_end


async def test_home_says_what_to_do_next_and_a_key_goes_there(open_studio, cdap):
    cdap.namespaces.create("busy")
    error = RunError("Line 3 has 2 values.", None, "Parse")
    write_run(cdap, "returns", namespace="busy")
    write_run(cdap, "stock", RunStatus.FAILED, namespace="busy", error=error)
    cdap.applications.deploy(DeployRequest(orders(), namespace="busy", name="returns"))
    cdap.applications.deploy(DeployRequest(orders(), namespace="busy", name="waits"))
    async with open_studio(namespace="busy") as driver:
        await driver.settled()
        screen = driver.app.screen
        steps = [f"{each.mark[0]} {each.what}" for each in screen._steps]
        assert steps == [
            "✗ stock failed",
            "~ returns has changed",
            "◌ waits has not run",
            "✓ returns completed",
        ]
        assert screen.query_one("#next").option_count == 4
        assert screen.query_one("#home-timeline").display
        await driver.press("c")
        await driver.until(lambda: driver.app.current_mode == "runs")
        await driver.until(lambda: driver.app.screen.run is not None)
        assert driver.app.screen.run.error.stage == "Parse"


def test_a_schedule_that_started_no_run_is_looked_at_and_its_pipeline_not_run_by_hand():
    def make(name: str, kind: EventKind, status=ScheduleStatus.SCHEDULED) -> ScheduleSummary:
        schedule = Schedule("default", name, "nightly", TimeTrigger("0 3 * * *"), status=status)
        event = ScheduleEvent(1, "default", name, "nightly", get_now(), kind, "No host was up.")
        return ScheduleSummary(schedule, None, event)

    names = ("missed", "ran", "off")
    pipelines = [RecentPipeline(name, "deployed", 1, DeployedTarget(name)) for name in names]
    schedules = [
        make("missed", EventKind.MISSED),
        make("ran", EventKind.STARTED),
        make("off", EventKind.MISSED, ScheduleStatus.SUSPENDED),
    ]
    steps = list_next_steps(Overview(pipelines, [], 0, 0, 1, schedules))
    assert [(each.what, each.target) for each in steps] == [
        ("missed nightly missed now", SchedulesTarget("missed")),
        ("off has not run", DeployedTarget("off")),
    ]
    assert steps[0].detail == "No host was up."
