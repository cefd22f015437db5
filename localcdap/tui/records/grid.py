"""The grid of a record table: cells, row numbers, and a cursor that moves by vim keys too."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Final

import pyarrow as pa
from rich.align import Align
from rich.segment import Segment
from rich.text import Text
from textual.actions import SkipAction
from textual.binding import Binding, BindingType
from textual.coordinate import Coordinate
from textual.reactive import reactive
from textual.strip import Strip
from textual.widget import Widget
from textual_fastdatatable.backend import ArrowBackend

from localcdap.java.numbers import is_number
from localcdap.tui.records.values import EMPTY, NULL, format_arrow_type, format_cell
from localcdap.tui.textual_internals.libraries import TallHeaderTable

if TYPE_CHECKING:
    from rich.console import RenderableType

_WIDEST: Final = 40
"""The greatest width of a column, in cells without padding."""
_MEASURED: Final = 200
"""The number of rows by which the width of a column is measured."""


class _Backend(ArrowBackend):
    """Measures the width of columns by the text of the cells in the first rows."""

    @property
    def column_content_widths(self) -> list[int]:
        first = self.data.slice(0, _MEASURED)
        return [
            min(max((len(format_cell(v)) for v in self._read_column(first, i)), default=0), _WIDEST)
            for i in range(first.num_columns)
        ]

    def _read_column(self, rows: pa.Table, column: int) -> list[Any]:
        return self._to_pylist(rows.column(column), self._microsecond_types[column])


def read_column(table: pa.Table, column: int) -> list[Any]:
    """Return the values of a column as the cells of a grid have them."""
    return list(ArrowBackend(table.select([column])).get_column_at(0))


class RecordGrid(TallHeaderTable):
    """The cells of a table; :meth:`show_table` replaces the table."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("h", "cursor_left", "left", show=False),
        Binding("j", "cursor_down", "down", show=False),
        Binding("k", "cursor_up", "up", show=False),
        Binding("l", "cursor_right", "right", show=False),
        Binding("g", "cursor_table_start", "first row", show=False),
        Binding("G", "cursor_table_end", "last row", show=False),
        Binding("0", "cursor_row_start", "first column", show=False),
        Binding("$", "cursor_row_end", "last column", show=False),
        Binding("ctrl+d", "page_down", "page down", show=False),
        Binding("ctrl+u", "page_up", "page up", show=False),
        Binding("tab", "app.focus_next", "next part", show=False),
        Binding("shift+tab", "app.focus_previous", "previous part", show=False),
    ]
    DEFAULT_CSS = """
    RecordGrid { height: 1fr; background: $background; scrollbar-size: 1 1; }
    RecordGrid:dark { background: $background; }
    RecordGrid > .datatable--header { background: $surface; color: $text; text-style: bold; }
    RecordGrid > .datatable--cursor { background: $primary; color: $text; }
    RecordGrid > .datatable--even-row { background: $background; }
    RecordGrid:dark > .datatable--even-row { background: $background; }
    RecordGrid > .datatable--hover { background: $boost; }
    RecordGrid > .datatable--header-cursor { background: $surface; }
    RecordGrid > .datatable--header-hover { background: $surface; }
    """

    numbers: reactive[Sequence[int]] = reactive((), layout=False)
    """The number of each record that is shown, counted from 1 in the order in which they came."""

    def __init__(self) -> None:
        # Without a backend, the table looks for pandas' types, and fails while another thread imports pandas.
        backend = _Backend(pa.table({}))
        super().__init__(backend=backend, max_column_content_width=_WIDEST, render_markup=False)
        self.backend = None

    def on_resize(self) -> None:
        self.call_after_refresh(self._scroll_cursor_into_view)

    @property
    def table(self) -> pa.Table | None:
        return self.backend.source_data if self.backend is not None else None

    def show_table(self, table: pa.Table, numbers: Sequence[int] | None = None) -> None:
        """Show another table. The cursor keeps its row and column where they exist.

        :param numbers: the numbers of its records; without them they count from 1.
        """
        self.backend = _Backend(table)
        self._column_labels = list[str | Text](self.build_labels())
        self._ordered_columns = None
        self._clear_caches()
        self._update_dimensions(())
        self.cursor_coordinate = self.cursor_coordinate
        self.numbers = range(1, table.num_rows + 1) if numbers is None else numbers
        self.refresh(layout=True)

    def build_labels(self) -> list[Text]:
        """Return the header of each column."""
        table = self.table
        return (
            [] if table is None else [_build_label(each.name, each.type) for each in table.schema]
        )

    def get_value(self, row: int, column: int) -> Any:
        return self.get_cell_at(Coordinate(row, column))

    def action_select_cursor(self) -> None:
        if not self.row_count:
            raise SkipAction  # the table around it says that there are no records
        super().action_select_cursor()

    def action_copy_selection(self) -> None:
        if self.row_count:  # there is no cell under the cursor of an empty table
            super().action_copy_selection()

    def _get_cell_renderable(
        self, row_index: int, column_index: int, max_width: int | None = None
    ) -> RenderableType | Text:
        if row_index == -1:
            return self.ordered_columns[column_index].label
        value = self.get_value(row_index, column_index)
        text = format_cell(value)
        shown = Text(text, style="dim" if text in (NULL, EMPTY) else "", no_wrap=True)
        return Align(shown, "right") if is_number(value) else shown


def _build_label(name: str, type: pa.DataType) -> Text:
    return Text.assemble(
        (format_cell(name), "bold"), " ", (format_arrow_type(type), "dim not bold")
    )


_PADDING: Final = 2


class RowNumbers(Widget):
    """Follows the scrolling of a grid; the number of the record under the cursor is marked."""

    DEFAULT_CSS = """
    RowNumbers { width: auto; height: 1fr; color: $text-muted; background: $background; }
    """
    ALLOW_SELECT = False

    def __init__(self, grid: RecordGrid) -> None:
        super().__init__()
        self._grid = grid
        self.can_focus = False

    def on_mount(self) -> None:
        self.watch(self._grid, "numbers", self._resize)
        for name in ("scroll_y", "cursor_coordinate"):
            self.watch(self._grid, name, self._redraw, init=False)

    def _resize(self, numbers: Sequence[int]) -> None:
        width = len(str(max(numbers, default=0))) + _PADDING
        self.styles.width = width
        self.display = bool(numbers)
        self.refresh()

    def _redraw(self) -> None:
        self.refresh()

    def render_line(self, y: int) -> Strip:
        grid, style = self._grid, self.rich_style
        width, at = self.size.width, y - grid.header_height + round(grid.scroll_y)
        is_row = y >= grid.header_height and at < len(grid.numbers)
        if not is_row or y >= grid.scrollable_content_region.height:
            return Strip([Segment(" " * width, style)], width)
        is_current = at == grid.cursor_coordinate.row
        text = f"{'›' if is_current else ' '}{grid.numbers[at]:>{width - _PADDING}} "
        return Strip([Segment(text, style)], width)
