"""The SQL console: an editor, the state of the query that runs and can be cancelled, and its rows."""

from __future__ import annotations

import time
import uuid
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, Final

from textual import on, work
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.message import Message
from textual.timer import Timer
from textual.widgets import Static

from localcdap.api.errors import BadRequestError, LocalcdapError, QueryError
from localcdap.datasets.sql import SqlRequest, SqlResult, SqlTable
from localcdap.files.result_files import SUFFIXES, write_result
from localcdap.host.cdap import Cdap
from localcdap.text import plural
from localcdap.tui.dialogs.chooser import Chooser
from localcdap.tui.records.table import RecordTable
from localcdap.tui.screens.tables.editor import QueryEditor
from localcdap.tui.studio import Choice, StudioNode

if TYPE_CHECKING:
    import pyarrow as pa


class QueryStatus(StudioNode, Static):
    """Runs one SQL query at a time; shows its time while it runs, then its number of rows or its error."""

    DEFAULT_CSS = """
    QueryStatus {
        height: auto; max-height: 4; padding: 0 1; color: $text-muted;
        &.-error { color: $text-error; }
    }
    """

    class Succeeded(Message):
        """A query has a result."""

        def __init__(self, line: QueryStatus, request: SqlRequest, result: SqlResult) -> None:
            super().__init__()
            self.line = line
            self.request = request
            self.result = result

        @property
        def control(self) -> QueryStatus:
            return self.line

    class Failed(Message):
        """A query has failed."""

        def __init__(self, line: QueryStatus, request: SqlRequest, error: LocalcdapError) -> None:
            super().__init__()
            self.line = line
            self.request = request
            self.error = error

        @property
        def control(self) -> QueryStatus:
            return self.line

    def __init__(self, id: str | None = None) -> None:
        super().__init__(id=id, markup=False)
        self._request: SqlRequest | None = None
        self._started = 0.0
        self._timer: Timer | None = None

    @property
    def running(self) -> SqlRequest | None:
        """The query that is running."""
        return self._request

    def on_mount(self) -> None:
        self._timer = self.set_interval(0.1, self._tick, pause=True)

    def run(self, sql: str, namespace: str, limit: int) -> None:
        """Run a query, and cancel the one that is running."""
        self.cancel()
        request = SqlRequest(sql, namespace, limit=limit, id=str(uuid.uuid4()))
        self._request, self._started = request, time.monotonic()
        self.remove_class("-error")
        if self._timer is not None:
            self._timer.resume()
        self.call(
            lambda cdap: _run_query(cdap, request),
            on_result=lambda result: self._end(request, result),
            group="query",
        )

    def cancel(self) -> bool:
        """Cancel the running query; return whether there was one."""
        request, self._request = self._request, None
        if request is None:
            return False
        self._stop_timer()
        self.show_text("Cancelled.")
        self.discard_results("query")
        self.call(lambda cdap: cdap.sql.cancel(request.id))
        return True

    def show_text(self, text: str, *, is_error: bool = False) -> None:
        """Show a text instead of the state of a query."""
        self.set_class(is_error, "-error")
        self.update(text)

    def _tick(self) -> None:
        seconds = time.monotonic() - self._started
        if self._request is not None and seconds > 0.2:
            self.update(f"◌ running {seconds:.1f} s · escape cancels")

    def _stop_timer(self) -> None:
        if self._timer is not None:
            self._timer.pause()

    def _end(self, request: SqlRequest, result: SqlResult | LocalcdapError) -> None:
        self._request = None
        self._stop_timer()
        if isinstance(result, LocalcdapError):
            self.show_text(f"✗ {result.full_message}", is_error=True)
            self.post_message(self.Failed(self, request, result))
            return
        more = f" · only the first {request.limit:,} rows are shown" if result.truncated else ""
        self.show_text(f"✓ {plural(result.rows, 'row')} in {result.seconds:.2f} s{more}")
        self.post_message(self.Succeeded(self, request, result))


def _run_query(cdap: Cdap, request: SqlRequest) -> SqlResult | LocalcdapError:
    try:
        return cdap.sql.query(request)
    except LocalcdapError as error:
        return error


ROW_LIMIT: Final = 10_000
"""The most rows of a result."""
_MOST_QUERIES: Final = 200
"""The most queries of the history."""


