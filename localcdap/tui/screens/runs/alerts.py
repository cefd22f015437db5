"""The table of a run's alerts."""

from __future__ import annotations

from typing import ClassVar

from rich.text import Text
from textual.binding import Binding, BindingType
from textual.widgets import DataTable

from localcdap.runs.model import Run, StoredAlert, count_alerts, format_payload
from localcdap.text import plural
from localcdap.tui.log.layout import sanitize_name
from localcdap.tui.screens.runs.tables import PlainDataTable, StageTable
from localcdap.tui.studio import StudioNode


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
