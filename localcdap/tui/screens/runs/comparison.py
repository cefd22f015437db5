"""A dialog that compares two runs of a pipeline."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

from rich.text import Text
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.content import Content
from textual.widgets import Static

from localcdap.runs.model import Run, StageCounts
from localcdap.text import format_duration
from localcdap.tui.dialogs.dialog_screen import DialogScreen
from localcdap.tui.labels import RUN_MARKS, sanitize_name
from localcdap.tui.screens.runs.run_list import format_start_time
from localcdap.tui.screens.runs.tables import PlainDataTable

_NONE = "-"
StageComparison = tuple[str, list[tuple[int | None, int | None]]]
"""A stage, and the pairs of input, output and error records of both runs."""


class RunComparison(DialogScreen[None]):
    """Shows the counts of two runs by stage, and the arguments that differ.

    :param first: the older run.
    """

    DEFAULT_CSS = """
    RunComparison {
        & > #dialog { width: 116; max-width: 98%; }
        & #comparison-head { height: auto; margin-bottom: 1; }
        & PlainDataTable { height: auto; max-height: 100%; }
        & #comparison-arguments { height: auto; max-height: 8; margin-top: 1; }
    }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("y", "copy_table", "copy", id="comparison.copy"),
        Binding("q", "dismiss_empty", "back", show=False),
    ]

    def __init__(self, first: Run, second: Run) -> None:
        super().__init__()
        self._first = first
        self._second = second

    def compose_body(self) -> ComposeResult:
        runs = (self._first, self._second)
        lines = [_format_run(letter, run) for letter, run in zip("AB", runs, strict=True)]
        yield Static(Content("\n").join(lines), id="comparison-head")
        yield PlainDataTable()
        yield Static(Content("\n".join(_compare_arguments(*runs))), id="comparison-arguments")

    def on_mount(self) -> None:
        table = self.query_one(PlainDataTable)
        table.add_column("stage")
        for what in ("in", "out", "errors"):
            for name in (f"{what} A", "B", "Δ"):
                table.add_column(Text(name, justify="right"))
        for stage, pairs in compare_stages(self._first, self._second):
            cells = [
                _build_cell(each) for pair in pairs for each in (*pair, _format_difference(pair))
            ]
            table.add_row(Text(sanitize_name(stage)), *cells)

    def action_copy_table(self) -> None:
        rows = [
            "\t".join([sanitize_name(stage), *(str(n or "") for pair in pairs for n in pair)])
            for stage, pairs in compare_stages(self._first, self._second)
        ]
        head = "stage\tin A\tin B\tout A\tout B\terrors A\terrors B"
        self.studio.copy_text("\n".join([head, *rows]), "comparison")


def compare_stages(first: Run, second: Run) -> Iterator[StageComparison]:
    """Yield the stages of the second run in their order, then the stages of the first run only."""
    none = StageCounts()
    for stage in dict.fromkeys((*second.stages, *first.stages)):
        old = first.get_latest_counts(stage) if stage in first.stages else none
        new = second.get_latest_counts(stage) if stage in second.stages else none
        pairs = [
            (old.records_in, new.records_in),
            (old.records_out, new.records_out),
            (old.errors, new.errors),
        ]
        yield stage, pairs


def _format_difference(pair: tuple[int | None, int | None]) -> str:
    old, new = pair
    if old is None or new is None:
        return _NONE
    return f"{new - old:+,}" if new != old else "="


def _build_cell(value: int | str | None) -> Text:
    if isinstance(value, str):
        changed = value not in ("=", _NONE)
        return Text(value, justify="right", style="bold" if changed else "dim")
    return Text(_NONE if value is None else f"{value:,}", justify="right")


def _format_run(letter: str, run: Run) -> Content:
    mark, style = RUN_MARKS[run.status]
    took = format_duration(run.starting, run.end)
    return Content.assemble(
        (f"{letter}  ", "bold"),
        (f"{mark} {run.status.lower():10}", style),
        f" {format_start_time(run.starting):13}{took:>12}  ",
        (f"run {run.run[:8]}", "$foreground 60%"),
    )


def _compare_arguments(first: Run, second: Run) -> Iterator[str]:
    """Yield a line for each argument that differs."""
    for name in dict.fromkeys((*first.arguments, *second.arguments)):
        old, new = first.arguments.get(name), second.arguments.get(name)
        if old != new:
            values = ("(none)" if each is None else sanitize_name(each) for each in (old, new))
            yield f"argument {sanitize_name(name)}: {' → '.join(values)}"
