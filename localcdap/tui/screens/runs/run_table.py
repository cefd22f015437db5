"""The filtered runs as a table of records, which can be ordered, filtered and counted by any column."""

from __future__ import annotations

import datetime
from collections.abc import Sequence
from typing import Any, ClassVar, Final

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.widgets import Static

from localcdap.api.schema import Schema
from localcdap.runs.history import RunPage, count_records_read
from localcdap.runs.model import Run, get_now
from localcdap.tui.dialogs.dialog_screen import DialogScreen
from localcdap.tui.records.table import RecordTable
from localcdap.tui.records.values import build_table

_SCHEMA: Final = Schema.record(
    "runs",
    [
        ("pipeline", Schema.STRING),
        ("status", Schema.STRING),
        ("started", Schema.DATETIME),
        ("seconds", Schema.DOUBLE),
        ("records", Schema.LONG.as_nullable),
        ("error", Schema.STRING.as_nullable),
        ("run", Schema.STRING),
    ],
)


class _Runs(RecordTable):
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "detail", "open the run", id="runs.open_row")
    ]

    def action_detail(self) -> None:
        at = self._get_cursor()
        if at is not None and self.table is not None:
            self.screen.dismiss(self.table.column("run")[at.row].as_py())


class RunTableDialog(DialogScreen[str | None]):
    """Lets its user look at many runs; the answer is the id of the run to open, None without one.

    :param page: the newest runs, and how many there are.
    """

    BINDINGS: ClassVar[list[BindingType]] = [Binding("q", "dismiss_empty", "back", show=False)]
    DEFAULT_CSS = """
    RunTableDialog > #dialog { width: 96%; height: 90%; }
    RunTableDialog #dialog-title { margin-bottom: 0; }
    """
    HAS_FOOTER = True
    AUTO_FOCUS = "RecordGrid"

    def __init__(self, page: RunPage) -> None:
        super().__init__()
        self._page = page

    def compose_body(self) -> ComposeResult:
        yield Static("Runs", id="dialog-title")
        yield _Runs()

    def on_mount(self) -> None:
        table, page = self.query_one(_Runs), self._page
        if not page.runs:
            table.clear("No run matches the filter.")
            return
        is_part = page.total > len(page.runs)
        note = f"the newest of {page.total:,} runs" if is_part else ""
        table.show(build_table(list_rows(page.runs), _SCHEMA), note)


def list_rows(runs: Sequence[Run]) -> list[dict[str, Any]]:
    """Return the rows of the table as JSON records."""
    return [_build_row(run, get_now() if run.end is None else run.end) for run in runs]


def _build_row(run: Run, end: int) -> dict[str, Any]:
    started = datetime.datetime.fromtimestamp(run.starting / 1000)
    return {
        "pipeline": run.pipeline,
        "status": run.status.lower(),
        "started": started.isoformat(timespec="seconds"),
        "seconds": (end - run.starting) / 1000,
        "records": count_records_read(run.stages),
        "error": run.error.message if run.error is not None else None,
        "run": run.run,
    }
