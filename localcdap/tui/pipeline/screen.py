"""The screen of the studio area."""

from __future__ import annotations

from textual.app import ComposeResult
from textual.widgets import Static

from localcdap.tui.screen import AreaScreen


class PipelineScreen(AreaScreen):
    AREA = "studio"

    def compose_body(self) -> ComposeResult:
        yield Static("Pipeline")
