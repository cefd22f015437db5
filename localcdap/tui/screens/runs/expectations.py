"""The table of a run's expectations, with their trend over the runs before."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from rich.text import Text

from localcdap.expectations.results import RuleResult, RuleTrend, describe_result
from localcdap.host.cdap import Cdap
from localcdap.runs.expectations import RECENT_RUNS, collect_run_trends
from localcdap.runs.model import Run
from localcdap.tui.log.layout import sanitize_name
from localcdap.tui.screens.runs.tables import PlainDataTable
from localcdap.tui.studio import StudioNode

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
