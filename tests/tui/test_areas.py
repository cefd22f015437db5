"""The way from one area to another."""

from __future__ import annotations

import pytest

from localcdap.tui.routes import AREAS


@pytest.mark.slow
@pytest.mark.parametrize("area", AREAS, ids=lambda area: area.name)
async def test_a_key_opens_each_area(open_studio, area):
    async with open_studio() as driver:
        await driver.press(area.key)

        assert driver.app.current_mode == area.name
        assert area.name == driver.app.screen.AREA
