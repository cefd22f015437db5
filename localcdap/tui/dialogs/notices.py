"""The notices of the studio, which are kept so that users can read them later."""

from __future__ import annotations

import time
from collections import deque
from dataclasses import dataclass
from typing import Final

from textual.content import Content
from textual.notifications import SeverityLevel

from localcdap.tui.dialogs.lines import BlocksDialog

_KEPT: Final = 200
MARKS: Final = {"information": "·", "warning": "!", "error": "✗"}
"""The glyph of each severity, which its colour repeats."""
_STYLES: Final = {"information": "$foreground 60%", "warning": "$warning", "error": "$error"}


@dataclass(frozen=True)
class Notice:
    """:param at: seconds since the epoch."""

    at: float
    severity: SeverityLevel
    title: str
    detail: str = ""


class Notices:
    """The last notices, oldest first."""

    def __init__(self) -> None:
        self._kept: deque[Notice] = deque(maxlen=_KEPT)

    def add(self, severity: SeverityLevel, title: str, detail: str = "") -> None:
        self._kept.append(Notice(time.time(), severity, title, detail))

    def __iter__(self) -> object:
        return iter(tuple(self._kept))

    def __len__(self) -> int:
        return len(self._kept)

    @property
    def newest_first(self) -> list[Notice]:
        return list(reversed(self._kept))


class NoticesDialog(BlocksDialog):
    """The notices, newest first."""

    DEFAULT_CSS = "NoticesDialog #dialog-blocks { max-height: 100%; }"

    def __init__(self, notices: Notices) -> None:
        blocks = [_render_notice(notice) for notice in notices.newest_first]
        super().__init__(Content("Notices, newest first"), blocks or [Content("Nothing yet.")])


def _render_notice(notice: Notice) -> Content:
    when = time.strftime("%H:%M:%S", time.localtime(notice.at))
    first = Content.assemble(
        (f"{when} {MARKS[notice.severity]} ", _STYLES[notice.severity]), (notice.title, "bold")
    )
    if not notice.detail:
        return first
    indented = "\n".join(f"           {line}" for line in notice.detail.splitlines())
    return Content.assemble(first, "\n", indented)
