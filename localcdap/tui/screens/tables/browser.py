"""Browses the rows of a table page by page, with a condition and an order.

What orders, filters and counts the rows is SQL over all of them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar, Final, Protocol

from textual import on, work
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.widgets import Input, Static

from localcdap.api.sql_names import quote_literal
from localcdap.datasets.sql import SqlRequest, SqlResult, SqlTable
from localcdap.tui.labels import sanitize_name
from localcdap.tui.records.columns import ValueCounts, get_key
from localcdap.tui.records.table import RecordTable
from localcdap.tui.screens.tables.console import QueryStatus
from localcdap.tui.screens.tables.editor import quote_where_needed
from localcdap.tui.screens.tables.row_dialog import EditedRow, RowDialog, delete_row, open_row
from localcdap.tui.studio import StudioNode

PAGE: Final = 1000
"""The number of rows of a page."""
MOST_VALUES: Final = 1000
"""The most values of a column whose frequencies are shown."""
_NESTED: Final = ("STRUCT", "MAP", "UNION")
"""The beginnings of types whose values are not compared."""


class PagedRows(Protocol):
    """Reads the rows of a table page by page."""

    @property
    def table(self) -> SqlTable | None: ...

    @property
    def page(self) -> int: ...

    @property
    def is_filtered(self) -> bool: ...

    def order_by(self, name: str) -> None: ...

    def add_condition(self, condition: str) -> None: ...

    def drop_condition(self) -> None: ...

    def count_values(self, name: str, on_result: Callable[[SqlResult], None]) -> None: ...


class PageTable(StudioNode, RecordTable):
    """Shows a page; has ``rows`` as its id.

    :param rows: reads the rows.
    """

    def __init__(self, rows: PagedRows) -> None:
        super().__init__(id="rows")
        self._rows = rows

    @property
    def first_number(self) -> int:
        return self._rows.page * PAGE + 1

    @property
    def is_filtered(self) -> bool:
        return self._rows.is_filtered

    def order_by(self, column: int) -> None:
        self._rows.order_by(self._get_name(column))

    def filter_by(self, column: int, value: str | None, *, is_kept: bool) -> None:
        table = self._rows.table
        assert table is not None
        name = self._get_name(column)
        condition = build_condition(table, name, value, is_kept=is_kept)
        if condition is None:
            self.studio.explain_no_effect(
                f"values of {name} are not compared; w takes any condition", "filter by value"
            )
        else:
            self._rows.add_condition(condition)

    def unfilter(self) -> None:
        self._rows.drop_condition()

    def count_values(self, column: int) -> None:
        def show(result: SqlResult) -> None:
            rows = result.to_table().to_pylist()
            if rows:
                frequencies = [(get_key(row["value"]), row["count"]) for row in rows]
                counts = ValueCounts(frequencies, rows[0]["different"], int(rows[0]["records"]))
                self.show_frequencies(column, counts)

        self._rows.count_values(self._get_name(column), show)

    def _get_name(self, column: int) -> str:
        assert self.table is not None
        return str(self.table.column_names[column])


def build_count(table: SqlTable, name: str, where: str) -> str:
    """Return the query of the most frequent values of a column, and of how many values there are.

    :param where: the clause that selects the rows; empty for all rows.
    """
    column = quote_where_needed(name)
    return (
        f"FROM {table.identifier}{where} SELECT {column} AS value, count(*) AS count, "
        "count(*) OVER () AS different, sum(count(*)) OVER () AS records "
        f"GROUP BY {column} ORDER BY 2 DESC, 1 LIMIT {MOST_VALUES}"
    )


def build_condition(table: SqlTable, name: str, value: str | None, *, is_kept: bool) -> str | None:
    """Return the condition that a column has a value, or that it has another one.

    :param value: the value as text; None for null.
    :returns: None when values of that type are not compared.
    """
    column = quote_where_needed(name)
    if value is None:
        return f"{column} IS {'' if is_kept else 'NOT '}NULL"
    type = next(each.type for each in table.columns if each.name == name)
    if type.startswith(_NESTED) or type.endswith("]"):
        return None
    literal = quote_literal(value)
    if type == "BLOB":
        literal = f"from_base64({literal})"
    elif type != "VARCHAR":
        literal = f"CAST({literal} AS {type})"
    same = "=" if is_kept else "IS DISTINCT FROM"
    return f"{column} {same} {literal}"


_ROW_ACTIONS: Final = ("change_row", "new_row", "delete_row")


class TableBrowser(StudioNode, Vertical):
    """Shows the rows of a table. Every page is one query."""

    DEFAULT_CSS = """
    TableBrowser {
        & > #browser-title { height: 1; padding: 0 1; text-wrap: nowrap; text-overflow: ellipsis; }
        & > #condition { height: 1; border: none; padding: 0 1; background: $surface; }
    }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("right_square_bracket", "page(1)", "next page", id="data.next", show=False),
        Binding("left_square_bracket", "page(-1)", "previous page", id="data.previous", show=False),
        Binding("w", "condition", "filter rows", id="data.condition"),
        Binding("r", "change_row", "change row", id="data.change_row"),
        Binding("i", "new_row", "new row", id="data.new_row", show=False),
        Binding("x", "delete_row", "delete row", id="data.delete_row", show=False),
        Binding("escape", "back", "back", id="data.back", show=False),
    ]

    def __init__(self, id: str | None = None) -> None:
        super().__init__(id=id)
        self._table: SqlTable | None = None
        self._page = 0
        self._order: tuple[str, bool] | None = None
        self._conditions: list[str] = []
        """The conditions before each value that was filtered by, to take it back."""
        self._is_last = True
        self._is_stale = False
        """Whether the rows must be read again although the table looks unchanged."""

    def compose(self) -> ComposeResult:
        yield Static(id="browser-title")
        yield Input(placeholder="where … such as spent > 100", id="condition", compact=True)
        yield PageTable(self)
        yield QueryStatus(id="browser-line")

    @property
    def table(self) -> SqlTable | None:
        """The table that is shown."""
        return self._table

    @property
    def page(self) -> int:
        """The page that is shown, counted from 0."""
        return self._page

    def show(self, table: SqlTable | None) -> None:
        """Show the first page of a table. When the same table has changed, read its current page again."""
        before = self._table
        if table is not None and table == before and not self._is_stale:
            return
        self._table, self._is_stale = table, False
        if table is None:
            self.query_one(RecordTable).clear()
            self.query_one("#browser-title", Static).update("")
            return
        if before is None or before.identifier != table.identifier:
            self._page, self._order, self._conditions = 0, None, []
            with self.prevent(Input.Changed):
                self.query_one("#condition", Input).value = ""
        self._load()

    def mark_stale(self) -> None:
        """Let the next :meth:`show` read the rows even if the table looks unchanged."""
        self._is_stale = True

    def build_query(self) -> str:
        """Return the query of the current page."""
        assert self._table is not None
        keys = [f"{quote_where_needed(key)}" for key in self._table.key]
        if self._order is not None:
            name, is_descending = self._order
            keys.insert(
                0, f"{quote_where_needed(name)}{' DESC' if is_descending else ''} NULLS LAST"
            )
        order = f" ORDER BY {', '.join(keys)}" if keys else ""
        page = f"LIMIT {PAGE + 1} OFFSET {self._page * PAGE}"
        return f"FROM {self._table.identifier}{self._where}{order} {page}"

    @property
    def _where(self) -> str:
        condition = self.query_one("#condition", Input).value.strip()
        return f" WHERE ({condition}\n)" if condition else ""

    @property
    def _namespace(self) -> str:
        assert self._table is not None
        return self._table.schema if self._table.schema != "structured" else "default"

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        if not self.is_mounted:
            return None
        if action in _ROW_ACTIONS:
            return True if self.explain_disabled(action) is None else None
        if action == "condition":
            return True if self._table is not None else None
        if action == "page":
            allowed = self._page > 0 if parameters == (-1,) else not self._is_last
            return True if allowed else None
        if action == "back":
            return self.query_one(QueryStatus).running is not None or self._is_in_condition
        return True

    def explain_disabled(self, action: str) -> str | None:
        if self._table is None:
            return "no table is shown"
        if action in _ROW_ACTIONS:
            if self._table.is_file_set or self._table.query is not None:
                return "only rows of tables can be changed"
            if len(self._table.key) != 1 or self._table.schema == "structured":
                return "rows without a key of one column cannot be changed one by one"
            return None if action == "new_row" or self._has_rows else "there is no row"
        return "there are no more rows in that direction" if action == "page" else None

    def action_page(self, by: int) -> None:
        self._page += by
        self._load()

    def action_condition(self) -> None:
        self.query_one("#condition", Input).focus()

    def action_back(self) -> None:
        if not self.query_one(QueryStatus).cancel():
            self.query_one(RecordTable).grid.focus()

    def order_by(self, name: str) -> None:
        """Order by a column: ascending, then descending, then by the key again."""
        if self._order == (name, False):
            self._order = (name, True)
        else:
            self._order = None if self._order == (name, True) else (name, False)
        self._page = 0
        self._load()

    @property
    def is_filtered(self) -> bool:
        """Whether conditions were added that can be taken back."""
        return bool(self._conditions)

    def add_condition(self, condition: str) -> None:
        """Show only the rows for which a condition in SQL holds too."""
        field = self.query_one("#condition", Input)
        before = field.value.strip()
        self._conditions.append(before)
        self._set_condition(f"{before} AND {condition}" if before else condition)

    def drop_condition(self) -> None:
        """Take the newest added condition back."""
        if self._conditions:
            self._set_condition(self._conditions.pop())

    def count_values(self, name: str, on_result: Callable[[SqlResult], None]) -> None:
        """Count how often each value of a column occurs, in all rows that fulfil the condition."""
        assert self._table is not None
        sql = build_count(self._table, name, self._where)
        request = SqlRequest(sql, self._namespace, limit=MOST_VALUES)
        self.call(lambda cdap: cdap.sql.query(request), on_result=on_result, group="count")

    def _set_condition(self, text: str) -> None:
        self.query_one("#condition", Input).value = text
        self._page = 0
        self._load()

    def action_new_row(self) -> None:
        self._open_row(None)

    def action_change_row(self) -> None:
        self._open_row(self._get_key())

    @work
    async def action_delete_row(self) -> None:
        table, key = self._table, self._get_key()
        if table is None:
            return
        shown = sanitize_name(str(key))
        if await self.studio.confirm(f"Delete the row with {table.key[0]} {shown}?", table.name):
            self.call(
                lambda cdap: delete_row(cdap, open_row(cdap, table.schema, table.name, key)),
                on_result=lambda _: self._load(),
                group="row",
                ordered=True,
            )

    def _open_row(self, key: Any) -> None:
        """Read a row as it is now, and open it for a change; None: a new row."""
        table = self._table
        if table is None or self.explain_disabled("new_row") is not None:
            return
        self.call(
            lambda cdap: open_row(cdap, table.schema, table.name, key),
            on_result=self._edit,
            group="row",
        )

    def _edit(self, row: EditedRow) -> None:
        def read_again(has_changed: bool | None) -> None:
            if has_changed:
                self._load()

        self.app.push_screen(RowDialog(row), read_again)

    @property
    def _has_rows(self) -> bool:
        shown = self.query_one(RecordTable).table
        return shown is not None and shown.num_rows > 0

    def _get_key(self) -> Any:
        """Return the key of the row under the cursor."""
        assert self._table is not None
        grid = self.query_one(RecordTable).grid
        assert grid.table is not None
        return grid.table.column(self._table.key[0])[grid.cursor_coordinate.row].as_py()

    @property
    def _is_in_condition(self) -> bool:
        return self.query_one("#condition", Input).has_focus

    @on(Input.Submitted, "#condition")
    def _apply_condition(self, event: Input.Submitted) -> None:
        event.stop()
        if self._table is not None:
            self._page, self._conditions = 0, []
            self._load()

    def _load(self) -> None:
        assert self._table is not None
        self._show_title(self._table)
        self.query_one(QueryStatus).run(self.build_query(), self._namespace, PAGE)

    def _show_title(self, table: SqlTable) -> None:
        kind = "files" if table.is_file_set else "view"
        parts = [kind if table.rows is None else f"{table.rows:,} rows"]
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

    @on(QueryStatus.Succeeded)
    def _show_rows(self, event: QueryStatus.Succeeded) -> None:
        event.stop()
        rows = event.result.rows
        self._is_last = not event.result.truncated
        first = self._page * PAGE + 1
        keys = ["[ previous page"] * (self._page > 0) + ["] next page"] * (not self._is_last)
        note = f"rows {first:,} to {first + rows - 1:,}" if rows else "no rows"
        self.query_one(RecordTable).show(event.result.to_table(), " · ".join([note, *keys]))
        self.query_one(QueryStatus).show_text(f"✓ {event.result.seconds:.2f} s")
        self.refresh_bindings()
