"""A checkbox whose state can be read without colours."""

from __future__ import annotations

from textual.widgets import Checkbox


class StudioCheckbox(Checkbox):
    """A compact checkbox that is empty while it is off; those of Textual differ by their colour only."""

    def __init__(self, label: str, value: bool, *, id: str) -> None:
        super().__init__(label, value, id=id, compact=True)
        self._show_state()

    def watch_value(self) -> None:
        """Show the changed state."""
        self._show_state()
        super().watch_value()

    def _show_state(self) -> None:
        self.BUTTON_INNER = "X" if self.value else " "
