"""Capabilities to narrow the list by: a line of chips."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from textual import events
from textual.binding import Binding, BindingType
from textual.containers import HorizontalScroll
from textual.content import Content
from textual.message import Message
from textual.widgets import Static

from localcdap.artifacts.model import CapabilityCount


class CapabilityToggle(Static, can_focus=True):
    """One capability, chosen or not."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("space,enter", "choose", "ask for it", id="plugins.capability"),
        Binding("right,l", "app.focus_next", "next", show=False),
        Binding("left,h", "app.focus_previous", "previous", show=False),
    ]

    class Toggled(Message):
        """It was chosen, or is not any more."""

    def __init__(self, counted: CapabilityCount, *, is_on: bool) -> None:
        super().__init__()
        self.capability = counted.capability
        self._count = counted.plugins
        self.is_on = is_on

    def on_mount(self) -> None:
        self._show()

    def on_click(self, event: events.Click) -> None:
        event.stop()
        self.action_choose()

    def action_choose(self) -> None:
        self.is_on = not self.is_on
        self._show()
        self.post_message(self.Toggled())

    def count(self, plugins: int) -> None:
        """Tell another number of plugins."""
        self._count = plugins
        self._show()

    def _show(self) -> None:
        self.set_class(self.is_on, "-on")
        mark = "✓" if self.is_on else "·"
        count = Content.styled(f" {self._count}", "$foreground 60%")
        self.update(Content.assemble(f"{mark} {self.capability}", count))


class CapabilityFilter(HorizontalScroll):
    """All capabilities that are known."""

    DEFAULT_CSS = """
    CapabilityFilter {
        height: 1; background: $surface;
        & > CapabilityToggle { width: auto; padding: 0 1; color: $foreground 80%; }
        & > CapabilityToggle:hover { background: $boost; }
        & > CapabilityToggle.-on { color: $text-accent; text-style: bold; }
        & > CapabilityToggle:focus { background: $primary 40%; color: $text; }
    }
    """
    can_focus = False

    class Changed(Message):
        """Others are asked for.

        :param capabilities: all that are.
        """

        def __init__(self, capabilities: list[str]) -> None:
            super().__init__()
            self.capabilities = capabilities

    @property
    def chosen(self) -> list[str]:
        return [chip.capability for chip in self.query(CapabilityToggle) if chip.is_on]

    def put(self, capabilities: Sequence[CapabilityCount]) -> None:
        """Show these; what was chosen stays so, and so does the focus."""
        chips = list(self.query(CapabilityToggle))
        if [chip.capability for chip in chips] == [each.capability for each in capabilities]:
            for chip, counted in zip(chips, capabilities, strict=True):
                chip.count(counted.plugins)
            return
        chosen = self.chosen
        self.remove_children()
        self.mount_all(
            CapabilityToggle(each, is_on=each.capability in chosen) for each in capabilities
        )

    def on_capability_toggle_toggled(self, event: CapabilityToggle.Toggled) -> None:
        event.stop()
        self.post_message(self.Changed(self.chosen))
