"""The rows of one table, a page at a time."""

from __future__ import annotations

from typing import ClassVar, Final

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.widgets import Input, Static

from localcdap.datasets.sql import SqlTable
from localcdap.tui.records.table import RecordTable
from localcdap.tui.screens.tables.completion import quote_identifier
from localcdap.tui.screens.tables.query_status import QueryStatus
from localcdap.tui.studio import StudioNode

PAGE: Final = 1000
"""Rows of a page."""


class TableBrowser(StudioNode, Vertical):
    """Shows a table: a condition in SQL, an order, pages. Every page is one query."""

    DEFAULT_CSS = """
    TableBrowser {
        & > #browser-title { height: 1; padding: 0 1; }
        & > #condition { height: 1; border: none; padding: 0 1; background: $surface; }
    }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("right_square_bracket", "page(1)", "next page", id="data.next", show=False),
        Binding("left_square_bracket", "page(-1)", "page before", id="data.previous", show=False),
        Binding("o", "order", "order by column", id="data.order"),
        Binding("w", "condition", "condition", id="data.condition"),
        Binding("escape", "back", "back", id="data.back", show=False),
    ]

    def __init__(self, id: str | None = None) -> None:
        super().__init__(id=id)
        self._table: SqlTable | None = None
        self._page = 0
        self._order: tuple[str, bool] | None = None
        self._is_last = True
        self._is_old = False

    def compose(self) -> ComposeResult:
        yield Static(id="browser-title")
        yield Input(placeholder="where … such as spent > 100", id="condition", compact=True)
        yield RecordTable(id="rows")
        yield QueryStatus(id="browser-line")

    @property
    def table(self) -> SqlTable | None:
        """What is shown."""
        return self._table

    @property
    def page(self) -> int:
        """From 0 on."""
        return self._page

    def show(self, table: SqlTable | None) -> None:
        """Show the first page of a table; of the one that is shown already the same page anew, when the
        table is another than it was.
        """
        before = self._table
        if table is not None and table == before and not self._is_old:
            return
        self._table, self._is_old = table, False
        if table is None:
            self.query_one(RecordTable).clear()
            self.query_one("#browser-title", Static).update("")
            return
        if before is None or before.identifier != table.identifier:
            self._page, self._order = 0, None
            with self.prevent(Input.Changed):
                self.query_one("#condition", Input).value = ""
        self._load()

    def forget_table(self) -> None:
        """Have the next :meth:`show` read the rows also of a table that looks unchanged."""
        self._is_old = True

    def statement(self) -> str:
        """The query of the page."""
        assert self._table is not None
        condition = self.query_one("#condition", Input).value.strip()
        where = f" WHERE ({condition}\n)" if condition else ""
        keys = [f"{quote_identifier(key)}" for key in self._table.key]
        if self._order is not None:
            name, is_descending = self._order
            keys.insert(0, f"{quote_identifier(name)}{' DESC' if is_descending else ''} NULLS LAST")
        order = f" ORDER BY {', '.join(keys)}" if keys else ""
        return f"FROM {self._table.identifier}{where}{order} LIMIT {PAGE + 1} OFFSET {self._page * PAGE}"

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        if not self.is_mounted:
            return None
        if action in ("order", "condition"):
            return True if self._table is not None else None
        if action == "page":
            allowed = self._page > 0 if parameters == (-1,) else not self._is_last
            return True if allowed else None
        if action == "back":
            return self.query_one(QueryStatus).running is not None or self._is_in_condition
        return True

    def explain_disabled(self, action: str) -> str | None:
        if self._table is None:
            return "there is no table"
        return "there are no more rows that way" if action == "page" else None

    def action_page(self, by: int) -> None:
        self._page += by
        self._load()

    def action_condition(self) -> None:
        self.query_one("#condition", Input).focus()

    def action_back(self) -> None:
        if not self.query_one(QueryStatus).cancel():
            self.query_one(RecordTable).grid.focus()

    def action_order(self) -> None:
        """Order by the column of the cursor, the other way round, or by the key again."""
        grid, assumed = self.query_one(RecordTable).grid, self._table
        if assumed is None or grid.table is None or not grid.table.num_columns:
            return
        name = grid.table.column_names[grid.cursor_coordinate.column]
        if self._order == (name, False):
            self._order = (name, True)
        else:
            self._order = None if self._order == (name, True) else (name, False)
        self._page = 0
        self._load()

    @property
    def _is_in_condition(self) -> bool:
        return self.query_one("#condition", Input).has_focus

    @on(Input.Submitted, "#condition")
    def _condition_given(self, event: Input.Submitted) -> None:
        event.stop()
        if self._table is not None:
            self._page = 0
            self._load()

    def _load(self) -> None:
        assert self._table is not None
        self._title(self._table)
        namespace = self._table.schema if self._table.schema != "structured" else "default"
        self.query_one(QueryStatus).ask(self.statement(), namespace, PAGE)

    def _title(self, table: SqlTable) -> None:
        parts = [f"{table.rows:,} rows"]
        if table.key:
            parts.append(f"key {', '.join(table.key)}")
        if self._order is not None:
            name, is_descending = self._order
            parts.append(f"by {name} {'↓' if is_descending else '↑'}")
        self.query_one("#browser-title", Static).update(
            Content.assemble(
                Content.styled(f"{table.schema}.{table.name}", "bold"),
                Content.styled(f"  {' · '.join(parts)}", "$foreground 60%"),
            )
        )

    @on(QueryStatus.Answered)
    def _show(self, event: QueryStatus.Answered) -> None:
        event.stop()
        rows = event.result.rows
        self._is_last = not event.result.truncated
        first = self._page * PAGE + 1
        ways = [
            way
            for way, is_open in (
                ("[ page before", self._page > 0),
                ("] next page", not self._is_last),
            )
            if is_open
        ]
        note = f"rows {first:,} to {first + rows - 1:,}" if rows else "no rows"
        self.query_one(RecordTable).show(event.result.to_table(), " · ".join([note, *ways]))
        self.query_one(QueryStatus).tell(f"✓ {event.result.seconds:.2f} s")
        self.refresh_bindings()
