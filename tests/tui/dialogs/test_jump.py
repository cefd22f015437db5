"""Jump mode."""

from __future__ import annotations

from itertools import pairwise

import pytest
from textual.widgets import Static

from localcdap.tui.dialogs.jump import JumpScreen, build_labels


@pytest.mark.parametrize("count", [0, 1, 26, 27, 400, 700])
def test_labels_are_different_and_none_begins_another(count):
    found = build_labels(count)

    assert len(set(found)) == count
    ordered = sorted(found)
    assert not any(second.startswith(first) for first, second in pairwise(ordered))


async def test_a_letter_goes_to_a_part(open_studio):
    async with open_studio() as driver:
        await driver.press("ctrl+o")
        jump = driver.app.screen
        assert isinstance(jump, JumpScreen)
        letter = next(letter for letter, target in jump._targets.items() if target.id == "runs")
        await driver.press(letter)

        assert driver.app.focused.id == "runs"


async def test_a_letter_goes_to_an_area(open_studio):
    async with open_studio() as driver:
        await driver.press("ctrl+o")
        shown = [
            str(each.render()) for each in driver.app.screen.query(".jump-label").results(Static)
        ]
        assert shown[0] == "a"
        await driver.press("s")

        assert driver.app.current_mode == "studio"


async def test_escape_and_other_keys_stay(open_studio):
    async with open_studio() as driver:
        focused = driver.app.focused
        for keys in (["escape"], ["9"]):
            await driver.press("ctrl+o", *keys)

            assert not isinstance(driver.app.screen, JumpScreen)
            assert driver.app.focused is focused
