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
from localcdap.workspace_views import ColumnView, RowChange

_NUMBERS: Final = frozenset({"int", "long", "float", "double", "decimal"})
_HEADER: Final = 3
"""Lines of a header."""


class PrepGrid(RecordGrid):
    """The cells, all of them texts; numbers stand at the right."""

    def __init__(self) -> None:
        super().__init__()
        self.header_height = _HEADER
        self._shown: Sequence[ColumnView] = ()
        self._changes: Sequence[RowChange] = ()

    def show_rows(
        self,
        columns: Sequence[ColumnView],
        rows: Sequence[Sequence[str | None]],
        changes: Sequence[RowChange] = (),
    ) -> None:
        """Show other rows.

        :param changes: what a step did to each of them; none to show the rows alone.
        """
        import pyarrow as pa

        self._shown, self._changes = columns, changes
        if changes:
            rows = [_mark(row, each) for row, each in zip(rows, changes, strict=True)]
        values = list(zip(*rows, strict=True)) if rows else [()] * len(columns)
        arrays = [pa.array(each, pa.string()) for each in values]
        self.show_table(pa.Table.from_arrays(arrays, names=[each.name for each in columns]))

    def build_labels(self) -> list[Text]:
        return [build_label(each) for each in self._shown]

    def _get_cell_renderable(
        self, row_index: int, column_index: int, max_width: int | None = None
    ) -> RenderableType | Text:
        shown = super()._get_cell_renderable(row_index, column_index, max_width)
        if self._changes and row_index >= 0:
            shown = Text(_get_plain(shown), self._find_style(row_index, column_index), no_wrap=True)
        is_number = self._shown[column_index].type in _NUMBERS
        return Align(shown, "right") if row_index >= 0 and is_number else shown

    def _find_style(self, row: int, column: int) -> str:
        change = self._changes[row]
        if change.kind == "dropped":
            return "red strike"
        if change.kind == "new":
            return "green"
        return "bold yellow" if column in dict(change.before) else "dim"


def _mark(row: Sequence[str | None], change: RowChange) -> list[str | None]:
    """Return the cells of a comparison: the old value before the new one; signs tell it without colour."""
    shown = list(row)
    for place, before in change.before:
        shown[place] = f"{_name(before)} → {_name(row[place])}"
    sign = {"dropped": "- ", "new": "+ "}.get(change.kind, "")
    return [f"{sign}{_name(shown[0])}", *shown[1:]] if sign and shown else shown


def _name(value: str | None) -> str:
    return "null" if value is None else value


def _get_plain(shown: RenderableType | Text) -> str:
    return shown.plain if isinstance(shown, Text) else str(shown)


class PrepTable(RecordTable):
    """The grid with its search line and its note."""

    class ColumnEntered(Message):
        """The cursor has come to a cell."""

    @on(RecordGrid.CellHighlighted)
    def _announce_column(self) -> None:
        self.post_message(self.ColumnEntered())

    def make_grid(self) -> RecordGrid:
        return PrepGrid()

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        if action == "copy_column":
            return False  # its key opens data of a connection here
        return super().check_action(action, parameters)

    def explain_disabled(self, action: str) -> str | None:
        if action == "profile":
            return "the panel shows what the values are like"
        return super().explain_disabled(action)

    def show_view(
        self,
        columns: Sequence[ColumnView],
        rows: Sequence[Sequence[str | None]],
        note: str,
        changes: Sequence[RowChange] = (),
    ) -> None:
        """Show other rows, see :meth:`PrepGrid.show_rows`."""
        grid = self.grid
        assert isinstance(grid, PrepGrid)
        grid.show_rows(columns, rows, changes)
        self.query_one(".cells").display = bool(columns)
        self.set_note(note)
