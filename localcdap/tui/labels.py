"""Formats ages, statuses and details of highlighted items for all screens."""

from __future__ import annotations

import datetime
from typing import Final

from textual.content import Content

from localcdap.engine.messages.spool import RunStatus
from localcdap.runs.model import get_now
from localcdap.runs.preview.model import PreviewStatus
from localcdap.text import sanitize_for_terminal

_TAB: Final = 4
_JOINERS: Final = {0x200C: None, 0x200D: None}
"""Zero-width (non-)joiners. Terminals draw joined emoji in different numbers of cells; separate emoji
have the width that is counted here."""
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
"""The mark of a run's status and its style; the word follows it where it fits."""
_PREVIEW_WORDS: Final = {
    PreviewStatus.INIT: "starting",
    PreviewStatus.DEPLOY_FAILED: "refused",
    PreviewStatus.RUN_FAILED: "failed",
    PreviewStatus.KILLED: "stopped",
    PreviewStatus.KILLED_BY_TIMER: "stopped, it took too long",
}
"""Words where CDAP's name of a status is not clear."""


def format_status(status: RunStatus | PreviewStatus) -> str:
    """Return the status of a run or preview in words."""
    if isinstance(status, PreviewStatus) and status in _PREVIEW_WORDS:
        return _PREVIEW_WORDS[status]
    return status.value.lower()


def format_age(milliseconds: int, present: int | None = None) -> str:
    """Return how long ago something was, as ``now``, ``5 min ago``, ``3 h ago``, ``yesterday``, or its date.

    :param milliseconds: since 1970.
    """
    present = get_now() if present is None else present
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


MUTED: Final = "$foreground 60%"
"""The style of secondary text."""


def format_title(name: str, kind: str) -> Content:
    """Return the name of an item in bold, followed by its kind."""
    return Content.assemble(Content.styled(name, "bold"), Content.styled(f"  {kind}", MUTED))


def join_parts(*parts: Content | str) -> Content:
    """Join the parts that are not empty, with an empty line between them."""
    contents = [Content(part) if isinstance(part, str) else part for part in parts]
    return Content("\n\n").join(part for part in contents if part.plain)


def sanitize_lines(text: str) -> str:
    """Return a text of one or more lines that can be painted: sanitized, with tabs as blanks."""
    return sanitize_for_terminal(text).expandtabs(_TAB).translate(_JOINERS)


def sanitize_name(text: str) -> str:
    """Return a name that can be painted on one line."""
    return sanitize_for_terminal(text, single_line=True).translate(_JOINERS)
