"""The tables of a run: the counts of its stages, its arguments, alerts and expectations."""

from __future__ import annotations

import datetime
from collections.abc import Iterator, Sequence
from typing import Any, ClassVar, Final

from rich.text import Text
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.message import Message
from textual.strip import Strip
from textual.widgets import DataTable, Static

from localcdap.api.schema import Schema
from localcdap.engine.messages.samples import describe_totals
from localcdap.expectations.results import RuleResult, RuleTrend, describe_result
from localcdap.host.cdap import Cdap
from localcdap.runs.arguments import GIVEN
from localcdap.runs.history import RunPage, count_records_read
from localcdap.runs.model import (
    RECENT_RUNS,
    Run,
    StageCounts,
    StoredAlert,
    collect_run_trends,
    count_alerts,
    format_payload,
    get_now,
)
from localcdap.text import plural
from localcdap.tui.dialogs.dialog_screen import DialogScreen
from localcdap.tui.labels import RUN_MARKS, sanitize_name
from localcdap.tui.records.table import RecordTable
from localcdap.tui.records.values import build_table
from localcdap.tui.studio import StudioNode
from localcdap.tui.textual_internals.strips import mark_line


class PlainDataTable(DataTable[Text]):
    """A table without a frame, whose cursor is muted while the table has no focus."""

    DEFAULT_CSS = """
    PlainDataTable {
        height: 1fr;
        background: transparent;
        & > .datatable--header, & > .datatable--header:hover {
            background: transparent; color: $foreground 60%; text-style: none;
        }
        & > .datatable--cursor { background: $boost; color: $foreground; text-style: none; }
        & > .datatable--hover { background: $boost; }
        &:focus > .datatable--cursor {
            background: $primary 30%; color: $foreground; text-style: none;
        }
    }
    """

    def __init__(self) -> None:
        super().__init__(cursor_type="row")

    def render_line(self, y: int) -> Strip:
        line, row = super().render_line(y), y - self.header_height + self.scroll_offset.y
        is_current = y >= self.header_height and row == self.cursor_row and self.row_count
        return mark_line(line) if is_current else line


class StageTable(PlainDataTable):
    """The input, output and error records of each stage in topological order; the failed stage is marked."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "select_cursor", "log of the stage", id="runs.stage_log", show=False),
    ]

    class Chosen(Message):
        """A stage was chosen."""

        def __init__(self, stage: str) -> None:
            super().__init__()
            self.stage = stage

    def __init__(self) -> None:
        super().__init__()
        self._stages: list[str] = []

    @property
    def stage(self) -> str | None:
        """The stage under the cursor."""
        return self._stages[self.cursor_row] if self.cursor_row < len(self._stages) else None

    def on_mount(self) -> None:
        self.add_column("stage", key="stage")
        for name in ("in", "out", "errors"):
            self.add_column(Text(f"{name:>11}"), key=name, width=11)
        self.add_column("", key="more")

    def show_run(self, run: Run) -> None:
        """Show the stages of a run."""
        if self._stages != list(run.stages):
            self.clear()
            self._stages = list(run.stages)
            for number, stage in enumerate(self._stages):
                self.add_row(*_build_cells(run, stage), key=str(number))
            return
        for number, stage in enumerate(self._stages):
            for column, cell in zip(self.columns, _build_cells(run, stage), strict=True):
                if self.get_cell(str(number), column) != cell:
                    self.update_cell(str(number), column, cell, update_width=True)

    def on_data_table_row_selected(self, event: DataTable.RowSelected) -> None:
        event.stop()
        if self.stage is not None:
            self.post_message(self.Chosen(self.stage))


def _build_cells(run: Run, stage: str) -> Iterator[Text]:
    """Return the cells of a row."""
    counts = run.get_latest_counts(stage)
    has_failed = run.error is not None and run.error.stage == stage
    mark = f"{RUN_MARKS[run.status][0]} " if has_failed else "  "
    yield Text(mark + sanitize_name(stage), no_wrap=True)
    for number in (counts.records_in, counts.records_out, counts.errors):
        yield Text("-" if number is None else f"{number:,}", justify="right")
    yield Text(sanitize_name(", ".join(_list_more(run, stage, counts))))


def _list_more(run: Run, stage: str, counts: StageCounts) -> Iterator[str]:
    """Yield the numbers of what was noticed and of alerts, if there are any, and the metrics."""
    yield from describe_totals(values for values in run.altered if values.stage == stage)
    if counts.alerts:
        yield plural(counts.alerts, "alert")
    for name, number in (counts.metrics or {}).items():
        yield f"{name} {number:,}"


ORIGINS: Final = {
    GIVEN: "given for the run",
    "pipeline": "pipeline preference",
    "namespace": "namespace preference",
    "instance": "instance preference",
}


class ArgumentTable(PlainDataTable):
    """The name, the value and the origin of each argument."""

    def __init__(self) -> None:
        super().__init__()
        self._shown: tuple[dict[str, str], dict[str, str]] | None = None

    @property
    def value(self) -> str | None:
        """The value of the argument under the cursor."""
        values = list(self._shown[0].values()) if self._shown else []
        return values[self.cursor_row] if self.cursor_row < len(values) else None

    def on_mount(self) -> None:
        self.add_columns("argument", "value", "origin")

    def show_run(self, run: Run) -> None:
        """Show the arguments of a run."""
        if self._shown == (run.arguments, run.origins):
            return
        self._shown = run.arguments, run.origins
        self.clear()
        for name, value in run.arguments.items():
            origin = run.origins.get(name, "")
            self.add_row(_build_cell(name), _build_cell(value), Text(ORIGINS.get(origin, origin)))


def _build_cell(text: str) -> Text:
    return Text(sanitize_name(text), no_wrap=True)


class AlertTable(StudioNode, PlainDataTable):
    """The alerts of a run: the stage that emitted each, and what it says."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "select_cursor", "log of the stage", id="runs.alert_log", show=False),
    ]

    def __init__(self) -> None:
        super().__init__()
        self._shown: tuple[str, int] | None = None
        self._alerts: list[StoredAlert] = []

    def on_mount(self) -> None:
        self.add_columns("stage", "alert")

    def show_run(self, run: Run) -> None:
        """Read and show the alerts of a run, unless they are shown already."""
        shown = run.run, count_alerts(run)
        if self._shown == shown:
            return
        self._shown = shown
        self.clear()
        self.call(
            lambda cdap: cdap.runs.read_alerts(run.run),
            on_result=lambda alerts: self._fill(run, alerts),
            group="alerts",
        )

    def _fill(self, run: Run, alerts: list[StoredAlert]) -> None:
        if self._shown != (run.run, count_alerts(run)):
            return
        self._alerts = alerts
        self.clear()
        for alert in alerts:
            payload = Text(sanitize_name(format_payload(alert.payload)), no_wrap=True)
            self.add_row(Text(sanitize_name(alert.stage), no_wrap=True), payload)
        more = count_alerts(run) - len(alerts)
        if more > 0:
            self.add_row(Text("…"), Text(f"{plural(more, 'alert')} more, which are not kept"))

    def on_data_table_row_selected(self, event: DataTable.RowSelected) -> None:
        event.stop()
        if event.cursor_row < len(self._alerts):
            self.post_message(StageTable.Chosen(self._alerts[event.cursor_row].stage))


