"""The screen of the home area."""

from __future__ import annotations

from textual.app import ComposeResult
from textual.widgets import Static

from localcdap.tui.screen import AreaScreen


class HomeScreen(AreaScreen):
    AREA = "home"

    def compose_body(self) -> ComposeResult:
        yield Static("Home")
