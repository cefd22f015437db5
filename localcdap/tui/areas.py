"""The areas of the studio: full screens, each with its key."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

_SCREENS: Final = "localcdap.tui.screens"


@dataclass(frozen=True)
class Area:
    """One full screen.

    :param name: the mode of the app, and the first part of the ids of its keys.
    :param module: the module with the screen, which is imported when the area is first opened; empty for
        ``screens/NAME/screen.py``.
    :param screen: the class of the screen; empty for ``TITLEScreen``.
    """

    name: str
    key: str
    title: str
    purpose: str
    module: str = ""
    screen: str = ""

    def locate_screen(self) -> tuple[str, str]:
        """Return the names of the module and of the class of the screen."""
        return self.module or f"{_SCREENS}.{self.name}.screen", self.screen or f"{self.title}Screen"


AREAS: Final = (
    Area("home", "1", "Home", "What is here and what can be done."),
    Area(
        "studio",
        "2",
        "Studio",
        "Build, try and run a pipeline.",
        "localcdap.tui.pipeline.screen",
        "PipelineScreen",
    ),
    Area("runs", "3", "Runs", "What ran and what is running."),
    Area("plugins", "4", "Plugins", "The plugins and artifacts of this instance."),
    Area(
        "data",
        "5",
        "Data",
        "Tables, and read-only SQL.",
        f"{_SCREENS}.tables.screen",
        "TablesScreen",
    ),
    Area("library", "6", "Library", "Deployed pipelines, drafts and templates."),
    Area("namespaces", "7", "Namespaces", "Namespaces, preferences and secure keys."),
    Area("search", "8", "Search", "Find pipelines, tables, fields, plugins and runs."),
    Area("lineage", "9", "Lineage", "Where datasets and fields come from, and where they go."),
    Area("prep", "semicolon", "Prep", "Prepare data with a recipe whose effect shows at once."),
    Area("reports", "apostrophe", "Reports", "What ran, how long it took, and why it failed."),
    Area("analytics", "quotation_mark", "Analytics", "Train, compare and use models."),
    Area("settings", "comma", "Settings", "The settings of this instance."),
)
"""In the order of the header."""
