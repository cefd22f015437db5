"""What the prep area shows of a sample: its title, rows under headers, and the profile of a column.

The headers say how good and how spread the values are.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from rich.align import Align
from rich.console import RenderableType
from rich.text import Text
from textual import on
from textual.content import Content
from textual.message import Message

from localcdap.connectors.all_records import SKIP_LINES
from localcdap.expectations.results import format_share
from localcdap.text import plural, sanitize_for_terminal
from localcdap.tui.labels import MUTED, sanitize_name
from localcdap.tui.records.columns import format_histogram
from localcdap.tui.records.grid import RecordGrid
from localcdap.tui.records.table import RecordTable
from localcdap.tui.screens.prep.source import PrepSource
from localcdap.workspace_views import (
    ColumnMeaning,
    ColumnView,
    RowChange,
    WorkspaceView,
)

NO_DATA: Final = "no data are open; o opens a file, t a table, c data of a connection"
"""Why keys do nothing before data are open."""
_QUALITY: Final = 10
"""Cells of a quality bar."""
_BARS: Final = 8
"""Bars of a distribution in a header."""


def format_title(source: PrepSource | None, view: WorkspaceView | None) -> Content:
    """Return the line above the grid: what the data are, and of how much they are a sample."""
    if source is None:
        return Content.assemble(
            ("Prep", "bold"),
            (f"  {NO_DATA}", MUTED),
        )
    parts = []
    if view is not None:
        sample = f"{view.record_count:,}"
        if view.description:
            sample = view.description
        elif view.total_count is None:
            sample = f"the first {sample} records"
        elif view.total_count > view.record_count:
            kind = "random" if source.seed is not None else "first"
            sample = f"the {kind} {sample} of {view.total_count:,} records"
        else:
            sample = plural(view.record_count, "record")
        columns = plural(view.column_count, "column")
        if view.column_count > len(view.columns):
            columns = f"the first {len(view.columns):,} of {columns}"
        parts = [sample, plural(view.row_count, "row"), columns]
        format = view.reading.get("format") if view.format is None else view.format.format
        if format:
            parts.append(format)
        reading = view.reading.get(SKIP_LINES, "0")
        skipped = int(reading) if view.format is None else view.format.skip_lines
        if skipped:
            parts.append(f"without the first {plural(skipped, 'line') if skipped > 1 else 'line'}")
        if view.unreadable:
            parts.append(f"{len(view.unreadable):,} unreadable")
    return Content.assemble(
        (sanitize_for_terminal(source.name), "bold"), (f"  {' · '.join(parts)}", MUTED)
    )


def build_label(column: ColumnView) -> Text:
    """Return the header of a column: name and type, the share of values, their distribution."""
    name = sanitize_name(column.name)
    text = Text.assemble((name, "bold"), " ", (column.type, "dim not bold"))
    profile = column.profile
    if profile is None:
        return text
    without = profile.nulls + profile.empty
    share = without / profile.rows if profile.rows else 0.0
    cells = 0 if not without else max(1, round(share * _QUALITY))
    text.append("\n").append("━" * (_QUALITY - cells), "green not bold")
    text.append("━" * cells, "red not bold")
    if without:
        text.append(f" {share:.0%} none" if share >= 0.005 else " <1% none", "dim not bold")
    if profile.distinct == profile.rows - profile.nulls:
        return text.append("\nunique", "dim not bold")
    text.append("\n").append(format_histogram(profile.bars[:_BARS]), "not bold")
    return text.append(f" {profile.distinct:,}", "dim not bold")


def format_column(column: ColumnView | None) -> Text:
    """Return what the values of a column are like."""
    profile = None if column is None else column.profile
    if column is None or profile is None:
        return Text("")
    text = Text.assemble(
        (sanitize_for_terminal(column.name), "bold"), " ", (column.type, "dim"), "\n"
    )
    if profile.meaning is not None:
        text.append(f"{format_meaning(profile.meaning)}; p protects it\n", "yellow")
    lines = [("values", f"{profile.rows - profile.nulls:,}"), ("null", f"{profile.nulls:,}")]
    if column.type == "string":
        lines.append(("blank", f"{profile.empty:,}"))
    lines.append(("distinct", f"{profile.distinct:,}"))
    if profile.lowest is not None and profile.highest is not None:
        lines += [("lowest", profile.lowest[:24]), ("highest", profile.highest[:24])]
    for name, value in lines:
        text.append(f"{name:<10}", "dim").append(f"{sanitize_for_terminal(value)}\n")
    frequent = profile.top[:8] if profile.distinct < profile.rows - profile.nulls else []
    forms = "forms"
    if profile.formed < profile.distinct:
        forms = f"forms of the {profile.formed} most frequent"
    for title, values in (("most frequent", frequent), (forms, profile.patterns)):
        most = max((each.count for each in values), default=1)
        if values:
            text.append(f"\n{title}\n", "dim")
        for each in values:
            bar = "▇" * max(1, round(each.count / most * 6))
            text.append(f"{bar:<6}", "green").append(f"{each.count:>6,} ", "dim")
            text.append(f"{sanitize_name(each.value)[:22]}\n")
    return text


def format_meaning(meaning: ColumnMeaning) -> str:
    """Return what the values of a column mean: ``looks like IBAN (98 %)``."""
    return f"looks like {meaning.label} ({format_share(100 * meaning.share)})"


def format_problems(view: WorkspaceView, directives: Sequence[str]) -> str:
    """Return what is wrong with a recipe, the errors first; "" when nothing is."""
    problems = sorted(view.problems, key=lambda each: each.is_warning)
    for each in problems:
        advice = f" Did you mean '{each.nearest}'?" if each.nearest else ""
        where = f"step {each.line}: " if len(directives) > 1 and each.line else ""
        return f"{where}{each.message}.{advice}".replace("..", ".")
    return ""


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
