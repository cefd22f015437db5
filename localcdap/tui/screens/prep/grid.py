"""The grid of the prep area: rows with headers that show how good and how spread the values are."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from rich.align import Align
from rich.console import RenderableType
from rich.text import Text
from textual import on
from textual.message import Message

from localcdap.tui.records.grid import RecordGrid
from localcdap.tui.records.table import RecordTable
from localcdap.tui.screens.prep.panel import build_label
from localcdap.tui.screens.prep.source import PrepColumn

_NUMBERS: Final = frozenset({"int", "long", "float", "double", "decimal"})
_HEADER: Final = 3
"""Lines of a header."""


class PrepGrid(RecordGrid):
    """The cells, all of them texts; numbers stand at the right."""

    def __init__(self) -> None:
        super().__init__()
        self.header_height = _HEADER
        self._shown: Sequence[PrepColumn] = ()

    def show_rows(
        self, columns: Sequence[PrepColumn], rows: Sequence[Sequence[str | None]]
    ) -> None:
        """Show other rows."""
        import pyarrow as pa

        self._shown = columns
        values = list(zip(*rows, strict=True)) if rows else [()] * len(columns)
        arrays = [pa.array(each, pa.string()) for each in values]
        self.show_table(pa.Table.from_arrays(arrays, names=[each.name for each in columns]))

    def build_labels(self) -> list[Text]:
        return [build_label(each) for each in self._shown]

    def _get_cell_renderable(
        self, row_index: int, column_index: int, max_width: int | None = None
    ) -> RenderableType | Text:
        shown = super()._get_cell_renderable(row_index, column_index, max_width)
        is_number = self._shown[column_index].type in _NUMBERS
        return Align(shown, "right") if row_index >= 0 and is_number else shown


class PrepTable(RecordTable):
    """The grid with its search line and its note."""

    class ColumnEntered(Message):
        """The cursor has come to a cell."""

    @on(RecordGrid.CellHighlighted)
    def _announce_column(self) -> None:
        self.post_message(self.ColumnEntered())

    def make_grid(self) -> RecordGrid:
        return PrepGrid()

    def explain_disabled(self, action: str) -> str | None:
        if action == "profile":
            return "the panel shows what the values are like"
        return super().explain_disabled(action)

    def show_view(
        self, columns: Sequence[PrepColumn], rows: Sequence[Sequence[str | None]], note: str
    ) -> None:
        """Show other rows."""
        grid = self.grid
        assert isinstance(grid, PrepGrid)
        grid.show_rows(columns, rows)
        self.query_one(".cells").display = bool(columns)
        self.set_note(note)
