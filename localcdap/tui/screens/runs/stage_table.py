"""The records of each stage of a run."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

from rich.text import Text
from textual.binding import Binding, BindingType
from textual.message import Message
from textual.widgets import DataTable

from localcdap.runs.model import Run, StageCounts
from localcdap.tui.log.harmless import harmless
from localcdap.tui.screens.runs.quiet_table import QuietTable
from localcdap.tui.screens.runs.watch import shown_counts
from localcdap.tui.words import RUN_MARKS


class StageTable(QuietTable):
    """Records in, out and refused by stage, in topological order; the failed stage is marked."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "select_cursor", "log of the stage", id="runs.stage_log", show=False),
    ]

    class Chosen(Message):
        """A stage was chosen."""

        def __init__(self, stage: str) -> None:
            super().__init__()
            self.stage = stage

    def __init__(self) -> None:
        super().__init__()
        self._stages: list[str] = []

    @property
    def stage(self) -> str | None:
        """The one under the cursor."""
        return self._stages[self.cursor_row] if self.cursor_row < len(self._stages) else None

    def on_mount(self) -> None:
        self.add_column("stage", key="stage")
        for name in ("in", "out", "errors"):
            self.add_column(Text(f"{name:>11}"), key=name, width=11)
        self.add_column("", key="more")

    def put(self, run: Run) -> None:
        """Show the stages of a run as it stands."""
        if self._stages != list(run.stages):
            self.clear()
            self._stages = list(run.stages)
            for number, stage in enumerate(self._stages):
                self.add_row(*_cells(run, stage), key=str(number))
            return
        for number, stage in enumerate(self._stages):
            for column, cell in zip(self.columns, _cells(run, stage), strict=True):
                if self.get_cell(str(number), column) != cell:
                    self.update_cell(str(number), column, cell, update_width=True)

    def on_data_table_row_selected(self, event: DataTable.RowSelected) -> None:
        event.stop()
        if self.stage is not None:
            self.post_message(self.Chosen(self.stage))


def _cells(run: Run, stage: str) -> Iterator[Text]:
    """One row."""
    counts = shown_counts(run, stage)
    has_failed = run.error is not None and run.error.stage == stage
    mark = f"{RUN_MARKS[run.status][0]} " if has_failed else "  "
    yield Text(mark + harmless(stage).replace("\n", " "), no_wrap=True)
    for number in (counts.records_in, counts.records_out, counts.errors):
        yield Text("-" if number is None else f"{number:,}", justify="right")
    yield Text(harmless(_metrics(counts)))


def _metrics(counts: StageCounts) -> str:
    return ", ".join(f"{name} {number:,}" for name, number in (counts.metrics or {}).items())
