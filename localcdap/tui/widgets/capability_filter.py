"""A line of capabilities that filter the list of plugins."""

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
    """A capability that can be switched on and off."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("space,enter", "require", "require", id="plugins.capability"),
        Binding("right,l", "app.focus_next", "next", show=False),
        Binding("left,h", "app.focus_previous", "previous", show=False),
    ]

    class Toggled(Message):
        """The capability was switched on or off."""

    def __init__(self, counted: CapabilityCount, *, is_on: bool) -> None:
        super().__init__()
        self.capability = counted.capability
        self._count = counted.plugins
        self.is_on = is_on

    def on_mount(self) -> None:
        self._redraw()

    def on_click(self, event: events.Click) -> None:
        event.stop()
        self.action_require()

    def action_require(self) -> None:
        self.is_on = not self.is_on
        self._redraw()
        self.post_message(self.Toggled())

    def set_count(self, plugins: int) -> None:
        """Show another number of plugins."""
        self._count = plugins
        self._redraw()

    def _redraw(self) -> None:
        self.set_class(self.is_on, "-on")
        mark = "✓" if self.is_on else "·"
        count = Content.styled(f" {self._count}", "$foreground 60%")
        self.update(Content.assemble(f"{mark} {self.capability}", count))


class CapabilityFilter(HorizontalScroll):
    """The capabilities of all plugins; the list shows plugins that have every one that is on."""

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
        """Another set of capabilities is required.

        :param capabilities: all that are required.
        """

        def __init__(self, capabilities: list[str]) -> None:
            super().__init__()
            self.capabilities = capabilities

    @property
    def chosen(self) -> list[str]:
        return [toggle.capability for toggle in self.query(CapabilityToggle) if toggle.is_on]

    def show(self, capabilities: Sequence[CapabilityCount]) -> None:
        """Show these capabilities. Those that are on stay on, and the focus stays."""
        toggles = list(self.query(CapabilityToggle))
        if [toggle.capability for toggle in toggles] == [each.capability for each in capabilities]:
            for toggle, counted in zip(toggles, capabilities, strict=True):
                toggle.set_count(counted.plugins)
            return
        chosen = self.chosen
        self.remove_children()
        self.mount_all(
            CapabilityToggle(each, is_on=each.capability in chosen) for each in capabilities
        )

    def on_capability_toggle_toggled(self, event: CapabilityToggle.Toggled) -> None:
        event.stop()
        self.post_message(self.Changed(self.chosen))
