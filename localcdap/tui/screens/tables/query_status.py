"""Runs one query after the other, tells how long one takes, and cancels it."""

from __future__ import annotations

import time
import uuid

from textual.message import Message
from textual.timer import Timer
from textual.widgets import Static

from localcdap.api.errors import LocalcdapError
from localcdap.datasets.sql import SqlRequest, SqlResult
from localcdap.host.cdap import Cdap
from localcdap.tui.studio import StudioNode


class QueryStatus(StudioNode, Static):
    """One line that tells of the query that runs, or ran last."""

    DEFAULT_CSS = """
    QueryLine {
        height: auto; max-height: 4; padding: 0 1; color: $text-muted;
        &.-wrong { color: $text-error; }
    }
    """

    class Answered(Message):
        """A query found something."""

        def __init__(self, line: QueryStatus, request: SqlRequest, result: SqlResult) -> None:
            super().__init__()
            self.line = line
            self.request = request
            self.result = result

        @property
        def control(self) -> QueryStatus:
            return self.line

    class Failed(Message):
        """A query was refused, wrong or cancelled."""

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
        self._begun = 0.0
        self._timer: Timer | None = None

    @property
    def running(self) -> SqlRequest | None:
        """The query that runs now."""
        return self._request

    def on_mount(self) -> None:
        self._timer = self.set_interval(0.1, self._tick, pause=True)

    def ask(self, sql: str, namespace: str, limit: int) -> None:
        """Run a query; one that runs is cancelled."""
        self.cancel()
        request = SqlRequest(sql, namespace, limit=limit, id=str(uuid.uuid4()))
        self._request, self._begun = request, time.monotonic()
        self.remove_class("-wrong")
        if self._timer is not None:
            self._timer.resume()
        self.call(
            lambda cdap: _answer(cdap, request),
            on_result=lambda found: self._end(request, found),
            group="query",
        )

    def cancel(self) -> bool:
        """End the query that runs; False when none does."""
        request, self._request = self._request, None
        if request is None:
            return False
        self._quiet("Cancelled.")
        self.discard_results("query")
        self.call(lambda cdap: cdap.sql.cancel(request.id))
        return True

    def tell(self, text: str, *, is_wrong: bool = False) -> None:
        self.set_class(is_wrong, "-wrong")
        self.update(text)

    def _tick(self) -> None:
        seconds = time.monotonic() - self._begun
        if self._request is not None and seconds > 0.2:
            self.update(f"◌ running {seconds:.1f} s · escape cancels")

    def _quiet(self, text: str) -> None:
        if self._timer is not None:
            self._timer.pause()
        self.tell(text)

    def _end(self, request: SqlRequest, found: SqlResult | LocalcdapError) -> None:
        self._request = None
        if isinstance(found, LocalcdapError):
            self._quiet("")
            self.tell(f"✗ {found.full_message}", is_wrong=True)
            self.post_message(self.Failed(self, request, found))
            return
        more = f" · only the first {request.limit:,} rows are shown" if found.truncated else ""
        count = f"{found.rows:,} row{'s' * (found.rows != 1)}"
        self._quiet(f"✓ {count} in {found.seconds:.2f} s{more}")
        self.post_message(self.Answered(self, request, found))


def _answer(cdap: Cdap, request: SqlRequest) -> SqlResult | LocalcdapError:
    try:
        return cdap.sql.query(request)
    except LocalcdapError as error:
        return error
