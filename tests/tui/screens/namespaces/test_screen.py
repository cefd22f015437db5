"""Namespaces, preferences and secure keys."""

from __future__ import annotations

import threading

import pytest
from textual.widgets import TabbedContent

from localcdap.namespaces.preferences import PreferenceLevel
from localcdap.tui.lists import FilteredList
from localcdap.tui.screens.namespaces.preferences import PreferencesPanel, read_preferences
from tests.tui.studio_driver import SMALL


@pytest.fixture
def team(cdap):
    cdap.namespaces.create("team", "What we share.")
    yield "team"
    if cdap.namespaces.exists("team"):
        cdap.namespaces.delete("team")


def get_list(driver, which: str = "#namespaces") -> FilteredList:
    return driver.app.screen.query_one(which, FilteredList)


def read_screen(driver) -> str:
    """All that can be read on the screen."""
    strips = driver.app.screen._compositor.render_strips()
    return "\n".join("".join(segment.text for segment in strip) for strip in strips)


async def test_a_namespace_is_created_and_switched_to(open_studio, cdap):
    async with open_studio(size=SMALL) as driver:
        for key in ("7", "a"):
            await driver.press(key)
        driver.app.focused.value = "not a name"
        await driver.press("enter")
        assert "alphanumeric" in str(driver.app.screen.query_one("#dialog-problem").content)
        driver.app.focused.value = "fresh"
        for key in ("enter", "enter"):
            await driver.press(key)
        assert get_list(driver).key == "fresh"
        assert driver.app.namespace == "default"
        await driver.press("enter")
        assert driver.app.namespace == "fresh"
        assert "fresh  current namespace" in read_screen(driver)
    cdap.namespaces.delete("fresh")


async def test_deleting_asks_for_the_name(open_studio, cdap, team: str):
    cdap.preferences.replace(PreferenceLevel(team), {"a": "1"})
    async with open_studio(namespace=team) as driver:
        for key in ("7", "d"):
            await driver.press(key)
        assert "1 preference" in str(driver.app.screen.query_one("#dialog-detail").content)
        driver.app.focused.value = "teem"
        await driver.press("enter")
        assert cdap.namespaces.exists(team)
        driver.app.focused.value = team
        await driver.press("enter")
        await driver.until(lambda: not cdap.namespaces.exists(team))
        await driver.settled()
        assert driver.app.namespace == "default"
        assert get_list(driver).keys == ["default"]
        assert driver.app.screen.explain_disabled("delete") == "default cannot be deleted"


async def test_contents_are_counted_and_named(open_studio, cdap, team: str):
    for name in ("mail", "shop"):
        cdap.secure_keys.put(team, name, "secret")
    async with open_studio() as driver:
        for key in ("7", "j"):
            await driver.press(key)
        reported = read_screen(driver)
        line = next(each for each in reported.splitlines() if "secure key" in each)
        assert "2  secure keys         mail, shop" in line
        assert "0  drafts" in reported
        assert "What we share." in reported


async def test_a_line_of_the_contents_opens_its_area_for_the_namespace(
    open_studio, cdap, team: str
):
    shown = {
        "library": {"deployed pipeline", "draft", "template", "schedule"},
        "runs": {"run"},
        "data": {"table", "dataset"},
        "plugins": {"artifact"},
    }
    tabs = {"preference": "preferences", "secure key": "keys", "connection": "connections"}
    areas = {kind: area for area, kinds in shown.items() for kind in kinds}
    async with open_studio() as driver:
        await driver.press("7", "j", "c")
        assert "enter open" in " ".join(read_screen(driver).splitlines()[-1].split())
        kinds = get_list(driver, "#contents").keys
        assert {*kinds} == {*areas, *tabs, "topic"}
        for kind in kinds:
            await driver.press("escape", "7", "c")
            listing = get_list(driver, "#contents")
            while listing.key != kind:
                await driver.press("j" if kinds.index(listing.key) < kinds.index(kind) else "k")
            await driver.press("enter")
            if kind in areas:
                await driver.until(lambda area=areas[kind]: driver.app.current_mode == area)
                await driver.settled()
                assert driver.app.namespace == team
            elif kind in tabs:
                active = driver.app.screen.query_one(TabbedContent).active
                assert active == f"{tabs[kind]}-tab"
            else:
                said = driver.app.notices.newest_first[0].title
                assert said.startswith("Open: topics have no area in the studio")
            await driver.settled()


async def test_the_studio_leaves_a_namespace_that_another_process_deletes(
    open_studio, cdap, team: str
):
    async with open_studio(namespace=team) as driver:
        await driver.press("7")
        cdap.namespaces.delete(team)
        await driver.until(lambda: driver.app.namespace == "default")


