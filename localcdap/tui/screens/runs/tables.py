"""The tables of a run: the counts of its stages, and its arguments."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar, Final

from rich.text import Text
from textual.binding import Binding, BindingType
from textual.message import Message
from textual.strip import Strip
from textual.widgets import DataTable

from localcdap.runs.arguments import GIVEN
from localcdap.runs.model import Run, StageCounts
from localcdap.text import plural
from localcdap.tui.labels import RUN_MARKS
from localcdap.tui.log.layout import sanitize_name
from localcdap.tui.textual_internals.line_marks import mark_line


class PlainDataTable(DataTable[Text]):
    """A table without a frame, whose cursor is muted while the table has no focus."""

    DEFAULT_CSS = """
    PlainDataTable {
        height: 1fr;
        background: transparent;
        & > .datatable--header, & > .datatable--header:hover {
            background: transparent; color: $foreground 60%; text-style: none;
        }
        & > .datatable--cursor { background: $boost; color: $foreground; text-style: none; }
        & > .datatable--hover { background: $boost; }
        &:focus > .datatable--cursor {
            background: $primary 30%; color: $foreground; text-style: none;
        }
    }
    """

    def __init__(self) -> None:
        super().__init__(cursor_type="row")

    def render_line(self, y: int) -> Strip:
        line, row = super().render_line(y), y - self.header_height + self.scroll_offset.y
        is_current = y >= self.header_height and row == self.cursor_row and self.row_count
        return mark_line(line) if is_current else line


class StageTable(PlainDataTable):
    """The input, output and error records of each stage in topological order; the failed stage is marked."""

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
        """The stage under the cursor."""
        return self._stages[self.cursor_row] if self.cursor_row < len(self._stages) else None

    def on_mount(self) -> None:
        self.add_column("stage", key="stage")
        for name in ("in", "out", "errors"):
            self.add_column(Text(f"{name:>11}"), key=name, width=11)
        self.add_column("", key="more")

    def show_run(self, run: Run) -> None:
        """Show the stages of a run."""
        if self._stages != list(run.stages):
            self.clear()
            self._stages = list(run.stages)
            for number, stage in enumerate(self._stages):
                self.add_row(*_build_cells(run, stage), key=str(number))
            return
        for number, stage in enumerate(self._stages):
            for column, cell in zip(self.columns, _build_cells(run, stage), strict=True):
                if self.get_cell(str(number), column) != cell:
                    self.update_cell(str(number), column, cell, update_width=True)

    def on_data_table_row_selected(self, event: DataTable.RowSelected) -> None:
        event.stop()
        if self.stage is not None:
            self.post_message(self.Chosen(self.stage))


def _build_cells(run: Run, stage: str) -> Iterator[Text]:
    """Return the cells of a row."""
    counts = run.get_latest_counts(stage)
    has_failed = run.error is not None and run.error.stage == stage
    mark = f"{RUN_MARKS[run.status][0]} " if has_failed else "  "
    yield Text(mark + sanitize_name(stage), no_wrap=True)
    for number in (counts.records_in, counts.records_out, counts.errors):
        yield Text("-" if number is None else f"{number:,}", justify="right")
    yield Text(sanitize_name(", ".join(_list_more(run, stage, counts))))


def _list_more(run: Run, stage: str, counts: StageCounts) -> Iterator[str]:
    """Yield the numbers of altered values and of alerts, if there are any, and the metrics."""
    altered = sum(values.count for values in run.altered if values.stage == stage)
    if altered:
        yield plural(altered, "altered value")
    if counts.alerts:
        yield plural(counts.alerts, "alert")
    for name, number in (counts.metrics or {}).items():
        yield f"{name} {number:,}"


ORIGINS: Final = {
    GIVEN: "given for the run",
    "pipeline": "pipeline preference",
    "namespace": "namespace preference",
    "instance": "instance preference",
}


class ArgumentTable(PlainDataTable):
    """The name, the value and the origin of each argument."""

    def __init__(self) -> None:
        super().__init__()
        self._shown: tuple[dict[str, str], dict[str, str]] | None = None

    @property
    def value(self) -> str | None:
        """The value of the argument under the cursor."""
        values = list(self._shown[0].values()) if self._shown else []
        return values[self.cursor_row] if self.cursor_row < len(values) else None

    def on_mount(self) -> None:
        self.add_columns("argument", "value", "origin")

    def show_run(self, run: Run) -> None:
        """Show the arguments of a run."""
        if self._shown == (run.arguments, run.origins):
            return
        self._shown = run.arguments, run.origins
        self.clear()
        for name, value in run.arguments.items():
            origin = run.origins.get(name, "")
            self.add_row(_build_cell(name), _build_cell(value), Text(ORIGINS.get(origin, origin)))


def _build_cell(text: str) -> Text:
    return Text(sanitize_name(text), no_wrap=True)
