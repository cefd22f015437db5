"""The list of options that every part of the studio uses."""

from __future__ import annotations

from typing import Literal

from textual.events import Click
from textual.widgets import OptionList


class Options(OptionList):
    """A list of options that bears what Textual's does not expect.

    Its options may be others between a click and the moment at which it is heard, and it may have no room.
    """

    def _move_page(self, direction: Literal[-1, 1]) -> None:
        if self._lines:
            super()._move_page(direction)

    def on_click(self, event: Click) -> None:
        clicked = event.style.meta.get("option")
        if clicked is not None and clicked >= self.option_count:
            event.prevent_default()
