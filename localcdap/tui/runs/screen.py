"""The screen of the runs area."""

from __future__ import annotations

from textual.app import ComposeResult
from textual.widgets import Static

from localcdap.tui.screen import AreaScreen


class RunsScreen(AreaScreen):
    AREA = "runs"

    def compose_body(self) -> ComposeResult:
        yield Static("Runs")
