"""A table of records with an order, filters, search, copying, profiles and frequencies of its columns."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar, Final

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical
from textual.coordinate import Coordinate
from textual.message import Message
from textual.widgets import Input, Static
from textual.worker import get_current_worker

from localcdap.api.schema import Schema
from localcdap.files.result_files import format_plain, to_csv, to_json
from localcdap.text import plural
from localcdap.tui.dialogs.dialog_screen import TextDialog
from localcdap.tui.records.columns import (
    ColumnProfile,
    ColumnProfileView,
    Frequency,
    RecordArrangement,
    ValueCounts,
    ValueFilter,
    arrange,
    build_frequency_dialog,
    count_keys,
    get_key,
    list_keys,
    profile_column,
    take,
)
from localcdap.tui.records.grid import RecordGrid, RowNumbers
from localcdap.tui.records.values import (
    build_table,
    escape_unprintable,
    format_arrow_type,
    format_cell,
    format_full,
)
from localcdap.tui.service_calls import deliver
from localcdap.tui.studio import ExplainedActions

if TYPE_CHECKING:
    import pyarrow as pa


_ARRANGES: Final = ("order", "keep", "unfilter", "frequency")
_NEEDS_COLUMNS: Final = ("order", "copy_csv", "copy_json")
_NEEDS_RECORDS: Final = (
    "keep",
    "frequency",
    "copy_cell",
    "copy_row",
    "copy_column",
    "detail",
    "search",
    "find",
    "profile",
)
MOST_ROWS: Final = 10_000
"""The most rows of a table that are shown; the note below says how many there are."""


class RecordTable(ExplainedActions, Vertical):
    """A table of records, with a note below; :meth:`show` and :meth:`show_records` replace it."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "detail", "whole value", id="records.detail"),
        Binding("o", "order", "order", id="records.order"),
        Binding("equals_sign", "keep(True)", "only this value", id="records.keep"),
        Binding("minus", "keep(False)", "without this value", id="records.leave_out", show=False),
        Binding("backspace", "unfilter", "take the filter back", id="records.unfilter", show=False),
        Binding("F", "frequency", "frequencies", id="records.frequency"),
        Binding("slash", "search", "search", id="records.search"),
        Binding("n", "find(1)", "next match", id="records.next", show=False),
        Binding("N", "find(-1)", "previous match", id="records.previous", show=False),
        Binding("p", "profile", "profile", id="records.profile"),
        Binding("y", "copy_cell", "copy cell", id="records.copy_cell"),
        Binding("Y", "copy_row", "copy row", id="records.copy_row", show=False),
        Binding("c", "copy_column", "copy column", id="records.copy_column", show=False),
        Binding("a", "copy_csv", "copy all as CSV", id="records.copy_csv", show=False),
        Binding("A", "copy_json", "copy all as JSON", id="records.copy_json", show=False),
    ]
    DEFAULT_CSS = """
    RecordTable { height: 1fr; }
    RecordTable > Horizontal { height: 1fr; }
    RecordTable .note { height: 1; color: $text-muted; padding: 0 1; }
    RecordTable .search { display: none; border: none; height: 1; padding: 0 1; background: $surface; }
    RecordTable .search.-open { display: block; }
    RecordTable ColumnProfileView { display: none; }
    RecordTable ColumnProfileView.-open { display: block; }
    """

    class Copied(Message):
        """Something was copied to the clipboard.

        :param what: what was copied, in words, such as ``row 3``.
        """

        def __init__(self, what: str, text: str) -> None:
            super().__init__()
            self.what = what
            self.text = text

    def __init__(self, id: str | None = None, classes: str | None = None) -> None:
        super().__init__(id=id, classes=classes)
        self._data: pa.Table | None = None
        """All records, as they came."""
        self._limit_note = ""
        self._arrangement = RecordArrangement()

    def compose(self) -> ComposeResult:
        grid = self.make_grid()
        with Horizontal(classes="cells"):
            yield RowNumbers(grid)
            yield grid
            yield ColumnProfileView()
        yield Input(placeholder="search in all columns", classes="search", compact=True)
        yield Static("", markup=False, classes="note")

    def make_grid(self) -> RecordGrid:
        """Return the grid; called once."""
        return RecordGrid()

    @property
    def grid(self) -> RecordGrid:
        return self.query_one(RecordGrid)

    @property
    def table(self) -> pa.Table | None:
        """The records that are shown, of at most the first :data:`MOST_ROWS`."""
        return self.grid.table

    @property
    def note(self) -> str:
        """The text below the table."""
        return str(self.query_one(".note", Static).content)

    def show(self, data: pa.Table | pa.RecordBatch, limit_note: str = "") -> None:
        """Show a table. Column names may occur twice.

        :param limit_note: says which part of the data this is, such as ``the first 1,000 of 25,312 records``.
        """
        import pyarrow as pa

        table = pa.Table.from_batches([data]) if isinstance(data, pa.RecordBatch) else data
        self._show_table(table, limit_note)

    def show_records(
        self, records: Sequence[Any], schema: Schema | None = None, limit_note: str = ""
    ) -> None:
        """Show JSON records (:mod:`localcdap.api.record_json`); a thread builds their table.

        :param schema: the schema of the records; without it the types are guessed.
        """
        given = list(records[:MOST_ROWS])
        if len(records) > MOST_ROWS and not limit_note:
            limit_note = _format_limit_note(len(records))

        def build() -> None:
            table = build_table(given, schema)
            if not get_current_worker().is_cancelled:
                deliver(self, lambda: self._show_table(table, limit_note))

        self.run_worker(build, thread=True, exclusive=True, group="records")

    @property
    def column(self) -> str | None:
        """The name of the column under the cursor; None without records."""
        at, table = self._get_cursor(), self.table
        return None if at is None or table is None else str(table.column_names[at.column])

    def set_note(self, note: str) -> None:
        """Change the text below the table."""
        self.query_one(".note", Static).update(note)

    def clear(self, note: str = "") -> None:
        """Show only a note."""
        import pyarrow as pa

        self.workers.cancel_group(self, "records")
        self._show_table(pa.table({}), note)

    def _show_table(self, table: pa.Table, limit_note: str) -> None:
        if not self.is_mounted:
            return
        if table.num_rows > MOST_ROWS:
            limit_note = limit_note or _format_limit_note(table.num_rows)
            table = table.slice(0, MOST_ROWS)
        self._data, self._limit_note = table, limit_note
        self._show_arranged(RecordArrangement())

    def _show_arranged(self, arrangement: RecordArrangement) -> None:
        """Show the records in another order, or others of them."""
        data, self._arrangement = self._data, arrangement
        if data is None:
            return
        places = arrange(data, arrangement) if arrangement != RecordArrangement() else None
        shown = data if places is None else take(data, places)
        first = self.first_number
        numbers = range(data.num_rows) if places is None else places
        self.grid.show_table(shown, [first + number for number in numbers])
        self.query_one(".cells").display = data.num_columns > 0
        count = plural(data.num_rows, "record")
        if shown.num_rows < data.num_rows:
            count = f"{shown.num_rows:,} of {count}"
        counts = f"{count} · {plural(data.num_columns, 'column')}" if data.num_columns else ""
        parts = (counts, arrangement.describe(data.column_names), self._limit_note)
        self.set_note(" · ".join(filter(None, parts)))
        self._update_profile()

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        if action in _ARRANGES and self._data is None:
            return False  # a subclass shows its own rows
        return super().check_action(action, parameters)

    def explain_disabled(self, action: str) -> str | None:
        """Return why a key does nothing now; None when it works."""
        if action in _NEEDS_COLUMNS and (self.table is None or not self.table.num_columns):
            return "there are no records"
        if action in _NEEDS_RECORDS and self._get_cursor() is None:
            return "there are no records"
        if action == "unfilter" and not self.is_filtered:
            return "all records are shown"
        if action == "find" and not self.query_one(".search", Input).value:
            return "there is no search text"
        return None

    # -- order and filters: a subclass that shows a part of its records overrides what they do ---------

    @property
    def first_number(self) -> int:
        """The number of the first record."""
        return 1

    @property
    def is_filtered(self) -> bool:
        """Whether there is a filter that can be taken back."""
        return bool(self._arrangement.filters)

    def order_by(self, column: int) -> None:
        """ColumnOrder by a column: ascending, then descending, then as before."""
        self._show_arranged(self._arrangement.cycle_order(column))

    def filter_by(self, column: int, value: str | None, *, is_kept: bool) -> None:
        """Show only the records with a value in a column, or only those without it.

        :param value: the value as text; None for null.
        """
        self._show_arranged(self._arrangement.add_filter(ValueFilter(column, value, is_kept)))

    def unfilter(self) -> None:
        """Take the newest filter back."""
        self._show_arranged(self._arrangement.drop_filter())

    def count_values(self, column: int) -> None:
        """Show the frequencies of the values of a column."""
        if self.table is not None:
            self.show_frequencies(column, count_keys(list_keys(self.table, column)))

    def show_frequencies(self, column: int, counts: ValueCounts) -> None:
        """Show frequencies in a dialog, whose answer filters the records."""

        def keep(chosen: Frequency | None) -> None:
            if chosen is not None:
                self.filter_by(column, chosen[0], is_kept=True)

        name = self._get_column_name(column)
        self.app.push_screen(build_frequency_dialog(name, counts), keep)

    def action_order(self) -> None:
        if self.table is not None and self.table.num_columns:
            self.order_by(min(self.grid.cursor_coordinate.column, self.table.num_columns - 1))

    def action_keep(self, is_kept: bool) -> None:
        at = self._get_cursor()
        if at is not None:
            self.filter_by(at.column, get_key(self.grid.get_value(*at)), is_kept=is_kept)

    def action_unfilter(self) -> None:
        self.unfilter()

    def action_frequency(self) -> None:
        at = self._get_cursor()
        if at is not None:
            self.count_values(at.column)

    # -- copying -------------------------------------------------------------------------------

    def action_copy_cell(self) -> None:
        at = self._get_cursor()
        if at is not None:
            self._copy(
                f"cell {self._get_column_name(at.column)}", format_plain(self.grid.get_value(*at))
            )

    def action_copy_row(self) -> None:
        at, table = self._get_cursor(), self.table
        if at is not None and table is not None:
            row = [self.grid.get_value(at.row, column) for column in range(table.num_columns)]
            text = to_json(table.column_names, [row]).strip("[\n ]")
            self._copy(f"row {self.grid.numbers[at.row]}", text)

    def action_copy_column(self) -> None:
        at = self._get_cursor()
        if at is not None:
            values = self.grid.get_column_at(at.column)
            self._copy(
                f"column {self._get_column_name(at.column)}", "\n".join(map(format_plain, values))
            )

    def action_copy_csv(self) -> None:
        self._copy_all("CSV", to_csv)

    def action_copy_json(self) -> None:
        self._copy_all("JSON", to_json)

    def _copy_all(self, what: str, write: Any) -> None:
        table = self.table
        if table is None or not table.num_columns:
            return
        columns = [self.grid.get_column_at(place) for place in range(table.num_columns)]
        text = write(table.column_names, zip(*columns, strict=True))
        self._copy(f"{table.num_rows:,} records as {what}", text)

    def _copy(self, what: str, text: str) -> None:
        self.app.copy_to_clipboard(text)
        self.post_message(self.Copied(what, text))
        self.notify(f"Copied {what}.", timeout=2, markup=False)

    # -- viewing ---------------------------------------------------------------------------------

    def action_detail(self) -> None:
        at = self._get_cursor()
        if at is not None:
            assert self.table is not None
            type = format_arrow_type(self.table.schema.field(at.column).type)
            position = f"row {self.grid.numbers[at.row]}, {self._get_column_name(at.column)}"
            value = self.grid.get_value(*at)
            text = "null" if value is None else escape_unprintable(format_full(value))
            self.app.push_screen(TextDialog(f"{position} · {type}", text, "value"))

    @on(RecordGrid.CellSelected)
    def _on_cell_selected(self, event: RecordGrid.CellSelected) -> None:
        event.stop()
        self.action_detail()

    def action_search(self) -> None:
        search = self.query_one(".search", Input)
        search.add_class("-open")
        search.focus()

    @on(Input.Submitted)
    def _on_search_submitted(self, event: Input.Submitted) -> None:
        event.stop()
        self.grid.focus()
        self.action_find(1)

    def on_key(self, event: Any) -> None:
        search = self.query_one(".search", Input)
        if event.key == "escape" and search.has_focus:
            event.stop()
            search.remove_class("-open")
            self.grid.focus()

    def action_find(self, step: int) -> None:
        """Go to the next cell that contains the search text; -1 searches backwards. The search wraps."""
        text = self.query_one(".search", Input).value.casefold()
        at, table = self._get_cursor(), self.table
        if not text or at is None or table is None:
            return
        rows, columns = table.num_rows, table.num_columns
        shown = [
            [format_cell(v).casefold() for v in self.grid.get_column_at(c)] for c in range(columns)
        ]
        start = at.row * columns + at.column
        for far in range(1, rows * columns + 1):
            row, column = divmod((start + step * far) % (rows * columns), columns)
            if text in shown[column][row]:
                if far == rows * columns:
                    self.notify(f"Only this cell contains '{text}'.", timeout=3, markup=False)
                self.grid.move_cursor(row=row, column=column)
                return
        self.notify(f"No cell contains '{text}'.", timeout=3, markup=False)

    # -- profiles -------------------------------------------------------------------------------

    def action_profile(self) -> None:
        """Show or hide the profile of the column under the cursor."""
        self.query_one(ColumnProfileView).toggle_class("-open")
        self._update_profile()

    @on(RecordGrid.CellHighlighted)
    def _on_cursor_moved(self, event: RecordGrid.CellHighlighted) -> None:
        event.stop()
        self._update_profile()

    def _update_profile(self) -> None:
        view, at, table = self.query_one(ColumnProfileView), self._get_cursor(), self.table
        self.workers.cancel_group(self, "profile")  # it may be that of another table
        if not view.has_class("-open") or at is None or table is None:
            view.update("")
            return
        name, column = self._get_column_name(at.column), table.column(at.column)
        worker = partial(self._compute_profile, name, column)
        self.run_worker(worker, thread=True, exclusive=True, group="profile")

    def _compute_profile(self, name: str, column: pa.ChunkedArray) -> None:
        profile = profile_column(name, column)
        if not get_current_worker().is_cancelled:
            deliver(self, lambda: self._show_profile(profile))

    def _show_profile(self, profile: ColumnProfile) -> None:
        if self.is_mounted:
            self.query_one(ColumnProfileView).show(profile)

    def _get_cursor(self) -> Coordinate | None:
        table = self.table
        if table is None or not table.num_rows or not table.num_columns:
            return None
        at = self.grid.cursor_coordinate
        return Coordinate(min(at.row, table.num_rows - 1), min(at.column, table.num_columns - 1))

    def _get_column_name(self, column: int) -> str:
        assert self.table is not None
        return format_cell(self.table.column_names[column])


def _format_limit_note(count: int) -> str:
    return f"the first {MOST_ROWS:,} of {count:,}"
