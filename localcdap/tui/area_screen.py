"""The base of the full screens: the header line, the body of the area, the footer with its key hints.

The header shows the areas, the namespace, and whether another process is the host. The footer also
shows the keys of the key list and of the palette.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Final

from rich.cells import cell_len
from textual import events
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal
from textual.content import Content
from textual.reactive import reactive
from textual.screen import Screen
from textual.widget import Widget
from textual.widgets import Input, Static

from localcdap.api.metadata import MetadataEntity
from localcdap.tui.routes import AREAS, Area, NavigationTarget
from localcdap.tui.studio import StudioNode, get_studio
from localcdap.tui.textual_internals.app import RefreshedScreen

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


_NONE: Final = -1


@dataclass(frozen=True)
class KeyHint:
    """The hint of a key.

    :param key: the key that a click presses.
    :param shown: the display name of the key.
    """

    key: str
    shown: str
    description: str

    @property
    def width(self) -> int:
        return cell_len(self.shown) + cell_len(self.description) + 3

    def content(self, *, is_hovered: bool) -> Content:
        if is_hovered:
            style = "$footer-key-foreground on $block-hover-background"
            return Content.assemble(
                (f" {self.shown} ", f"bold {style}"), (f"{self.description} ", style)
            )
        return Content.assemble(
            (f" {self.shown} ", "bold $footer-key-foreground on $footer-key-background"),
            (
                f"{self.description} ",
                "$footer-description-foreground on $footer-description-background",
            ),
        )


class KeyHints(Widget):
    """The hints of the keys that work now, as many as fit.

    One widget draws all hints, because they change with every focus.
    """

    DEFAULT_CSS = "KeyHints { height: 1; text-wrap: nowrap; }"
    ALLOW_SELECT = False

    hints: reactive[tuple[KeyHint, ...]] = reactive(())
    hovered: reactive[int] = reactive(_NONE)
    """The index of the hint below the mouse; :data:`_NONE` when there is none."""

    def on_mount(self) -> None:
        self.screen.bindings_updated_signal.subscribe(self, self._schedule_update)

    def render(self) -> Content:
        return Content.assemble(
            *(
                hint.content(is_hovered=index == self.hovered)
                for index, hint in enumerate(self._visible)
            )
        )

    def on_mouse_move(self, event: events.MouseMove) -> None:
        self.hovered = self._find_hint(event.x)

    def on_leave(self) -> None:
        self.hovered = _NONE

    def on_mouse_down(self, event: events.MouseDown) -> None:
        index = self._find_hint(event.x)
        if index != _NONE:
            self.app.simulate_key(self._visible[index].key)

    @property
    def _visible(self) -> list[KeyHint]:
        """The hints that fit."""
        width, visible = self.size.width, []
        for hint in self.hints:
            width -= hint.width
            if width < 0:
                break
            visible.append(hint)
        return visible

    def _find_hint(self, x: int) -> int:
        for index, hint in enumerate(self._visible):
            x -= hint.width
            if x < 0:
                return index
        return _NONE

    def _schedule_update(self, screen: Screen[Any]) -> None:
        if self.app.app_focus:
            self.call_after_refresh(self._update_hints)

    def _update_hints(self) -> None:
        if self.is_attached:
            found: dict[str, KeyHint] = {}
            for active in self.screen.active_bindings.values():
                binding = active.binding
                if binding.show and active.enabled:
                    shown = self.app.get_key_display(binding)
                    found.setdefault(
                        binding.action, KeyHint(binding.key, shown, binding.description)
                    )
            self.hints = tuple(found.values())


class StudioFooter(Horizontal):
    """The keys of the focused widget and its screen; at the right end the key list and the palette."""

    DEFAULT_CSS = """
    StudioFooter {
        dock: bottom;
        height: 1;
        background: $panel;
        & > KeyHints { width: 1fr; }
        & > #footer-always { width: auto; padding: 0 1 0 2; color: $foreground 70%; link-style: none;
            link-background: $panel; link-color: $foreground 70%; link-background-hover: $boost;
            link-color-hover: $foreground; link-style-hover: none; }
    }
    """

    def compose(self) -> ComposeResult:
        yield KeyHints()
        yield Static(
            "[@click=app.show_keys][$footer-key-foreground bold]?[/] keys[/]  "
            "[@click=app.show_palette][$footer-key-foreground bold]:[/] commands[/]",
            id="footer-always",
        )


class AreaScreen(StudioNode, RefreshedScreen[None]):
    """The screen of an area. A subclass implements :meth:`compose_body` and the hooks that it needs."""

    AREA: ClassVar[str]
    """The name of the area in :data:`localcdap.tui.routes.AREAS`."""
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
