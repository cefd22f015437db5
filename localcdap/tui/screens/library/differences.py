"""The comparison of two pipelines as text: differences by stage, property and connection."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterator, Sequence
from typing import Any, Final

import msgspec
from textual.content import Content

from localcdap.api.pipeline import StageConnection
from localcdap.artifacts.model import ArtifactSelector
from localcdap.pipeline.comparison import (
    Difference,
    PipelineComparison,
    StageDifference,
    compare_lines,
)
from localcdap.text import plural
from localcdap.tui.labels import MUTED

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