class SqlConsole(StudioNode, Vertical):
    """Runs read-only SQL and shows the result."""

    DEFAULT_CSS = """
    SqlConsole {
        & > QueryEditor { height: 40%; min-height: 5; max-height: 16; }
    }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "cancel", "cancel", id="sql.cancel", show=False),
        Binding("ctrl+e", "export", "save result", id="sql.export", priority=True),
        Binding("ctrl+g", "edit", "in $EDITOR", id="sql.edit", show=False),
    ]

    def __init__(self, id: str | None = None) -> None:
        super().__init__(id=id)
        self.history: list[str] = []
        self._suggested = ""
        """The query that the console wrote into the editor last."""

    def compose(self) -> ComposeResult:
        yield QueryEditor(id="sql-editor")
        yield QueryStatus(id="sql-line")
        yield RecordTable(id="sql-rows")

    def on_mount(self) -> None:
        self.history = self.studio.user_state.sql
        self._editor.history = self.history
        self.query_one(QueryStatus).show_text(
            f"F5 runs the query at the cursor, read-only · the first {ROW_LIMIT:,} rows are shown"
        )

    def set_tables(self, tables: Sequence[SqlTable], namespace: str) -> None:
        """Set the tables whose names are completed, and the namespace of names without a schema."""
        self._editor.tables = tables
        self._editor.namespace = namespace

    def suggest(self, sql: str) -> None:
        """Write a query into the editor, unless the user has written one."""
        if self._editor.area.text in ("", self._suggested):
            self._suggested = sql
            self._editor.replace_text(sql)

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        if action == "cancel" and self.is_mounted:
            return self.query_one(QueryStatus).running is not None
        return super().check_action(action, parameters)

    def explain_disabled(self, action: str) -> str | None:
        return "there is no result" if action == "export" and self._result is None else None

    def action_cancel(self) -> None:
        self.query_one(QueryStatus).cancel()

    @work
    async def action_edit(self) -> None:
        text = await self.studio.edit_text(self._editor.area.text, suffix=".sql")
        if text is not None:
            self._editor.replace_text(text)

    @work
    async def action_export(self) -> None:
        """Save the shown rows as CSV, JSON or Parquet."""
        table = self._result
        if table is None:
            return
        file = await self.studio.pick_file(
            "Save the result: .csv, .json or .parquet", suffixes=SUFFIXES, for_saving=True
        )
        if file is None:
            return
        self.call(
            lambda _: _save(table, file),
            on_result=lambda problem: self.studio.show_notice(
                problem or f"Saved {table.num_rows:,} rows.",
                str(file),
                "error" if problem else "information",
            ),
        )

    @on(QueryEditor.RunRequested)
    def _run(self, event: QueryEditor.RunRequested) -> None:
        event.stop()
        if event.sql:
            self._remember(event.sql)
        self.query_one(QueryStatus).run(event.positioned_sql, self._editor.namespace, ROW_LIMIT)

    @on(QueryStatus.Succeeded)
    def _show_rows(self, event: QueryStatus.Succeeded) -> None:
        event.stop()
        limit_note = f"only the first {event.request.limit:,}" if event.result.truncated else ""
        self.query_one(RecordTable).show(event.result.to_table(), limit_note)
        self.refresh_bindings()

    @on(QueryStatus.Failed)
    def _go_to_error(self, event: QueryStatus.Failed) -> None:
        event.stop()
        error = event.error
        if isinstance(error, QueryError) and error.line is not None:
            self._editor.go_to(error.line, error.column or 1)

    @on(QueryEditor.HistoryRequested)
    def _choose_query(self, event: QueryEditor.HistoryRequested) -> None:
        event.stop()
        choices = [Choice(" ".join(sql.split())[:200], sql, detail=sql) for sql in self.history]
        if not choices:
            self.studio.show_notice("The history has no queries yet.")
            return

        def use(sql: str | None) -> None:
            if sql is not None:
                self._editor.replace_text(sql)
                self._editor.area.focus()

        self.app.push_screen(Chooser(choices, title="Queries, newest first"), use)

    def _remember(self, sql: str) -> None:
        self.history[:] = [sql, *(each for each in self.history if each != sql)][:_MOST_QUERIES]
        self.studio.save_user_state()

    @property
    def _editor(self) -> QueryEditor:
        return self.query_one(QueryEditor)

    @property
    def _result(self) -> pa.Table | None:
        table = self.query_one(RecordTable).table
        return table if table is not None and table.num_columns else None


def _save(table: pa.Table, file: Path) -> str:
    """Write a file; return the error message, empty when there was none."""
    try:
        write_result(table, file)
    except BadRequestError as error:
        return error.full_message
    return ""
