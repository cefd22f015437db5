"""The last line of every screen: hints of keys, and the two that lead to all others."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

from rich.cells import cell_len
from textual import events
from textual.app import ComposeResult
from textual.containers import Horizontal
from textual.content import Content
from textual.reactive import reactive
from textual.screen import Screen
from textual.widget import Widget
from textual.widgets import Static

_NONE: Final = -1


@dataclass(frozen=True)
class KeyHint:
    """What a key does.

    :param key: is pressed when it is clicked.
    :param shown: how the key is written.
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
    """Hints of what keys do now, each of them once; those that have no room are not shown.

    One widget draws them all: they change with every part that the keys go to.
    """

    DEFAULT_CSS = "KeyHints { height: 1; text-wrap: nowrap; }"
    ALLOW_SELECT = False

    hints: reactive[tuple[KeyHint, ...]] = reactive(())
    hovered: reactive[int] = reactive(_NONE)
    """The hint below the mouse; :data:`_NONE` where there is none."""

    def on_mount(self) -> None:
        self.screen.bindings_updated_signal.subscribe(self, self._changed)

    def render(self) -> Content:
        return Content.assemble(
            *(
                hint.content(is_hovered=place == self.hovered)
                for place, hint in enumerate(self._seen)
            )
        )

    def on_mouse_move(self, event: events.MouseMove) -> None:
        self.hovered = self._place_at(event.x)

    def on_leave(self) -> None:
        self.hovered = _NONE

    def on_mouse_down(self, event: events.MouseDown) -> None:
        place = self._place_at(event.x)
        if place != _NONE:
            self.app.simulate_key(self._seen[place].key)

    @property
    def _seen(self) -> list[KeyHint]:
        """Those that there is room for."""
        room, seen = self.size.width, []
        for hint in self.hints:
            room -= hint.width
            if room < 0:
                break
            seen.append(hint)
        return seen

    def _place_at(self, x: int) -> int:
        for place, hint in enumerate(self._seen):
            x -= hint.width
            if x < 0:
                return place
        return _NONE

    def _changed(self, screen: Screen[Any]) -> None:
        if self.app.app_focus:
            self.call_after_refresh(self._look)

    def _look(self) -> None:
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
    """The keys of the focused part and its screen; at its right end the list of keys and the palette."""

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