def test_the_nearest_level_takes_precedence(cdap, team: str):
    cdap.preferences.replace(PreferenceLevel(), {"a": "1", "b": "1"})
    cdap.preferences.replace(PreferenceLevel(team), {"b": "2", "c": "2"})
    cdap.preferences.replace(PreferenceLevel(team, "p"), {"b": "3"})
    found = {each.key: each for each in read_preferences(cdap, PreferenceLevel(team, "p"))}
    cdap.preferences.delete(PreferenceLevel())

    assert {key: each.value for key, each in found.items()} == {"a": "1", "b": "3", "c": "2"}
    assert found["a"].origin == PreferenceLevel()
    assert found["b"].origin == PreferenceLevel(team, "p")
    assert found["b"].covers == ((PreferenceLevel(team), "2"), (PreferenceLevel(), "1"))


async def test_preferences_are_set_changed_and_removed(open_studio, cdap, team: str):
    cdap.preferences.replace(PreferenceLevel(), {"input": "/all"})
    async with open_studio(namespace=team) as driver:
        for key in ("7", "p"):
            await driver.press(key)
        panel = driver.app.screen.query_one(PreferencesPanel)
        assert panel.explain_disabled("remove") == "it is set at a higher level, instance"
        await driver.press("enter")
        driver.app.focused.value = "/ours"
        await driver.press("enter")
        assert cdap.preferences.resolve(PreferenceLevel(team)) == {"input": "/ours"}
        assert cdap.preferences.get(PreferenceLevel()) == {"input": "/all"}
        assert "overrides /all of instance" in read_screen(driver)

        await driver.press("d")
        assert cdap.preferences.get(PreferenceLevel(team)) == {}
        await driver.press("ctrl+z")
        assert cdap.preferences.get(PreferenceLevel(team)) == {"input": "/ours"}

        await driver.press("a")
        driver.app.focused.value = "day"
        await driver.press("enter")
        driver.app.focused.value = "monday"
        await driver.press("enter")
        assert cdap.preferences.get(PreferenceLevel(team)) == {"input": "/ours", "day": "monday"}
        assert get_list(driver, "#preferences").key == "day"

        for key in ("l", "home", "enter"):
            await driver.press(key)
    cdap.preferences.delete(PreferenceLevel())


async def test_secure_keys_are_saved_and_never_shown(open_studio, cdap, team: str):
    async with open_studio(namespace=team) as driver:
        for key in ("7", "s", "a"):
            await driver.press(key)
        driver.app.focused.value = "db-password"
        await driver.press("enter")
        driver.app.focused.value = "of the shop"
        await driver.press("enter")
        await driver.type("s3cret")
        assert "s3cret" not in read_screen(driver)
        await driver.press("enter")
        assert cdap.secure_keys.get(team, "db-password") == "s3cret"
        assert get_list(driver, "#secure-keys").key == "db-password"
        assert "s3cret" not in read_screen(driver)
        assert "of the shop" in read_screen(driver)

        await driver.press("enter")
        await driver.type("other")
        await driver.press("enter")
        assert cdap.secure_keys.get(team, "db-password") == "other"

        for key in ("d", "n"):
            await driver.press(key)
        assert get_list(driver, "#secure-keys").keys == ["db-password"]
        for key in ("d", "y"):
            await driver.press(key)
        assert cdap.secure_keys.list_keys(team) == []


@pytest.mark.parametrize(
    ("line", "keys", "service", "method"),
    [
        ("1  preference ", ["p", "a", *"day", "enter", *"one", "enter"], "preferences", "update"),
        (
            "1  secure key ",
            ["s", "a", *"mail", "enter", "enter", *"x", "enter"],
            "secure_keys",
            "put",
        ),
        (
            "1  connection ",
            ["o", "a", *"shop", "enter", *"MySQL", "enter", "enter", "ctrl+s"],
            "connections",
            "put",
        ),
    ],
)
async def test_a_change_that_takes_longer_than_its_dialog_shows_in_the_contents(
    open_studio, cdap, team: str, monkeypatch, line, keys, service, method
):
    change, may_change = getattr(getattr(cdap, service), method), threading.Event()

    def change_late(*arguments: object) -> object:
        assert may_change.wait(60)
        return change(*arguments)

    monkeypatch.setattr(getattr(cdap, service), method, change_late)
    async with open_studio(namespace=team) as driver:
        await driver.press("7", *keys[:-1])
        await driver.pilot.press(keys[-1])
        # The screen that the dialog leaves is read again; only the change is pending then.
        await driver.until(lambda: driver.app.calls.pending_count == 1)
        assert line not in read_screen(driver)
        may_change.set()
        await driver.press("c")
        assert line in read_screen(driver)


async def test_a_change_without_a_dialog_shows_in_the_contents(open_studio, cdap, team: str):
    cdap.preferences.replace(PreferenceLevel(team), {"day": "one"})
    async with open_studio(namespace=team) as driver:
        await driver.press("7")
        assert "1  preference " in read_screen(driver)
        await driver.press("p", "d", "c")
        assert "0  preferences " in read_screen(driver)
