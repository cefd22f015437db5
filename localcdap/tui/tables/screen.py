"""The screen of the data area."""

from __future__ import annotations

from textual.app import ComposeResult
from textual.widgets import Static

from localcdap.tui.screen import AreaScreen


class TablesScreen(AreaScreen):
    AREA = "data"

    def compose_body(self) -> ComposeResult:
        yield Static("Tables")
