"""The list of what can be done here and now, and the palette."""

from __future__ import annotations

from textual.widgets import Input, OptionList

from localcdap.tui.commands import explain_unavailable, list_actions
from localcdap.tui.dialogs.chooser import Chooser
from localcdap.tui.screens.tables.screen import TablesScreen


async def test_the_list_runs_what_is_chosen(open_studio):
    async with open_studio() as driver:
        await driver.press("question_mark")
        assert isinstance(driver.app.screen, Chooser)
        await driver.type("go.library")
        await driver.press("enter")

        assert driver.app.current_mode == "library"


async def test_the_list_is_searched_by_key_too(open_studio):
    async with open_studio() as driver:
        await driver.press("question_mark")
        await driver.type("f10")

        listed = driver.app.screen.query_one("#chooser-list OptionList", OptionList)
        assert "full screen" in str(listed.get_option_at_index(0).prompt)


async def test_what_cannot_be_done_says_why_and_is_not_done(open_studio):
    async with open_studio() as driver:
        await driver.press("comma")
        actions = {action.id: action for action in list_actions(driver.app.screen)}
        assert (
            actions["settings.apply"].reason
            == "no setting was changed since the instance was opened"
        )

        await driver.press("question_mark")
        await driver.type("settings.apply")
        await driver.press("enter")
        assert isinstance(driver.app.screen, Chooser)
        await driver.press("escape")
        assert not isinstance(driver.app.screen, Chooser)


async def test_what_is_not_of_this_screen_is_not_listed(open_studio):
    async with open_studio() as driver:
        assert "settings.change" not in {action.id for action in list_actions(driver.app.screen)}
        assert "home.new" in {action.id for action in list_actions(driver.app.screen)}


async def test_the_palette_names_commands_by_area_and_verb(open_studio):
    async with open_studio() as driver:
        await driver.press("ctrl+p")
        await driver.type("go: runs")
        await driver.press("enter")

        assert driver.app.current_mode == "runs"


async def test_nothing_found_chooses_nothing(open_studio):
    async with open_studio() as driver:
        await driver.press("colon")
        await driver.type("qqqqzzzz")
        await driver.press("enter", "down", "up", "pagedown")
        assert isinstance(driver.app.screen, Chooser)
        await driver.press("escape")

        assert driver.app.current_mode == "home"


async def test_a_theme_is_seen_while_choosing_and_taken_back_with_escape(open_studio):
    async with open_studio() as driver:
        before = driver.app.theme
        await driver.press("ctrl+t")
        await driver.type("light")
        seen = driver.app.theme
        await driver.press("escape")

        assert "light" in seen
        assert driver.app.theme == before


async def test_a_theme_that_was_chosen_is_remembered(open_studio):
    async with open_studio() as driver:
        await driver.press("ctrl+t")
        await driver.type("localcdap-light")
        await driver.press("enter")
        assert driver.app.theme == "localcdap-light"
    async with open_studio() as driver:
        assert driver.app.theme == "localcdap-light"
        driver.app.user_state.theme = None
        driver.app.save_user_state()


async def test_keys_of_vim_move_in_lists_and_are_letters_in_text(open_studio):
    async with open_studio() as driver:
        begin = driver.app.screen.query_one("#begin", OptionList)
        begin.focus()
        begin.highlighted = 0
        await driver.press("j", "j", "k")
        assert begin.highlighted == 1
        await driver.press("G")
        assert begin.highlighted == 3

        await driver.press("colon", "j", "k")
        assert driver.app.screen.query_one(".filter", Input).value == "jk"

        opening = TablesScreen()  # it has no list of tables yet
        assert explain_unavailable(opening, opening, "screen.change")
