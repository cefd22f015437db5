"""The screen of the plugins area."""

from __future__ import annotations

from textual.app import ComposeResult
from textual.widgets import Static

from localcdap.tui.screen import AreaScreen


class PluginsScreen(AreaScreen):
    AREA = "plugins"

    def compose_body(self) -> ComposeResult:
        yield Static("Plugins")
