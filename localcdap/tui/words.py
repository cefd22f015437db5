"""How times, amounts and states are written on every screen."""

from __future__ import annotations

import datetime
from typing import Final

from localcdap.engine.messages import RunStatus
from localcdap.runs.model import now
from localcdap.runs.preview.model import PreviewStatus

_MINUTE: Final = 60
_HOUR: Final = 60 * _MINUTE
_DAY: Final = 24 * _HOUR

RUN_MARKS: Final[dict[RunStatus, tuple[str, str]]] = {
    RunStatus.PENDING: ("◌", "$foreground 60%"),
    RunStatus.STARTING: ("◌", "$foreground 60%"),
    RunStatus.RUNNING: ("▶", "$primary"),
    RunStatus.STOPPING: ("◌", "$warning"),
    RunStatus.COMPLETED: ("✓", "$success"),
    RunStatus.FAILED: ("✗", "$error"),
    RunStatus.KILLED: ("■", "$warning"),
}
"""The sign of a run's state and its style; the word stands beside it wherever there is room."""
_PREVIEW_WORDS: Final = {
    PreviewStatus.INIT: "starting",
    PreviewStatus.DEPLOY_FAILED: "refused",
    PreviewStatus.RUN_FAILED: "failed",
    PreviewStatus.KILLED: "stopped",
    PreviewStatus.KILLED_BY_TIMER: "stopped, it took too long",
}
"""Where CDAP's name of a state does not say it."""


def status_word(status: RunStatus | PreviewStatus) -> str:
    """The state of a run or preview in words."""
    if isinstance(status, PreviewStatus) and status in _PREVIEW_WORDS:
        return _PREVIEW_WORDS[status]
    return status.value.lower()


def plural(count: int, noun: str) -> str:
    """``1 failure``, ``2,000 failures``."""
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}s"


def ago(milliseconds: int, present: int | None = None) -> str:
    """How long ago something was, as ``now``, ``5 min ago``, ``3 h ago``, ``yesterday``, or its date.

    :param milliseconds: since 1970.
    """
    present = now() if present is None else present
    seconds = max(0, present - milliseconds) // 1000
    if seconds < _MINUTE:
        return "now"
    if seconds < _HOUR:
        return f"{seconds // _MINUTE} min ago"
    then, today = (
        datetime.datetime.fromtimestamp(each / 1000).date() for each in (milliseconds, present)
    )
    if seconds < _DAY and then == today:
        return f"{seconds // _HOUR} h ago"
    if (today - then).days == 1:
        return "yesterday"
    return then.isoformat()


def duration(start: int | None, end: int | None) -> str:
    """The time between two points in milliseconds, as ``1.2 s``, ``3 min 20 s`` or ``2 h 5 min``."""
    if start is None or end is None:
        return ""
    seconds = max(0.0, (end - start) / 1000)
    if seconds < _MINUTE:
        return f"{seconds:.1f} s"
    if seconds < _HOUR:
        return f"{int(seconds // _MINUTE)} min {int(seconds % _MINUTE)} s"
    return f"{int(seconds // _HOUR)} h {int(seconds % _HOUR // _MINUTE)} min"


def size(number: int) -> str:
    """A number of bytes, as ``512 B`` or ``4.2 MB``."""
    amount, units = float(number), ["B", "kB", "MB", "GB", "TB"]
    while amount >= 999.5 and len(units) > 1:
        amount /= 1000
        units.pop(0)
    digits = 1 if amount < 10 and units[0] != "B" else 0
    return f"{amount:.{digits}f} {units[0]}"
