"""The areas of the studio: full screens, each with a digit as its key."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True)
class Area:
    """One full screen.

    :param name: the mode of the app, and the first part of the ids of its keys.
    :param screen: ``module:class``; the module is imported when the area is first opened.
    """

    name: str
    key: str
    title: str
    purpose: str
    screen: str


_SCREENS: Final = "localcdap.tui.screens"

AREAS: Final = (
    Area(
        "home",
        "1",
        "Home",
        "What is here and what can be done.",
        f"{_SCREENS}.home.screen:HomeScreen",
    ),
    Area(
        "studio",
        "2",
        "Studio",
        "Build, try and run a pipeline.",
        "localcdap.tui.pipeline.screen:PipelineScreen",
    ),
    Area(
        "runs", "3", "Runs", "What ran and what is running.", f"{_SCREENS}.runs.screen:RunsScreen"
    ),
    Area(
        "plugins",
        "4",
        "Plugins",
        "The plugins and artifacts of this instance.",
        f"{_SCREENS}.plugins.screen:PluginsScreen",
    ),
    Area(
        "data", "5", "Data", "Tables, and read-only SQL.", f"{_SCREENS}.tables.screen:TablesScreen"
    ),
    Area(
        "library",
        "6",
        "Library",
        "Deployed pipelines, drafts and templates.",
        f"{_SCREENS}.library.screen:LibraryScreen",
    ),
    Area(
        "namespaces",
        "7",
        "Namespaces",
        "Namespaces, preferences and secure keys.",
        f"{_SCREENS}.namespaces.screen:NamespacesScreen",
    ),
    Area(
        "search",
        "8",
        "Search",
        "Find pipelines, tables, fields, plugins and runs.",
        f"{_SCREENS}.search.screen:SearchScreen",
    ),
    Area(
        "lineage",
        "9",
        "Lineage",
        "Where datasets and fields come from, and where they go.",
        f"{_SCREENS}.lineage.screen:LineageScreen",
    ),
    Area(
        "prep",
        "semicolon",
        "Prep",
        "Prepare data with a recipe whose effect shows at once.",
        f"{_SCREENS}.prep.screen:PrepScreen",
    ),
    Area(
        "reports",
        "apostrophe",
        "Reports",
        "What ran, how long it took, and why it failed.",
        f"{_SCREENS}.reports.screen:ReportsScreen",
    ),
    Area(
        "analytics",
        "quotation_mark",
        "Analytics",
        "Train, compare and use models.",
        f"{_SCREENS}.analytics.screen:AnalyticsScreen",
    ),
    Area(
        "settings",
        "comma",
        "Settings",
        "The settings of this instance.",
        f"{_SCREENS}.settings.screen:SettingsScreen",
    ),
)
"""In the order of the header."""
