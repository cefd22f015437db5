"""The screen of the namespaces area."""

from __future__ import annotations

from textual.app import ComposeResult
from textual.widgets import Static

from localcdap.tui.screen import AreaScreen


class NamespacesScreen(AreaScreen):
    AREA = "namespaces"

    def compose_body(self) -> ComposeResult:
        yield Static("Namespaces")
