"""Choosing a file."""

from __future__ import annotations

import os

import pytest

from localcdap.tui.dialogs import path_dialog as paths


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "sales" / "daily").mkdir(parents=True)
    (tmp_path / "sales" / "orders.json").write_text("{}")
    (tmp_path / "sales" / "readme.md").write_text("")
    (tmp_path / "sales" / ".hidden.json").write_text("{}")
    return tmp_path


def names(typed, suffixes=(".json",)):
    return [entry.name for entry in paths.list_completions(typed, suffixes)]


def test_folders_come_first_and_other_files_are_left_out(folder):
    assert names(f"{folder}/sales/") == ["daily/", "orders.json"]


def test_some_letters_are_enough(folder):
    assert names(f"{folder}/sales/ods") == ["orders.json"]


def test_hidden_files_are_offered_to_who_types_a_dot(folder):
    assert names(f"{folder}/sales/.")[0] == ".hidden.json"


def test_a_folder_that_is_not_there_offers_nothing(folder):
    assert names(f"{folder}/nothing/x") == []
    assert names("~nobody-of-that-name/x") == []


def test_a_folder_that_may_not_be_read_offers_nothing(folder):
    if os.geteuid() == 0:
        pytest.skip("root reads everything")
    (folder / "sales").chmod(0)
    assert names(f"{folder}/sales/") == []


@pytest.mark.parametrize(
    ("typed", "parent"), [("a/b", "a/"), ("a/b/", "a/"), ("a", ""), ("/", ""), ("/a", "/")]
)
def test_the_folder_above(typed, parent):
    assert paths.strip_last_part(typed) == parent


async def pick(driver, **how):
    answers = []

    async def ask():
        answers.append(await driver.app.pick_file("Which?", **how))

    driver.app.run_worker(ask())
    await driver.settled()
    return answers


@pytest.mark.parametrize("deeper", ["", "a folder with a long name/" * 8])
async def test_a_file_is_found_by_letters_and_tab(open_studio, folder, deeper):
    if deeper:
        (folder / deeper).mkdir(parents=True)
        (folder / "sales").rename(folder / deeper / "sales")
    folder = folder / deeper
    async with open_studio() as driver:
        answers = await pick(driver, typed=f"{folder}/sal")
        await driver.until(lambda: driver.app.screen._entries)
        await driver.press("tab")
        await driver.until(lambda: len(driver.app.screen._entries) == 2)
        await driver.press("down", "enter")
        await driver.until(lambda: answers)

        assert answers == [folder / "sales" / "orders.json"]


async def test_a_new_file_may_be_named_only_for_saving(open_studio, folder):
    async with open_studio() as driver:
        answers = await pick(driver, typed=f"{folder}/new.json")
        await driver.press("enter")
        assert answers == []
        await driver.press("escape")
        answers = await pick(driver, typed=f"{folder}/new.json", for_saving=True)
        await driver.press("enter")
        await driver.until(lambda: answers)

        assert answers == [folder / "new.json"]


async def test_a_path_that_is_too_long_is_no_file(open_studio, folder):
    typed = f"{folder}/{'x' * 300}"
    async with open_studio() as driver:
        answers = await pick(driver, typed=typed)
        await driver.press("enter")
        await driver.settled()

        assert answers == []
        shown = str(driver.app.screen.query_one("#files-help").render())
        assert "There is no file at" in shown


@pytest.mark.parametrize("keys", [["o", "enter"], ["o", "tab", "enter"], ["down", "enter"]])
async def test_keys_that_come_at_once_take_what_was_typed(open_studio, folder, keys):
    async with open_studio() as driver:
        answers = await pick(driver)
        await driver.burst(*f"{folder}/sales/", *keys)
        assert answers == [folder / "sales" / "orders.json"]
