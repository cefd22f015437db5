"""The dialog of schedules on real services: they are listed, made, enabled, changed and deleted with keys."""

from __future__ import annotations

import json

import pytest
from textual.widgets import Input, Static

from localcdap.home import find_shipped_data
from localcdap.pipeline.library.application_model import DeployRequest
from localcdap.schedules.model import (
    MAPPING,
    PIPELINE_SCHEDULE,
    AndTrigger,
    ConcurrencyConstraint,
    DelayConstraint,
    LastRunConstraint,
    OrTrigger,
    ProgramStatusTrigger,
    ScheduleRequest,
    ScheduleStatus,
    TimeRangeConstraint,
    TimeTrigger,
    TriggerProgram,
)
from localcdap.tui.dialogs.schedule_form import ScheduleForm
from localcdap.tui.dialogs.schedules import SchedulesDialog
from localcdap.tui.lists import FilteredList
from localcdap.tui.routes import SchedulesTarget
from tests.tui.studio_driver import SMALL

NIGHTLY = ("default", "sales", "nightly")


@pytest.fixture(autouse=True)
def sales(cdap):
    text = (find_shipped_data() / "demo" / "pipeline.json").read_text()
    cdap.applications.deploy(DeployRequest(text, name="sales"))
    cdap.schedules.delete("default", "sales", PIPELINE_SCHEDULE)
    yield
    cdap.applications.delete("default", "sales")


def text_of(driver, id: str) -> str:
    return str(driver.app.screen.query_one(id, Static).content)


def keys(driver) -> list[str]:
    return driver.app.screen.query_one(FilteredList).keys


async def show(driver) -> None:
    driver.app.push_screen(SchedulesDialog("sales"))
    await driver.settled()


async def fill(driver, **values: str) -> None:
    for field, value in values.items():
        driver.app.screen.query_one(f"#form-{field}", Input).value = value
    await driver.settled()


async def test_a_schedule_is_made_enabled_changed_and_deleted(open_studio, cdap):
    async with open_studio() as driver:
        await show(driver)
        assert keys(driver) == []
        await driver.press("a")
        assert isinstance(driver.app.screen, ScheduleForm)
        await fill(driver, name="nightly", cron="0 25 * * *")
        assert "'25' is not a valid hour: use 0 to 23" in text_of(driver, "#form-times")
        await fill(driver, cron="0 3 ? * MON", most="1", arguments="day=1, to=x")
        times = text_of(driver, "#form-times").splitlines()
        assert len(times) == 5
        assert all(each.startswith("Mon ") and "03:00:00" in each for each in times)
        await driver.press("ctrl+s")

        found = cdap.schedules.get(*NIGHTLY)
        assert found.trigger == TimeTrigger("0 3 ? * MON")
        assert found.constraints == [ConcurrencyConstraint(1)]
        assert found.properties == {"day": "1", "to": "x"}
        assert keys(driver) == ["nightly"]

        await driver.press("s")
        assert cdap.schedules.get(*NIGHTLY).status is ScheduleStatus.SCHEDULED
        await driver.press("enter")
        await fill(driver, cron="0 4 * * *", runs="other=FAILED,KILLED")
        await driver.press("ctrl+s")
        after = ProgramStatusTrigger(TriggerProgram("default", "other"), ["FAILED", "KILLED"])
        changed = cdap.schedules.get(*NIGHTLY)
        assert changed.trigger == AndTrigger([TimeTrigger("0 4 * * *"), after])
        assert changed.properties == {"day": "1", "to": "x"}

        await driver.press("s")
        assert cdap.schedules.get(*NIGHTLY).status is ScheduleStatus.SUSPENDED
        await driver.press("d")
        await driver.press("y")
        assert keys(driver) == []
        assert cdap.schedules.list_schedules("default", "sales") == []