_BARS: Final = "▁▂▃▄▅▆▇█"
_WIDEST_TREND: Final = 12
"""The newest runs that a trend shows, one in each cell."""
_WHOLE: Final = 100
_Key = tuple[str, str]
"""The stage and the label of a rule."""


class ExpectationTable(StudioNode, PlainDataTable):
    """The rules of a run: what each expects, what was found, its trend, and what has changed."""

    def __init__(self) -> None:
        super().__init__()
        self._run: Run | None = None
        self._trends: dict[_Key, RuleTrend] = {}

    def on_mount(self) -> None:
        self.add_columns("stage", "expected", "found", "trend", "change")

    def show_run(self, run: Run) -> None:
        """Show the results of a run, and read those of the runs before."""
        if self._run is not None and (self._run.run, self._run.version) == (run.run, run.version):
            return
        self._run = run
        self._trends = {}
        self._fill(run)
        if run.expectations:
            self.call(
                lambda cdap: _read_runs(cdap, run),
                on_result=lambda runs: self._show_trends(run, runs),
                group="expectations",
            )

    def _show_trends(self, run: Run, runs: list[Run]) -> None:
        if self._run is not run:
            return
        until = [each for each in runs if each.starting <= run.starting and each.run != run.run]
        trends = collect_run_trends([*until, run])
        self._trends = {(t.stage, t.label): t for t in trends if t.runs[-1] == run.run}
        self._fill(run)

    def _fill(self, run: Run) -> None:
        row = self.cursor_row
        self.clear()
        for result in run.expectations:
            self.add_row(*self._build_cells(result))
        self.move_cursor(row=row)

    def _build_cells(self, result: RuleResult) -> Iterator[Text]:
        key = result.stage, result.label
        mark, style = ("✗", "yellow") if result.violations else ("✓", "green")
        yield Text(sanitize_name(result.stage), no_wrap=True)
        yield Text(sanitize_name(result.label), no_wrap=True)
        yield Text.assemble(
            (mark, "red" if result.is_failure else style), " ", describe_result(result)
        )
        trend = self._trends.get(key)
        yield Text("" if trend is None else draw_trend(trend.results), no_wrap=True)
        yield Text("" if trend is None else trend.describe_step(), no_wrap=True)


def draw_trend(results: list[RuleResult]) -> str:
    """Return the shares of violations over runs as bars, the newest at the right; a dot stands for none."""
    return "".join(_draw(result.share) for result in results[-_WIDEST_TREND:])


def _draw(share: float) -> str:
    return _BARS[min(len(_BARS) - 1, int(share / _WHOLE * len(_BARS)))] if share else "·"


def _read_runs(cdap: Cdap, run: Run) -> list[Run]:
    return cdap.runs.list_runs(run.namespace, pipeline=run.pipeline, limit=RECENT_RUNS)


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
