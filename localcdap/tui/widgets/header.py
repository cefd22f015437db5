"""The first line of every screen: the areas, the namespace, and whether another process is the host."""

from __future__ import annotations

from textual import events
from textual.app import ComposeResult
from textual.containers import Horizontal
from textual.content import Content
from textual.widgets import Static

from localcdap.tui.areas import AREAS, Area
from localcdap.tui.studio import get_studio


class AreaTab(Static):
    """The key and name of an area; a click opens it."""

    def __init__(self, area: Area, *, is_active: bool) -> None:
        label = Content.from_markup(_format_label(area, is_active))
        super().__init__(label, classes="-active" if is_active else "")
        self._area = area
        self.is_active = is_active
        self.needed = label.cell_length + 2
        """The width of the tab."""

    def on_click(self, event: events.Click) -> None:
        event.stop()
        self.jump()

    def jump(self) -> None:
        self.app.switch_mode(self._area.name)


class StudioHeader(Horizontal):
    """The header of a screen."""

    DEFAULT_CSS = """
    StudioHeader {
        height: 1;
        dock: top;
        background: $panel;
        & > AreaTab { width: auto; padding: 0 1; color: $text; }
        & > AreaTab:hover { background: $boost; }
        & > AreaTab.-active { background: $primary; color: $background; text-style: bold; }
        & > #header-space { width: 1fr; }
        & > #header-place { width: auto; padding: 0 1; color: $text-muted; }
    }
    """

    def __init__(self, area: str) -> None:
        super().__init__()
        self._area = area

    def compose(self) -> ComposeResult:
        for area in AREAS:
            if len(area.key) == 1 or self._area == area.name:
                yield AreaTab(area, is_active=area.name == self._area)
        yield Static(id="header-space")
        yield Static(id="header-place")

    def on_resize(self, event: events.Resize) -> None:
        self._fit(event.size.width)

    @property
    def _places(self) -> list[Content]:
        """The namespace with and without this word; the latter where the tabs need the space."""
        app = get_studio(self)
        text = app.namespace if app.connected else "opening"
        waiting = " …" if app.busy or not app.connected else ""
        texts = [f"namespace {text}", text] if app.connected else [text]
        return [Content(each + waiting) for each in texts]

    def _fit(self, width: int) -> None:
        """Show the tab of this area and the namespace, and those of the other tabs that fit."""
        tabs = list(self.query(AreaTab))
        place = self.query_one("#header-place", Static)
        spare = width - sum(tab.needed for tab in tabs) - 2
        place.update(
            next((each for each in self._places if each.cell_length <= spare), self._places[-1])
        )
        free = width - sum(tab.needed for tab in tabs if tab.is_active)
        free -= Content(str(place.content)).cell_length + 2
        place.display = free >= 0
        for tab in tabs:
            if not tab.is_active:
                free -= tab.needed
                tab.display = free >= 0

    def on_mount(self) -> None:
        self.watch(self.app, "namespace", self._show)
        for name in ("connected", "busy"):
            self.watch(self.app, name, self._show)

    def _show(self) -> None:
        self._fit(self.size.width)


def _format_label(area: Area, is_active: bool) -> str:
    if len(area.key) > 1:
        return area.title
    return (
        f"{area.key} {area.title}" if is_active else f"[$foreground 50%]{area.key}[/] {area.title}"
    )
