"""Compares pipelines, versions and files: the choice of the other side, and the differences.

Differences are shown by stage, property and connection.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Final

import msgspec
from textual.binding import Binding, BindingType
from textual.containers import VerticalScroll
from textual.content import Content

from localcdap.api.pipeline import StageConnection
from localcdap.artifacts.model import ArtifactSelector
from localcdap.host.cdap import Cdap
from localcdap.pipeline.comparison import (
    Difference,
    PipelineComparison,
    StageDifference,
    compare_lines,
    compare_pipelines,
)
from localcdap.pipeline.document.reader import read_document
from localcdap.pipeline.validation.plugins import PluginTemplate
from localcdap.text import plural
from localcdap.tui.dialogs.dialog_screen import BlocksDialog
from localcdap.tui.labels import MUTED, format_age
from localcdap.tui.screens.home.pipeline_import import read_pipeline_file
from localcdap.tui.screens.library.items import (
    ItemVersion,
    SavedPipeline,
    export_version,
    format_title,
)
from localcdap.tui.screens.library.list_screen import LibraryListScreen
from localcdap.tui.studio import Choice

_MARKS: Final = {
    "added": ("+", "$text-success"),
    "removed": ("-", "$text-error"),
    "renamed": ("→", "$text-accent"),
    "changed": ("~", "$text-warning"),
}
_WORDS: Final = re.compile(r"[\w.]+|\s+|[^\w\s]")
_LONGEST: Final = 4000
"""The most characters of two texts that are compared word by word; longer ones are shown whole."""


def summarize_comparison(comparison: PipelineComparison) -> str:
    """Return how much is different, such as ``1 stage added · 2 connections changed``."""
    if comparison.is_equal:
        return "No differences."
    kinds = [stage.kind for stage in comparison.stages]
    parts = [f"{plural(kinds.count(kind), 'stage')} {kind}" for kind in _MARKS if kind in kinds]
    if comparison.settings:
        parts.append(f"{plural(len(comparison.settings), 'setting')} changed")
    connections = len(comparison.added_connections) + len(comparison.removed_connections)
    if connections:
        parts.append(f"{plural(connections, 'connection')} changed")
    return " · ".join(parts)


def format_differences(comparison: PipelineComparison) -> list[Content]:
    """Return a block for the settings of the pipeline, for each stage, and for the connections."""
    blocks = []
    if comparison.settings:
        blocks.append(_build_block(Content.styled("pipeline", "bold"), comparison.settings))
    blocks += [_format_stage(stage) for stage in comparison.stages]
    if comparison.added_connections or comparison.removed_connections:
        lines = [
            *(_format_connection("removed", each) for each in comparison.removed_connections),
            *(_format_connection("added", each) for each in comparison.added_connections),
        ]
        blocks.append(Content("\n").join([Content.styled("connections", "bold"), *lines]))
    return blocks


def _format_stage(stage: StageDifference) -> Content:
    name = f"{stage.before} → {stage.name}" if stage.kind == "renamed" else stage.name
    title = Content.assemble(
        _draw_mark(stage.kind),
        " ",
        Content.styled(name, "bold"),
        Content.styled(f"  {stage.plugin}", MUTED),
    )
    return _build_block(title, stage.changes)


def _build_block(title: Content, changes: Sequence[Difference]) -> Content:
    return Content("\n").join(
        [title, *(line for change in changes for line in _format_change(change))]
    )


def _format_change(change: Difference) -> Iterator[Content]:
    if change.before is None or change.after is None:
        kind = "added" if change.before is None else "removed"
        value = change.after if change.before is None else change.before
        lines = _format_side(value).splitlines() or [""]
        yield Content.assemble("  ", _draw_mark(kind), f" {change.what}: ", _colour(kind, lines[0]))
        yield from (Content.assemble(" " * 6, _colour(kind, line)) for line in lines[1:])
        return
    before, after = _format_side(change.before), _format_side(change.after)
    yield Content.assemble("  ", _draw_mark("changed"), f" {change.what}:")
    if "\n" in before or "\n" in after:
        yield from _compare_lines(before, after)
    else:
        one, other = _compare_words(before, after)
        yield Content.assemble("      ", _draw_mark("removed"), " ", one)
        yield Content.assemble("      ", _draw_mark("added"), " ", other)


def _compare_lines(before: str, after: str) -> Iterator[Content]:
    """Yield the lines that differ, with some equal lines around them."""
    for line in compare_lines(before, after):
        if line is None:
            yield Content.styled("      ⋯", MUTED)
        elif line.kind in _MARKS:
            yield Content.assemble(
                "      ", _draw_mark(line.kind), " ", _colour(line.kind, line.text)
            )
        else:
            yield Content.styled(f"        {line.text}", MUTED)


def _compare_words(before: str, after: str) -> tuple[Content, Content]:
    """Return both texts with the words that differ highlighted."""
    words, others = _WORDS.findall(before), _WORDS.findall(after)
    matcher = difflib.SequenceMatcher(None, words, others, autojunk=False)
    if len(before) + len(after) > _LONGEST or matcher.ratio() < 0.5:
        return _colour("removed", before), _colour("added", after)
    one, other = [], []
    for kind, start, end, new_start, new_end in matcher.get_opcodes():
        old, new = "".join(words[start:end]), "".join(others[new_start:new_end])
        one.append(Content(old) if kind == "equal" else _colour("removed", old))
        other.append(Content(new) if kind == "equal" else _colour("added", new))
    return Content.assemble(*one), Content.assemble(*other)


def _format_connection(kind: str, connection: StageConnection) -> Content:
    branch = connection.branch
    text = f"{connection.source} → {connection.target}{f' ({branch})' if branch else ''}"
    return Content.assemble("  ", _draw_mark(kind), " ", _colour(kind, text))


def _draw_mark(kind: str) -> Content:
    return Content.styled(*_MARKS[kind])


def _colour(kind: str, text: str) -> Content:
    return Content.styled(text, _MARKS[kind][1])


def _format_side(value: Any) -> str:
    if isinstance(value, ArtifactSelector):
        return " ".join(part for part in (value.name, value.version, value.scope) if part)
    return value if isinstance(value, str) else msgspec.json.encode(value).decode()


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
