"""The last line of every screen: hints of keys, and the two that lead to all others."""

from __future__ import annotations

from textual.app import ComposeResult
from textual.containers import Horizontal
from textual.widgets import Footer, Static
from textual.widgets._footer import FooterKey


class Hints(Footer):
    """Hints of keys; one that has no room to its end is not shown."""

    DEFAULT_CSS = "Hints > .-cut { visibility: hidden; }"

    async def recompose(self) -> None:
        await super().recompose()
        self.call_after_refresh(self._cut)

    def on_resize(self) -> None:
        self.call_after_refresh(self._cut)

    def _cut(self) -> None:
        room = self.size.width
        for hint in self.query(FooterKey):
            room -= hint.outer_size.width
            hint.set_class(room < 0, "-cut")


class StudioFooter(Horizontal):
    """The keys of the focused part and its screen; at its right end the list of keys and the palette."""

    DEFAULT_CSS = """
    StudioFooter {
        dock: bottom;
        height: 1;
        background: $panel;
        & > Footer { dock: none; width: 1fr; background: $panel; scrollbar-size: 0 0; }
        & > #footer-always { width: auto; padding: 0 1 0 2; color: $foreground 70%; link-style: none;
            link-background: $panel; link-color: $foreground 70%; link-background-hover: $boost;
            link-color-hover: $foreground; link-style-hover: none; }
    }
    """

    def compose(self) -> ComposeResult:
        yield Hints(show_command_palette=False)
        yield Static(
            "[@click=app.show_keys][$footer-key-foreground bold]?[/] keys[/]  "
            "[@click=app.show_palette][$footer-key-foreground bold]:[/] commands[/]",
            id="footer-always",
        )
