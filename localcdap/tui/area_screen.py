"""The base of the full screens: the header line, the body of the area, the footer with its key hints."""

from __future__ import annotations

from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.screen import Screen
from textual.widgets import Input

from localcdap.api.metadata import MetadataEntity
from localcdap.tui.routes import NavigationTarget
from localcdap.tui.studio import StudioNode
from localcdap.tui.widgets.footer import StudioFooter
from localcdap.tui.widgets.header import StudioHeader


class AreaScreen(StudioNode, Screen[None]):
    """The screen of an area. A subclass implements :meth:`compose_body` and the hooks that it needs."""

    AREA: ClassVar[str]
    """The name of the area in :data:`localcdap.tui.areas.AREAS`."""
    AUTO_FOCUS = "*"
    HORIZONTAL_BREAKPOINTS = [(0, "-narrow"), (110, "-wide")]
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("slash", "filter", "filter", id="list.filter", show=False),
        Binding("f5", "reload", "reload", id="list.reload", show=False),
        Binding("T", "metadata", "tags and properties", id="metadata.open", show=False),
    ]

    def compose(self) -> ComposeResult:
        yield StudioHeader(self.AREA)
        yield from self.compose_body()
        yield StudioFooter()

    @property
    def entity(self) -> MetadataEntity | None:
        """The entity that is highlighted, whose metadata can be changed; None when there is none."""
        return None

    def compose_body(self) -> ComposeResult:
        """Yield the widgets between header and footer."""
        yield from ()

    def show_target(self, target: NavigationTarget) -> None:
        """Show a target of navigation. Called when mounted."""

    def show_namespace(self, namespace: str) -> None:
        """Show another namespace; also called once when the screen is first shown."""

    async def confirm_leave(self) -> bool:
        """Return whether the studio may exit; ask when changes would be lost. Awaited in a worker."""
        return True

    def reload(self) -> None:
        """Load everything again."""
        self.show_namespace(self.studio.namespace)

    def on_mount(self) -> None:
        self.watch(self.app, "namespace", self.show_namespace)

    def action_reload(self) -> None:
        self.reload()

    def action_filter(self) -> None:
        """Focus the filter."""
        for field in self.focus_chain:
            if isinstance(field, Input) and field.has_class("filter"):
                field.focus()
                return
        self.studio.explain_no_effect("there is no list to filter here", "filter")

    def action_metadata(self) -> None:
        """Show and change the metadata of the highlighted entity."""
        if self.entity is not None:
            self.studio.show_metadata(self.entity)

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        if action == "filter":
            return bool(self.query("Input.filter"))
        if action == "metadata":
            return True if self.is_mounted and self.entity is not None else None
        return super().check_action(action, parameters)
