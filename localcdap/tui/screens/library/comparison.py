"""Compares pipelines, versions and files: the choice of the other side, and the dialog with the result."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from textual.binding import Binding, BindingType
from textual.containers import VerticalScroll
from textual.content import Content

from localcdap.host.cdap import Cdap
from localcdap.pipeline.comparison import PipelineComparison, compare_pipelines
from localcdap.pipeline.document.reader import read_document
from localcdap.pipeline.validation.plugin_templates import PluginTemplate
from localcdap.tui.dialogs.dialog_screen import BlocksDialog
from localcdap.tui.labels import format_age
from localcdap.tui.screens.home.pipeline_import import read_pipeline_file
from localcdap.tui.screens.library.differences import (
    format_differences,
    summarize_comparison,
)
from localcdap.tui.screens.library.items import (
    ItemVersion,
    SavedPipeline,
    export_version,
    format_title,
)
from localcdap.tui.screens.library.list_screen import LibraryListScreen
from localcdap.tui.studio import Choice


@dataclass(frozen=True)
class ComparisonSide:
    """One of two pipelines that are compared.

    :param name: the title of the pipeline, such as ``sales, version 3``.
    :param text: the JSON of the pipeline.
    """

    name: str
    text: str


class PipelineComparisonDialog(BlocksDialog):
    """Shows the differences between a first pipeline and a second one.

    :param verb: as that of :class:`BlocksDialog`. With a verb, the sides stay as they are.
    """

    DEFAULT_CSS = """
    PipelineComparisonDialog {
        & > #dialog { width: 94%; height: 90%; }
        & #dialog-blocks { height: 1fr; max-height: 100%; }
    }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("s", "swap", "swap sides", id="comparison.swap"),
        Binding("n", "block(1)", "next change", id="comparison.next", show=False),
        Binding("N", "block(-1)", "previous change", id="comparison.previous", show=False),
    ]

    def __init__(self, first: ComparisonSide, second: ComparisonSide, *, verb: str = "") -> None:
        hints = "n next change  " if verb else "s swap sides  n next change  "
        super().__init__(Content(""), [], verb=verb, hints=hints)
        self._sides = (first, second)
        self.comparison: PipelineComparison | None = None

    def on_mount(self) -> None:
        self._compare()

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        if action == "swap":
            return not self._verb
        return super().check_action(action, parameters)

    def action_swap(self) -> None:
        self._sides = self._sides[::-1]
        self._compare()

    def action_block(self, by: int) -> None:
        """Scroll to the next block, or to the previous one for -1."""
        scroll = self.query_one(VerticalScroll)
        tops = [block.virtual_region.y for block in scroll.children]
        at = scroll.scroll_offset.y
        ahead = [top for top in tops if top > at] if by > 0 else [t for t in tops if t < at][::-1]
        if ahead:
            scroll.scroll_to(y=ahead[0], animate=False)

    def _compare(self) -> None:
        first, second = self._sides
        self.call(
            lambda _: compare_pipelines(
                read_document(first.text, first.name), read_document(second.text, second.name)
            ),
            on_result=self._show,
            group="compare",
        )

    def _show(self, comparison: PipelineComparison) -> None:
        self.comparison = comparison
        first, second = self._sides
        summary = f"\n{summarize_comparison(comparison)}", "$foreground 60% not bold"
        title = Content.assemble(f"{first.name}  →  {second.name}", summary)
        self.show(title, list(format_differences(comparison)))


_VersionChoice = tuple[SavedPipeline, ItemVersion | None]


async def compare_with_another(screen: LibraryListScreen) -> None:
    """Let the user choose another version or pipeline, and compare it with the highlighted version."""
    item, version = screen.pipeline, screen.version
    if item is None or screen.details is None:
        return
    others = [each for each in screen.details.versions if each != version]
    choices: list[Choice[_VersionChoice]] = [
        Choice(format_title(item, each), (item, each), format_age(each.when), each.description)
        for each in others
    ]
    choices += [
        Choice(format_title(other, None), (other, None))
        for other in screen.items.values()
        if other != item and not isinstance(other, PluginTemplate)
    ]
    title = f"Compare {format_title(item, version)} with"
    chosen = await screen.studio.choose(choices, title=title)
    if chosen is None:
        return
    namespace = screen.studio.namespace
    screen.call(
        lambda cdap: (
            _read_side(cdap, namespace, *chosen),
            _read_side(cdap, namespace, item, version),
        ),
        on_result=lambda sides: screen.app.push_screen(PipelineComparisonDialog(*sides)),
    )


async def compare_with_file(screen: LibraryListScreen) -> None:
    """Let the user choose a file, and compare it with the highlighted version."""
    item, version = screen.pipeline, screen.version
    path = await screen.studio.pick_file("Compare with a file")
    if path is None or item is None:
        return
    namespace = screen.studio.namespace
    screen.call(
        lambda cdap: (
            ComparisonSide(path.name, read_pipeline_file(path)),
            _read_side(cdap, namespace, item, version),
        ),
        on_result=lambda sides: screen.app.push_screen(PipelineComparisonDialog(*sides)),
    )


def _read_side(
    cdap: Cdap, namespace: str, item: SavedPipeline, version: ItemVersion | None
) -> ComparisonSide:
    text = export_version(cdap, namespace, item, version)
    return ComparisonSide(format_title(item, version), text)
