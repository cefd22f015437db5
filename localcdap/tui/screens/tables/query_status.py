"""The widget that runs one query at a time, can cancel it, and shows its state."""

from __future__ import annotations

import time
import uuid

from textual.message import Message
from textual.timer import Timer
from textual.widgets import Static

from localcdap.api.errors import LocalcdapError
from localcdap.datasets.sql import SqlRequest, SqlResult
from localcdap.host.cdap import Cdap
from localcdap.text import plural
from localcdap.tui.studio import StudioNode


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