async def test_all_that_is_wrong_is_said_at_once_and_nothing_is_lost(open_studio, cdap):
    async with open_studio(size=SMALL) as driver:
        await show(driver)
        await driver.press("a")
        await driver.press("ctrl+s")
        assert text_of(driver, "#dialog-problem").splitlines() == [
            "Enter a name.",
            "No trigger was specified for the schedule. Enter times, a pipeline or a dataset.",
        ]
        await fill(driver, name="nightly", cron="0 99 * * *", partitions="d=many", runs="a=NEVER")
        await fill(driver, arguments="x", between="22-6", delay="10", most="some", timeout="long")
        await fill(driver, map="day", **{"map-property": "input=path"})
        await driver.press("ctrl+s")
        said = text_of(driver, "#dialog-problem")
        for problem in (
            "Invalid cron expression '0 99 * * *'",
            "'d=many' names no number of partitions.",
            "Program status 'NEVER' cannot be the trigger of a schedule",
            "'x' is not of the form KEY=VALUE.",
            "Failed to parse start time '22'",
            "'10' is not a valid duration",
            "'some' is not a valid number of runs.",
            "'long' is not a valid duration",
            "'day' is not of the form KEY=VALUE.",
            "'path' is not a valid property of a stage. Write TARGET=STAGE.PROPERTY.",
        ):
            assert problem in said
        assert cdap.schedules.list_schedules("default", "sales") == []
        assert driver.app.screen.query_one("#form-problems").can_focus
        await fill(driver, cron="0 3 * * *", partitions="", runs="", arguments="", between="")
        await fill(driver, delay="", most="", timeout="", map="", **{"map-property": ""})
        await driver.press("ctrl+s")
        assert keys(driver) == ["nightly"]


async def test_a_schedule_takes_arguments_and_properties_of_the_triggering_run(open_studio, cdap):
    async with open_studio(size=SMALL) as driver:
        await show(driver)
        await driver.press("a")
        await fill(driver, name="nightly", runs="sales")
        field = driver.app.screen.query_one("#form-map", Input)
        field.focus()
        await driver.type("day=demo.f")
        await driver.until(lambda: field._suggestion == "day=demo.folder")
        await driver.press("right")
        assert field.value == "day=demo.folder"
        field = driver.app.screen.query_one("#form-map-property", Input)
        await driver.press("tab")
        assert field.has_focus
        await driver.type("in=Customers.p")
        await driver.until(lambda: field._suggestion == "in=Customers.path")
        await driver.press("right")
        await driver.type(", demo")
        await driver.until(lambda: field._suggestion.endswith(", demo.folder="))
        await driver.press("right")
        await driver.type("Sink.x")
        await driver.press("ctrl+s")
        assert json.loads(cdap.schedules.get(*NIGHTLY).properties[MAPPING]) == {
            "arguments": [{"source": "demo.folder", "target": "day"}],
            "pluginProperties": [
                {"stageName": "Customers", "source": "path", "target": "in"},
                {"stageName": "Sink", "source": "x", "target": "demo.folder"},
            ],
        }

        await driver.press("e")
        shown = {each.id: each.value for each in driver.app.screen.query(Input)}
        assert shown["form-map"] == "day=demo.folder"
        assert shown["form-map-property"] == "in=Customers.path, demo.folder=Sink.x"
        await fill(driver, map="", **{"map-property": ""})
        await driver.press("ctrl+s")
        assert MAPPING not in cdap.schedules.get(*NIGHTLY).properties


