"""The screen of the settings area."""

from __future__ import annotations

from textual.app import ComposeResult
from textual.widgets import Static

from localcdap.tui.screen import AreaScreen


class SettingsScreen(AreaScreen):
    AREA = "settings"

    def compose_body(self) -> ComposeResult:
        yield Static("Settings")
