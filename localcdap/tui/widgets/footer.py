"""The last line of every screen: key hints, and the keys of the key list and the palette."""

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
