"""The runs of each day as a calendar of weeks."""

from __future__ import annotations

import datetime
from collections.abc import Sequence
from typing import Final

from textual.content import Content

from localcdap.runs.statistics.model import DayTotals
from localcdap.tui.screens.details import MUTED

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
