"""A newcomer at the studio: presses keys, counts them, and reads what is on the screen."""

from __future__ import annotations

from textual.widgets import Input, TextArea

from tests.tui.studio_driver import Driver


class Newcomer:
    """Uses a studio by keys only.

    ``keys`` counts them; a text that is typed, such as a path or a value, counts as one.
    """

    def __init__(self, driver: Driver) -> None:
        self.driver = driver
        self.keys = 0

    async def press(self, *keys: str) -> None:
        """Press keys, one after the other."""
        self.keys += len(keys)
        await self.driver.press(*keys)

    async def type(self, text: str) -> None:
        """Type a text where the focus is."""
        self.keys += 1
        await self.driver.type(text)

    def read(self) -> str:
        """All that is on the screen, in lines."""
        strips = self.driver.app.screen._compositor.render_strips()
        return "\n".join("".join(segment.text for segment in strip).rstrip() for strip in strips)

    async def sees(self, *texts: str, timeout_s: float = 60) -> None:
        """Wait until all texts are on the screen, where lines may break them."""

        def list_missing() -> list[str]:
            shown = " ".join(self.read().split())
            return [text for text in texts if text not in shown]

        try:
            await self.driver.until(lambda: not list_missing(), timeout_s)
        except AssertionError:
            missing = list_missing()
            raise AssertionError(f"{missing} not on the screen:\n{self.read()}") from None

    async def is_in_field(self) -> None:
        """Wait until a field has the focus."""
        try:
            await self.driver.until(lambda: isinstance(self.driver.app.focused, Input | TextArea))
        except AssertionError:
            raise AssertionError(
                f"{self.driver.app.focused} has the focus:\n{self.read()}"
            ) from None
        await self.driver.settled()
