"""Questions to the user."""

from __future__ import annotations

import pytest
from textual.widgets import Input, OptionList

from localcdap.tui.dialogs.chooser import Chooser
from localcdap.tui.studio import Choice


async def asked(driver, question, *keys):
    """The answer of a question after keys were pressed."""
    answers = []

    async def ask():
        answers.append(await question())

    driver.app.run_worker(ask())
    await driver.settled()
    await driver.press(*keys)
    await driver.until(lambda: answers)
    return answers[0]


@pytest.mark.parametrize(
    ("keys", "answer"),
    [
        (["enter"], False),
        (["escape"], False),
        (["n"], False),
        (["y"], True),
        (["right", "enter"], True),
        (["tab", "enter"], True),
    ],
)
async def test_what_cannot_be_undone_is_asked_and_the_safe_answer_is_first(
    open_studio, keys, answer
):
    async with open_studio() as driver:
        assert await asked(driver, lambda: driver.app.confirm("Delete it?"), *keys) is answer


async def test_the_name_must_be_typed(open_studio):
    async with open_studio() as driver:
        keys = [*"sale", "enter", "s", "enter"]

        assert await asked(driver, lambda: driver.app.confirm_by_name("sales", "Delete?"), *keys)


async def test_a_wrong_name_deletes_nothing(open_studio):
    async with open_studio() as driver:
        keys = [*"orders", "enter", "escape"]

        assert not await asked(
            driver, lambda: driver.app.confirm_by_name("sales", "Delete?"), *keys
        )


async def test_an_answer_is_checked_and_the_problem_shown(open_studio):
    def check(text):
        return None if text.isdigit() else "Expected a number."

    async with open_studio() as driver:
        answers = []

        async def ask():
            answers.append(await driver.app.ask("How many?", "x", check=check))

        driver.app.run_worker(ask())
        await driver.settled()
        await driver.press("enter")
        assert str(driver.app.screen.query_one("#dialog-problem").render()) == "Expected a number."
        driver.app.screen.query_one(Input).value = "12"
        await driver.press("enter")

        assert answers == ["12"]


async def test_texts_with_brackets_are_shown_as_they_are(open_studio):
    async with open_studio() as driver:
        keys = ["escape"]
        question = "Delete [red]this[/nothing]?"

        assert not await asked(driver, lambda: driver.app.confirm(question, "[/]"), *keys)
        driver.app.show_notice("[bad", "[/worse]")
        await driver.settled()
        await driver.press("f12")
        assert driver.app.notices.newest_first[0].title == "[bad"


async def test_keys_that_come_at_once_are_handled_in_their_order(open_studio):
    choices = [Choice(label, label) for label in ("open", "save as draft", "save to a file")]
    answers = []
    async with open_studio() as driver:
        driver.app.push_screen(Chooser(choices), answers.append)
        await driver.settled()
        await driver.burst(*"save", "down", "enter")
        assert answers == ["save to a file"]


async def test_who_has_moved_in_a_list_stays_there_when_the_terminal_is_resized(open_studio):
    choices = [Choice(label, label) for label in ("save", "discard", "go back")]
    async with open_studio() as driver:
        chooser = Chooser(choices)
        driver.app.push_screen(chooser)
        await driver.press("down", "down")
        await driver.pilot.resize_terminal(100, 30)
        await driver.settled()

        assert chooser.query_one(OptionList).highlighted == 2
