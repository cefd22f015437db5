"""The areas of the studio, full screens each with its key, and the targets of its navigation."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Final

from localcdap.api.schema import Schema


class NavigationTarget:
    """What can be shown; :attr:`area` is the name of the area that shows it."""

    area: ClassVar[str] = "studio"


@dataclass(frozen=True)
class PipelineFileTarget(NavigationTarget):
    """A pipeline file, opened in the studio.

    :param takes_fixes: whether the fixes that its failures suggest are applied at once, as an undoable edit.
    """

    path: Path
    stage: str | None = None
    takes_fixes: bool = False


@dataclass(frozen=True)
class DraftTarget(NavigationTarget):
    """A draft of the current namespace, opened in the studio."""

    id: str
    stage: str | None = None


@dataclass(frozen=True)
class DeployedTarget(NavigationTarget):
    """A deployed pipeline of the current namespace, opened in the studio.

    :param version: the id of a version; None for the newest.
    """

    name: str
    version: str | None = None
    stage: str | None = None


@dataclass(frozen=True)
class DocumentTarget(NavigationTarget):
    """A pipeline document that is not saved yet, opened in the studio.

    :param text: the JSON of the pipeline.
    """

    name: str
    text: str
    stage: str | None = None


@dataclass(frozen=True)
class NewPipelineTarget(NavigationTarget):
    """An empty pipeline, opened in the studio."""

    name: str = "pipeline"


@dataclass(frozen=True)
class AreaTarget(NavigationTarget):
    """An area as it is, in the current namespace."""

    name: str


@dataclass(frozen=True)
class RunTarget(NavigationTarget):
    """A run, shown in the runs area."""

    area = "runs"
    run_id: str
    stage: str | None = None


@dataclass(frozen=True)
class RunHistoryTarget(NavigationTarget):
    """The history of one pipeline, shown in the runs area."""

    area = "runs"
    pipeline: str


@dataclass(frozen=True)
class SchedulesTarget(NavigationTarget):
    """The schedules of a deployed pipeline, shown in the library."""

    area = "library"
    pipeline: str


@dataclass(frozen=True)
class PluginTarget(NavigationTarget):
    """A plugin, shown in the plugins area."""

    area = "plugins"
    type: str
    name: str


@dataclass(frozen=True)
class TableTarget(NavigationTarget):
    """A table or view, shown in the data area.

    :param namespace: None for the current one.
    """

    area = "data"
    name: str
    namespace: str | None = None


@dataclass(frozen=True)
class LineageTarget(NavigationTarget):
    """A dataset or a field of it, shown in the lineage area.

    :param field: None for the dataset.
    :param namespace: None for the current one.
    """

    area = "lineage"
    dataset: str
    field: str | None = None
    namespace: str | None = None


@dataclass(frozen=True)
class PrepTarget(NavigationTarget):
    """Data to prepare, shown in the prep area: a file, a table of the current namespace, or what is at a path
    of a connection.

    :param path: of the file, or of the connection; a folder of the connection is browsed.
    """

    area = "prep"
    path: str = ""
    table: str = ""
    connection: str = ""


@dataclass(frozen=True)
class PrepStageTarget(NavigationTarget):
    """The records that reach a Wrangler stage, with its recipe, shown in the prep area.

    :param records: as JSON.
    :param expectations: the rules of the stage, as JSON.
    :param take: gets the recipe, the schema of its rows, a JSON document, and the rules, when they are for
        the stage.
    """

    area = "prep"
    pipeline: str
    stage: str
    schema: Schema
    records: Sequence[Any]
    directives: Sequence[str]
    arguments: Mapping[str, str]
    take: Callable[[str, str | None, list[Any]], object]
    expectations: Sequence[Any] = ()


@dataclass(frozen=True)
class InsertionTarget(NavigationTarget):
    """Stages to put into a pipeline, at a place that the user chooses in the studio.

    :param pipeline: None for the one that is open.
    :param stage: a stage as the clipboard has it, see ``stage_clipboard``.
    :param branch: the same after a source; "" for none.
    """

    pipeline: PipelineFileTarget | DraftTarget | DeployedTarget | None
    stage: str
    branch: str = ""


@dataclass(frozen=True)
class ExperimentTarget(NavigationTarget):
    """Data for a new experiment, in the analytics area: a file, or a table of the current namespace.

    :param directives: the recipe that prepares the data.
    :param options: how a file is read: names and values of a ``PrepSource``.
    """

    area = "analytics"
    path: str = ""
    table: str = ""
    directives: Sequence[str] = ()
    options: Sequence[tuple[str, Any]] = ()


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
