"""The screen of the data area: the tables there are, their rows, SQL on them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import ClassVar

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, VerticalScroll
from textual.content import Content
from textual.widgets import Static, TabbedContent, TabPane

from localcdap.datasets.sql import SqlTable
from localcdap.tui.area_screen import AreaScreen
from localcdap.tui.lists.changes import watch_topics
from localcdap.tui.lists.filtered_list import FilteredList, ListEntry
from localcdap.tui.screens.tables.browser import TableBrowser
from localcdap.tui.screens.tables.completion import quote_identifier
from localcdap.tui.screens.tables.console import SqlConsole
from localcdap.tui.screens.tables.editor import QueryEditor

_EMPTY = "No tables yet.\n\nA Table sink of a pipeline writes one; so do system applications."


class TablesScreen(AreaScreen):
    """Tables on the left; rows, columns and SQL on the right."""

    AREA = "data"
    CSS_PATH = "tables.tcss"
    HORIZONTAL_BREAKPOINTS = [(0, "-narrow"), (110, "-wide")]
    AUTO_FOCUS = "#tables OptionList"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("b", "tab('rows')", "rows", id="data.rows"),
        Binding("s", "tab('columns')", "columns", id="data.columns", show=False),
        Binding("q", "tab('sql')", "SQL", id="data.sql"),
        Binding("escape", "leave", "to the tables", id="data.leave", show=False),
    ]

    def __init__(self) -> None:
        super().__init__()
        self._tables: dict[str, SqlTable] = {}

    def compose_body(self) -> ComposeResult:
        with Horizontal(id="data"):
            yield FilteredList(id="tables", empty=_EMPTY)
            with TabbedContent(id="data-tabs", initial="rows-tab"):
                with TabPane("Rows", id="rows-tab"):
                    yield TableBrowser(id="browser")
                with TabPane("Columns", id="columns-tab"), VerticalScroll():
                    yield Static(id="columns")
                with TabPane("SQL", id="sql-tab"):
                    yield SqlConsole(id="console")

    def on_mount(self) -> None:
        self.follow(watch_topics("runs", "entities"), self._changed)

    def show_namespace(self, namespace: str) -> None:
        self.reload()

    def _changed(self, happened: bool) -> None:
        if happened:
            self._list(self._fill)

    def reload(self) -> None:
        self._list(self._fill_anew)

    def _list(self, done: Callable[[Sequence[SqlTable]], None]) -> None:
        self.call(lambda cdap: cdap.sql.list_tables(), on_result=done, group="tables")

    def _fill_anew(self, tables: Sequence[SqlTable]) -> None:
        """Read the rows again too, whatever is known of the table."""
        self.query_one(TableBrowser).forget_table()
        self._fill(tables)

    def action_tab(self, name: str) -> None:
        self.query_one(TabbedContent).active = f"{name}-tab"
        if name == "rows":
            self.query_one(TableBrowser).query_one("#rows").query_one("RecordGrid").focus()
        elif name == "sql":
            self.query_one(QueryEditor).area.focus()

    def action_leave(self) -> None:
        """Out of what is typed in, so that keys are keys again."""
        self.query_one("#tables").query_one("OptionList").focus()

    def _fill(self, tables: Sequence[SqlTable]) -> None:
        here = self.studio.namespace
        ordered = sorted(tables, key=lambda table: table.schema != here)
        self._tables = {table.identifier: table for table in ordered}
        listing = self.query_one("#tables", FilteredList)
        listing.put([_entry(table) for table in ordered])
        self.query_one(SqlConsole).serve(ordered, here)
        self._show(listing.key)

    @on(FilteredList.Highlighted, "#tables")
    def _highlighted(self, event: FilteredList.Highlighted) -> None:
        event.stop()
        self._show(event.key)

    @on(FilteredList.Chosen, "#tables")
    def _chosen(self, event: FilteredList.Chosen) -> None:
        event.stop()
        table = self._tables.get(event.key)
        if table is not None and self.query_one(TabbedContent).active == "sql-tab":
            self.query_one(QueryEditor).area.insert(_name(table, self.studio.namespace))
            self.action_tab("sql")
        else:
            self.action_tab("rows")

    def _show(self, key: str | None) -> None:
        table = self._tables.get(key) if key is not None else None
        self.query_one("#columns", Static).update(_columns(table))
        self.query_one(TableBrowser).show(table)
        if table is not None:
            self.query_one(SqlConsole).write(
                f"SELECT *\nFROM {_name(table, self.studio.namespace)};\n"
            )


def _entry(table: SqlTable) -> ListEntry:
    group = "system applications" if table.schema == "structured" else f"namespace {table.schema}"
    words = " ".join(column.name for column in table.columns)
    return ListEntry(table.identifier, table.name, hint=f"{table.rows:,}", group=group, words=words)


def _name(table: SqlTable, namespace: str) -> str:
    if table.schema == namespace:
        return quote_identifier(table.name)
    return f"{quote_identifier(table.schema)}.{quote_identifier(table.name)}"


def _columns(table: SqlTable | None) -> Content:
    if table is None:
        return Content("")
    width = max(len(column.name) for column in table.columns)
    lines = [
        Content.assemble(
            f"{column.name:<{width}}  ",
            Content.styled(column.type, "$foreground 60%"),
            Content.styled("  key", "$text-accent") if column.name in table.key else "",
        )
        for column in table.columns
    ]
    return Content("\n").join(lines)
