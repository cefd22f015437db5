"""Lines of text and of state that are drawn only when they change.

A click on a part of a state line can change it; the line of capabilities filters the list of plugins.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, ClassVar, cast

from textual import events
from textual.binding import Binding, BindingType
from textual.containers import HorizontalScroll
from textual.content import Content
from textual.message import Message
from textual.widgets import Static

from localcdap.artifacts.model import CapabilityCount
from localcdap.tui.studio import run_explained

if TYPE_CHECKING:
    from textual.css.styles import RulesMap


class CachedStatic(Static):
    """A text that is drawn only when it differs: a layout takes longer than a keystroke should."""

    def __init__(self, *, classes: str | None = None, content: Content | None = None) -> None:
        super().__init__(content or Content(), classes=classes)
        self._content = content or Content()

    @property
    def cached_content(self) -> Content:
        return self._content

    def update_if_changed(self, content: Content) -> None:
        before, self._content = self._content, content
        if (before.plain, before.spans) != (content.plain, content.spans):
            self.update(content, layout=self._needs_layout(before, content))

    def update_lines(self, lines: Sequence[Content]) -> None:
        """Show lines; hide the widget when there are none."""
        self.update_if_changed(Content("\n").join(lines))
        self.display = bool(lines)

    def _needs_layout(self, before: Content, after: Content) -> bool:
        """Return whether another text needs another height in the same width."""
        width, styles = self.size.width, self.styles
        if not styles.auto_dimensions:
            return False
        if not width or styles.is_auto_width:
            return True
        rules = cast("RulesMap", styles)  # as Textual does: both are asked for single rules only
        return before.get_height(rules, width) != after.get_height(rules, width)


StatusPart = tuple[str, str, str]
"""Text, style, and the action of a click; style and action may be empty."""


class StateLine(Static):
    """Shows several parts; a click runs the action of a part, which the widget around the line has."""

    def show_parts(self, parts: Iterable[StatusPart]) -> None:
        """Show these parts."""
        contents: list[Content] = []
        for text, style, action in parts:
            part = Content(text).stylize(style) if style else Content(text)
            contents.append(part.stylize(f"@click=request('{action}')") if action else part)
        self.update(Content("  ").join(contents))

    async def action_request(self, action: str) -> None:
        await run_explained(self, action)


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
