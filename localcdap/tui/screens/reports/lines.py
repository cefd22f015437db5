"""The lines of the reports screen, and its calendar."""

from __future__ import annotations

import datetime
from collections.abc import Sequence
from typing import Final

from textual.content import Content

from localcdap.runs.statistics.documents import draw_bars, format_rate, format_stage_time
from localcdap.runs.statistics.model import (
    AlertingStage,
    DayTotals,
    FailureReason,
    PipelineOverview,
    RunOverview,
    SlowStage,
)
from localcdap.schedules.model import PlannedTime
from localcdap.text import format_duration, plural
from localcdap.tui.labels import MUTED, RUN_MARKS, sanitize_lines, sanitize_name
from localcdap.tui.log.layout import fit_to_width

POINTS: Final = 20
"""The parts of the window in each chart of a pipeline, one cell each."""
_RUNS: Final = 6
_RATE: Final = 8
_MEDIAN: Final = 12
_RECORDS: Final = 8
_LEAST_NAME: Final = 12
_GOOD: Final = 0.95


class PipelineColumns:
    """The widths of the columns of pipelines; charts that have no space are left out.

    :param width: that of the list, in cells.
    """

    def __init__(self, width: int) -> None:
        rest = width - 3 - _RUNS - _RATE - _MEDIAN
        self.has_durations: Final = rest - POINTS - 1 >= _LEAST_NAME
        rest -= POINTS + 1 if self.has_durations else 0
        self.has_records: Final = rest - POINTS - _RECORDS - 2 >= _LEAST_NAME
        rest -= POINTS + _RECORDS + 2 if self.has_records else 0
        self.name: Final = max(_LEAST_NAME, rest)

    def format_header(self) -> str:
        """Return the names of the columns."""
        parts = [
            f"   {'pipeline':{self.name}}{'runs':>{_RUNS}}{'success':>{_RATE}}{'median':>{_MEDIAN}}"
        ]
        if self.has_durations:
            parts.append(f" {'durations':{POINTS}}")
        if self.has_records:
            parts.append(f"{'records':>{_RECORDS}}  {'over time':{POINTS}}")
        return "".join(parts)

    def format_line(self, each: PipelineOverview) -> Content:
        """Return the line of a pipeline."""
        mark, style = RUN_MARKS[each.status]
        median = "" if each.median_ms is None else format_duration(0, each.median_ms)
        parts: list[str | tuple[str, str]] = [
            (f" {mark} ", style),
            fit_to_width(sanitize_name(each.pipeline), self.name),
            (f"{each.runs:>{_RUNS},}", MUTED),
            (f"{format_rate(each.success_rate):>{_RATE}}", get_rate_style(each.success_rate)),
            f"{median:>{_MEDIAN}}",
        ]
        if self.has_durations:
            values = [point.median_ms if point is not None else None for point in each.points]
            parts += [" ", (draw_bars(values), "$primary")]
        if self.has_records:
            values = [point.records if point is not None else None for point in each.points]
            records = "" if each.records is None else _shorten(each.records)
            parts += [(f"{records:>{_RECORDS}}  ", MUTED), (draw_bars(values), "$secondary")]
        return Content.assemble(*parts)


def get_rate_style(rate: float | None) -> str:
    """Return the style of a success rate."""
    if rate is None:
        return MUTED
    return "$success" if rate == 1 else "$warning" if rate >= _GOOD else "$error"


def format_title(overview: RunOverview | None, window: str, namespace: str) -> Content:
    """Return the line above everything: the window and its totals."""
    parts: list[str | tuple[str, str]] = [
        (f"{window}", "bold"),
        (f"  namespace {sanitize_name(namespace)}", MUTED),
    ]
    if overview is not None:
        totals = overview.totals
        parts.append(f"  {plural(totals.runs, 'run')}")
        if totals.failed:
            parts.append((f"  ✗ {totals.failed:,} failed", "$error"))
        if totals.active:
            parts.append((f"  ▶ {totals.active:,} active", "$primary"))
        rate = totals.success_rate
        if rate is not None:
            parts.append((f"  success {format_rate(rate)}", get_rate_style(rate)))
    return Content.assemble(*parts)


