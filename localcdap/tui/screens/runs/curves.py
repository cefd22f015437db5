"""Curves of one row: the last runs of a pipeline, one column for each."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from textual.content import Content

from localcdap.engine.messages import RunStatus
from localcdap.runs.history import RunPoint
from localcdap.tui.words import RUN_MARKS

_BARS: Final = "▁▂▃▄▅▆▇█"
_NO_VALUE: Final = "·"

Value = Callable[[RunPoint], int | None]


def took(point: RunPoint) -> int | None:
    """Milliseconds."""
    return point.took_ms


def records(point: RunPoint) -> int | None:
    """Records that were read."""
    return point.records


def curve(points: Sequence[RunPoint], value: Value, width: int) -> Content:
    """The last values as bars from 0 on; a run that did not complete shows the sign of its state instead."""
    shown = points[-width:] if width > 0 else []
    known = [value(each) for each in shown if each.status is RunStatus.COMPLETED]
    highest = max((each for each in known if each is not None), default=0)
    parts: list[Content] = []
    for each in shown:
        if each.status is not RunStatus.COMPLETED:
            mark, style = RUN_MARKS[each.status]
            parts.append(Content.styled(mark, style))
        else:
            parts.append(Content.styled(_bar(value(each), highest), "$primary"))
    return Content("").join([Content(" " * (width - len(shown))), *parts])


def _bar(value: int | None, highest: int) -> str:
    if value is None:
        return _NO_VALUE
    step = round(value / highest * (len(_BARS) - 1)) if highest else 0
    return _BARS[step]


def middle(points: Sequence[RunPoint]) -> int | None:
    """The median duration of the completed runs in milliseconds; None where there are none."""
    known = sorted(
        each.took_ms
        for each in points
        if each.status is RunStatus.COMPLETED and each.took_ms is not None
    )
    return known[len(known) // 2] if known else None