async def test_mappings_that_no_field_shows_are_counted_and_stay(open_studio, cdap):
    one = {"namespace": "default", "pipelineName": "orders"}
    before = {
        "arguments": [
            {"source": "a,b", "target": "c"},
            {"source": "day"},
            {"source": "x", "target": "y", "pipelineId": one},
        ],
        "pluginProperties": [{"stageName": "S", "source": "p.q", "target": "t"}],
    }
    trigger = ProgramStatusTrigger(TriggerProgram("default", "orders"), ["COMPLETED"])
    given = {MAPPING: json.dumps(before)}
    cdap.schedules.add(*NIGHTLY, ScheduleRequest(trigger, properties=given))
    async with open_studio() as driver:
        await show(driver)
        await driver.press("e")
        assert driver.app.screen.query_one("#form-map", Input).value == "day=day"
        assert text_of(driver, "#form-hidden").startswith("3 mappings")
        await fill(driver, map="date=day")
        await driver.press("ctrl+s")
        found = json.loads(cdap.schedules.get(*NIGHTLY).properties[MAPPING])
        assert found["arguments"][0] == {"source": "day", "target": "date"}
        assert found["arguments"][1:] == [before["arguments"][0], before["arguments"][2]]
        assert found["pluginProperties"] == before["pluginProperties"]


async def test_conditions_are_shown_and_changed_and_others_stay(open_studio, cdap):
    night = TimeRangeConstraint("22:00", "06:00", "Asia/Tokyo")
    noon = TimeRangeConstraint("12:00", "13:00", "UTC")
    before = [night, LastRunConstraint(7_200_000, wait_until_met=True), noon]
    trigger = TimeTrigger("0 3 * * *", "Europe/Berlin")
    cdap.schedules.add(*NIGHTLY, ScheduleRequest(trigger, constraints=before))
    async with open_studio(size=SMALL) as driver:
        await show(driver)
        await driver.press("e")
        form = driver.app.screen
        shown = {each.id: each.value for each in form.query(Input) if each.value}
        assert shown["form-between"] == "22:00-06:00 Asia/Tokyo"
        assert (shown["form-pause"], shown["form-timeout"]) == ("2h", "1d")
        drawn = [
            str(form.query_one(f"#form-{each}-waits").render()) for each in ("pause", "between")
        ]
        assert drawn == ["▐X▌ wait, else drop ", "▐ ▌ wait, else drop "]
        await driver.press("ctrl+s")
        assert sorted(map(repr, cdap.schedules.get(*NIGHTLY).constraints)) == sorted(
            map(repr, before)
        )

        await driver.press("e")
        await fill(driver, most="2", delay="90s", pause="", between="21:00-06:00", timeout="3h")
        await driver.press("ctrl+s")
        found = cdap.schedules.get(*NIGHTLY)
        assert found.timeout_millis == 10_800_000
        assert found.constraints == [
            ConcurrencyConstraint(2),
            DelayConstraint(90_000),
            TimeRangeConstraint("21:00", "06:00", "Europe/Berlin"),
            noon,
        ]


async def test_a_trigger_of_several_levels_is_shown_and_not_changed(open_studio, cdap):
    nested = OrTrigger([TimeTrigger("0 3 * * *"), AndTrigger([TimeTrigger("0 4 * * *")])])
    cdap.schedules.add(*NIGHTLY, ScheduleRequest(nested))
    async with open_studio() as driver:
        await show(driver)
        await driver.press("e")
        assert isinstance(driver.app.screen, SchedulesDialog)
        assert keys(driver) == ["nightly"]
        assert "Nothing was triggered yet." in text_of(driver, "#schedules-detail")


async def test_the_library_opens_the_schedules_of_a_pipeline(open_studio, cdap):
    async with open_studio() as driver:
        driver.app.navigate(SchedulesTarget("sales"))
        await driver.until(lambda: isinstance(driver.app.screen, SchedulesDialog))
        await driver.settled()
        await driver.press("escape")
        await driver.press("t")
        assert isinstance(driver.app.screen, SchedulesDialog)
        assert driver.app.screen.pipeline == "sales"
        cdap.schedules.add(*NIGHTLY, ScheduleRequest(TimeTrigger("0 3 * * *")))
        await driver.press("escape")
        shown = "schedule  nightly  0 3 * * *  suspended"
        await driver.until(lambda: shown in text_of(driver, "#library-summary"))