def format_failure(each: FailureReason, width: int) -> Content:
    """Return the two lines of a reason: what and how often, and where it happened last."""
    count = f"{each.runs:,}"
    where = sanitize_name(f"{each.pipeline} › {each.stage}" if each.stage else each.pipeline)
    message = (each.message or "").removeprefix(f"Stage '{each.stage}': ")
    message = sanitize_lines(message).partition("\n")[0]
    first = fit_to_width(f"✗ {each.reason}", max(8, width - len(count) - 1))
    return Content.assemble(
        (first, "$error"),
        (f" {count}", "bold"),
        ("\n" + fit_to_width(f"  {where}: {message}", width), MUTED),
    )


def format_stage(each: SlowStage, width: int) -> Content:
    """Return the line of a slow stage."""
    took = format_stage_time(each.average_ms)
    name = sanitize_name(f"{each.pipeline} › {each.stage}")
    return Content.assemble(
        fit_to_width(f"  {name}", max(8, width - len(took) - 1)), (f" {took}", "bold")
    )


def format_planned(each: PlannedTime, width: int) -> Content:
    """Return the line of a run that a schedule will start, with the time in the zone of this machine."""
    when = f"{datetime.datetime.fromtimestamp(each.time / 1000).astimezone():%a %Y-%m-%d %H:%M}"
    name = sanitize_name(f"{each.application} › {each.schedule}")
    return Content.assemble(
        fit_to_width(f"  {name}", max(8, width - len(when) - 1)), (f" {when}", MUTED)
    )


def format_alerts(each: AlertingStage, width: int) -> Content:
    """Return the line of a stage that has emitted alerts."""
    count = f"{each.alerts:,}"
    name = sanitize_name(f"{each.pipeline} › {each.stage}")
    return Content.assemble(
        fit_to_width(f"! {name}", max(8, width - len(count) - 1)), (f" {count}", "bold")
    )


def _shorten(number: int) -> str:
    """Return a number in at most five characters: 950, 12 k, 3.4 M."""
    for unit, size in (("G", 10**9), ("M", 10**6), ("k", 10**3)):
        if number >= size:
            amount = number / size
            return f"{amount:.1f} {unit}" if amount < 10 else f"{amount:.0f} {unit}"
    return str(number)


_WEEKDAYS: Final = ("Mo", "Tu", "We", "Th", "Fr", "Sa", "Su")
_LABEL: Final = 7
_CELL: Final = 5
_MOST_WEEKS: Final = 9
"""The most weeks that are shown, the last ones: with more, the failures below would leave the screen."""


def draw_calendar(days: Sequence[DayTotals]) -> Content:
    """Return a line for each week, with the number of runs of each day.

    A day with failures is red and has a ``✗``, which shows it without colour; a future or earlier day is
    blank, and one without runs is a dot.
    """
    by_day = {each.day: each for each in days}
    dates = [datetime.date.fromisoformat(each.day) for each in days]
    first = dates[0] - datetime.timedelta(days=dates[0].weekday())
    weeks = (dates[-1] - first).days // 7 + 1
    lines = [
        Content.styled(" " * _LABEL + "".join(f"{each:>{_CELL}}" for each in _WEEKDAYS), MUTED)
    ]
    for week in range(max(0, weeks - _MOST_WEEKS), weeks):
        begin = first + datetime.timedelta(weeks=week)
        cells = [
            _draw_day(by_day.get((begin + datetime.timedelta(days=each)).isoformat()))
            for each in range(7)
        ]
        label = Content.styled(f"{begin:%d %b} ".ljust(_LABEL), MUTED)
        lines.append(Content("").join([label, *cells]))
    return Content("\n").join(lines)


def _draw_day(day: DayTotals | None) -> Content:
    if day is None:
        return Content(" " * _CELL)
    if not day.runs:
        return Content.styled("·".rjust(_CELL), "$foreground 20%")
    count = f"{day.runs}" if day.runs < 1000 else f"{day.runs // 1000}k"
    if day.failed:
        return Content.styled(f"✗{count}".rjust(_CELL), "$error")
    return Content.styled(count.rjust(_CELL), "$success" if day.completed else "$foreground")
