"""The screen of the library area."""

from __future__ import annotations

from textual.app import ComposeResult
from textual.widgets import Static

from localcdap.tui.screen import AreaScreen


class LibraryScreen(AreaScreen):
    AREA = "library"

    def compose_body(self) -> ComposeResult:
        yield Static("Library")
