"""The first line of every screen: the areas, the namespace, and whether another process is the host."""

from __future__ import annotations

from typing import Final

from rich.cells import cell_len
from textual import events
from textual.app import ComposeResult
from textual.containers import Horizontal
from textual.content import Content
from textual.widgets import Static

from localcdap.tui.areas import AREAS, Area
from localcdap.tui.studio import get_studio

_KEYS: Final = {"semicolon": ";", "comma": ",", "apostrophe": "'", "quotation_mark": '"'}
"""How keys are shown whose names are words."""


class AreaTab(Static):
    """The key and the name of an area, or only its key; a click opens it."""

    def __init__(self, area: Area, *, is_active: bool) -> None:
        self._key = _KEYS.get(area.key, area.key)
        super().__init__(classes="-active" if is_active else "")
        self._area = area
        self.is_active = is_active
        self.shortest = cell_len(self._key) + 2
        """The width of the tab with the key alone."""
        self.needed = self.shortest + 1 + cell_len(area.title)
        """The width of the tab with its name."""

    def show(self, *, is_whole: bool) -> None:
        """Show the name beside the key, or the key alone."""
        key = Content.styled(self._key, "" if self.is_active else "$foreground 50%")
        self.update(Content.assemble(key, f" {self._area.title}") if is_whole else key)

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
        """Show the key of every area and the namespace, and the names of areas that fit."""
        tabs = sorted(self.query(AreaTab), key=lambda tab: not tab.is_active)
        place = self.query_one("#header-place", Static)
        spare = width - sum(tab.needed for tab in tabs) - 2
        shown = next((each for each in self._places if each.cell_length <= spare), self._places[-1])
        place.update(shown)
        free = width - sum(tab.shortest for tab in tabs) - shown.cell_length - 2
        place.display = free >= 0
        for tab in tabs:
            more = tab.needed - tab.shortest
            is_whole = tab.is_active or free >= more
            free -= more if is_whole else 0
            tab.show(is_whole=is_whole)

    def on_mount(self) -> None:
        self.watch(self.app, "namespace", self._show)
        for name in ("connected", "busy"):
            self.watch(self.app, name, self._show)

    def _show(self) -> None:
        self._fit(self.size.width)
