"""The data screen: datasets, tables and views with their rows and columns, and an SQL console."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import ClassVar, Final, NamedTuple

from textual import on, work
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, VerticalScroll
from textual.content import Content
from textual.widgets import Static, TabbedContent, TabPane

from localcdap.api.errors import UnauthorizedError
from localcdap.api.metadata import MetadataEntity
from localcdap.datasets.model import DatasetDetail, DatasetSummary
from localcdap.datasets.sql import SqlTable
from localcdap.host.cdap import Cdap
from localcdap.text import sanitize_for_terminal
from localcdap.tui.area_screen import AreaScreen
from localcdap.tui.lists import FilteredList, ListEntry, watch_topics
from localcdap.tui.records.table import RecordTable
from localcdap.tui.routes import ExperimentTarget, LineageTarget, NavigationTarget, TableTarget
from localcdap.tui.screens.tables.browser import TableBrowser
from localcdap.tui.screens.tables.console import SqlConsole
from localcdap.tui.screens.tables.dataset_view import DatasetDialog, DatasetView
from localcdap.tui.screens.tables.editor import QueryEditor, quote_where_needed
from localcdap.tui.studio import choose_field

_STRUCTURED: Final = "structured"
"""The schema of the tables of system applications, which have no metadata."""
_EMPTY = (
    "No tables yet.\n\nThe sinks Table, KVTable, BigQueryTable and BigQueryMultiTable of pipelines write "
    "tables, and so do system applications."
)


class TablesScreen(AreaScreen):
    """Shows the tables on the left, and rows, columns and SQL on the right."""

    AREA = "data"
    CSS_PATH = "tables.tcss"
    AUTO_FOCUS = "#tables OptionList"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("b", "tab('rows')", "rows", id="data.rows"),
        Binding("s", "tab('columns')", "columns", id="data.columns", show=False),
        Binding("d", "tab('dataset')", "dataset", id="data.dataset"),
        Binding("q", "tab('sql')", "SQL", id="data.sql"),
        Binding("e", "change", "change the dataset", id="data.change"),
        Binding("W", "lineage", "lineage of a field", id="data.lineage"),
        Binding("M", "experiment", "experiment", id="data.experiment", show=False),
        Binding("escape", "leave", "back to the tables", id="data.leave", show=False),
    ]

    def __init__(self) -> None:
        super().__init__()
        self._tables: dict[str, SqlTable] = {}
        self._datasets: dict[str, DatasetSummary] = {}
        """The datasets of the namespace that have no table of their own name, by the key of their entry."""
        self._wanted: tuple[str, str] | None = None
        """The namespace and the name of the table to highlight when the tables are known."""

    def compose_body(self) -> ComposeResult:
        with Horizontal(id="data"):
            yield FilteredList(id="tables", empty=_EMPTY)
            with TabbedContent(id="data-tabs", initial="rows-tab"):
                with TabPane("Rows", id="rows-tab"):
                    yield TableBrowser(id="browser")
                with TabPane("Columns", id="columns-tab"), VerticalScroll():
                    yield Static(id="columns")
                with TabPane("Dataset", id="dataset-tab"):
                    yield DatasetView(id="dataset-view")
                with TabPane("SQL", id="sql-tab"):
                    yield SqlConsole(id="console")

    def on_mount(self) -> None:
        self.follow(watch_topics("runs", "entities"), lambda _: self._read_tables(self._fill))

    def show_target(self, target: NavigationTarget) -> None:
        if isinstance(target, TableTarget):
            self._wanted = target.namespace or self.studio.namespace, target.name
            self._read_tables(self._fill)

    def _show_wanted(self) -> None:
        """Highlight the table that was navigated to, as soon as the tables are known."""
        wanted, self._wanted = self._wanted, None
        if wanted is None:
            return
        tables = self._tables.values()
        found = next((each for each in tables if (each.schema, each.name) == wanted), None)
        if found is None:
            self.studio.explain_no_effect(f"there is no table {wanted[1]} in this instance")
        else:
            self.query_one("#tables", FilteredList).show(found.identifier)

    def show_namespace(self, namespace: str) -> None:
        self._read_tables(self._fill_with_stale_rows)

    def _read_tables(self, on_result: Callable[[_Contents], None]) -> None:
        namespace = self.studio.namespace
        self.call(lambda cdap: _read_contents(cdap, namespace), on_result=on_result, group="tables")

    def _fill_with_stale_rows(self, contents: _Contents) -> None:
        """Show the tables, and read the rows of the highlighted table again too."""
        self.query_one(TableBrowser).mark_stale()
        self._fill(contents)

    def action_tab(self, name: str) -> None:
        self.query_one(TabbedContent).active = f"{name}-tab"
        if name == "rows":
            self.query_one(TableBrowser).query_one("#rows").query_one("RecordGrid").focus()
        elif name == "sql":
            self.query_one(QueryEditor).area.focus()

    @property
    def _table(self) -> SqlTable | None:
        """The highlighted table, if it is one of a namespace."""
        table = self._tables.get(self.query_one("#tables", FilteredList).key or "")
        return None if table is None or table.schema == _STRUCTURED else table

    @property
    def entity(self) -> MetadataEntity | None:
        table, dataset = self._table, self._dataset
        if dataset is not None:
            return MetadataEntity.of_dataset(dataset.name, dataset.namespace)
        return MetadataEntity.of_dataset(table.name, table.schema) if table is not None else None

    @property
    def _dataset_name(self) -> tuple[str, str] | None:
        """The namespace and the name of the highlighted dataset; a view is none."""
        table, dataset = self._table, self._dataset
        if dataset is not None:
            return dataset.namespace, dataset.name
        return (table.schema, table.name) if table is not None and table.query is None else None

    @property
    def _dataset(self) -> DatasetSummary | None:
        """The highlighted dataset, if it has no table of its own name."""
        return self._datasets.get(self.query_one("#tables", FilteredList).key or "")

    def explain_disabled(self, action: str) -> str | None:
        """Return why a key does nothing now; None when it works."""
        if action == "experiment":
            namespace = self.studio.namespace
            is_here = self._table is not None and self._table.schema == namespace
            return None if is_here else "no table of this namespace is highlighted"
        if action == "change":
            return None if self._dataset_name else "no dataset is highlighted"
        if action == "lineage" and self.query_one("#console").has_focus_within:
            return "the records of a query belong to no dataset"
        is_unknown = action == "lineage" and self._table is None and self._dataset is None
        return "no table of a namespace is highlighted" if is_unknown else None

    def action_change(self) -> None:
        """Open the dialog that changes the schema and the properties of the highlighted dataset."""
        place = self._dataset_name
        if place is not None:
            self.call(
                lambda cdap: cdap.datasets.describe(*place),
                on_result=self._change_dataset,
                group="change",
            )

    def _change_dataset(self, detail: DatasetDetail) -> None:
        def read_again(has_changed: bool | None) -> None:
            if has_changed:
                self._read_tables(self._fill_with_stale_rows)

        self.app.push_screen(DatasetDialog(detail), read_again)

    @work
    async def action_lineage(self) -> None:
        """Show the lineage of the column under the cursor, else of a column that the user chooses."""
        table, rows = self._table, self.query_one(TableBrowser).query_one(RecordTable)
        if self._dataset is not None:
            self.studio.navigate(
                LineageTarget(self._dataset.name, namespace=self._dataset.namespace)
            )
        if table is None:
            return
        names = [column.name for column in table.columns]
        field = rows.column if rows.has_focus_within else await choose_field(self.studio, names)
        if field is not None:
            self.studio.navigate(LineageTarget(table.name, field or None, table.schema))

    def action_experiment(self) -> None:
        """Make an experiment of Analytics of the highlighted table."""
        table = self._table
        if table is not None:
            self.studio.navigate(ExperimentTarget(table=table.name))

    def action_leave(self) -> None:
        """Move the focus from a text field to the tables, so that keys are commands again."""
        self.query_one("#tables").query_one("OptionList").focus()

    def _fill(self, contents: _Contents) -> None:
        namespace = self.studio.namespace
        ordered = sorted(contents.tables, key=lambda table: table.schema != namespace)
        shown = self.query_one(TableBrowser).table
        if shown is not None and shown.query and ordered != list(self._tables.values()):
            self.query_one(
                TableBrowser
            ).mark_stale()  # the tables that the view reads may have changed
        self._tables = {table.identifier: table for table in ordered}
        listing = self.query_one("#tables", FilteredList)
        own = {table.name for table in ordered if table.schema == namespace}
        others = [each for each in contents.datasets if each.name not in own]
        self._datasets = {f"dataset {each.name}": each for each in others}
        # Entries of one group follow each other: the tables of the namespace come first.
        entries = [_build_entry(table) for table in ordered]
        entries[len(own) : len(own)] = [
            _build_dataset_entry(key, each) for key, each in self._datasets.items()
        ]
        listing.set_entries(entries)
        self._show_wanted()
        self.query_one(SqlConsole).set_tables(ordered, namespace)
        self._show(listing.key)

    @on(FilteredList.Highlighted, "#tables")
    def _show_highlighted(self, event: FilteredList.Highlighted) -> None:
        event.stop()
        self._show(event.key)

    @on(FilteredList.Chosen, "#tables")
    def _open_chosen(self, event: FilteredList.Chosen) -> None:
        event.stop()
        table = self._tables.get(event.key)
        if event.key in self._datasets:
            self.action_tab("dataset")
        elif table is not None and self.query_one(TabbedContent).active == "sql-tab":
            self.query_one(QueryEditor).area.insert(_format_name(table, self.studio.namespace))
            self.action_tab("sql")
        else:
            self.action_tab("rows")

    def _show(self, key: str | None) -> None:
        table = self._tables.get(key) if key is not None else None
        self.query_one("#columns", Static).update(_format_columns(table))
        self.query_one(TableBrowser).show(table)
        dataset = self._datasets.get(key) if key is not None else None
        if dataset is not None:
            self.query_one(DatasetView).show(dataset.namespace, dataset.name)
        else:
            is_own = table is not None and table.schema != _STRUCTURED and table.query is None
            self.query_one(DatasetView).show(
                table.schema if table is not None else "",
                table.name if table is not None and is_own else None,
            )
        if table is not None:
            self.query_one(SqlConsole).suggest(
                f"SELECT *\nFROM {_format_name(table, self.studio.namespace)};\n"
            )


class _Contents(NamedTuple):
    """What the list shows."""

    tables: Sequence[SqlTable]
    datasets: Sequence[DatasetSummary]


def _read_contents(cdap: Cdap, namespace: str) -> _Contents:
    try:
        datasets = cdap.datasets.list_datasets(namespace)
    except UnauthorizedError:
        datasets = []
    return _Contents(cdap.sql.list_tables(), datasets)


def _build_dataset_entry(key: str, dataset: DatasetSummary) -> ListEntry:
    return ListEntry(key, dataset.name, hint=dataset.type, group=f"namespace {dataset.namespace}")


def _build_entry(table: SqlTable) -> ListEntry:
    group = "system applications" if table.schema == "structured" else f"namespace {table.schema}"
    words = " ".join(column.name for column in table.columns)
    hint = "files" if table.is_file_set else "view"
    if table.rows is not None:
        hint = f"{table.rows:,}"
    return ListEntry(table.identifier, table.name, hint=hint, group=group, words=words)


def _format_name(table: SqlTable, namespace: str) -> str:
    """Return the name of a table in a query of a namespace."""
    if table.schema == namespace:
        return quote_where_needed(table.name)
    return f"{quote_where_needed(table.schema)}.{quote_where_needed(table.name)}"


def _format_columns(table: SqlTable | None) -> Content:
    if table is None:
        return Content("")
    width = max((len(column.name) for column in table.columns), default=0)
    lines = [
        Content.assemble(
            f"{column.name:<{width}}  ",
            Content.styled(column.type, "$foreground 60%"),
            Content.styled("  key", "$text-accent") if column.name in table.key else "",
        )
        for column in table.columns
    ]
    if table.problem is not None:
        lines.append(Content.styled(sanitize_for_terminal(table.problem), "$text-error"))
    if table.query is not None:
        query = Content.styled(sanitize_for_terminal(table.query), "$foreground 60%")
        lines += [Content(""), Content("view"), query]
    return Content("\n").join(lines)
