"""The notices of the studio, which are kept so that users can read them later."""

from __future__ import annotations

import time
from collections import deque
from dataclasses import dataclass
from typing import Final

from textual.app import ComposeResult
from textual.containers import VerticalScroll
from textual.content import Content
from textual.notifications import SeverityLevel
from textual.widgets import Static

from localcdap.tui.dialogs.dialog_screen import DialogScreen

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


class NoticesDialog(DialogScreen[None]):
    """The notices, newest first."""

    DEFAULT_CSS = """
    NoticesDialog {
        & > #dialog { width: 90%; max-width: 100; height: 80%; }
        & .notice { height: auto; padding-bottom: 1; }
    }
    """

    def __init__(self, notices: Notices) -> None:
        super().__init__()
        self._notices = notices.newest_first

    def compose_body(self) -> ComposeResult:
        yield Static("Notices, newest first", id="dialog-title")
        with VerticalScroll():
            for notice in self._notices:
                yield Static(_render_notice(notice), classes="notice")
            if not self._notices:
                yield Static("Nothing yet.", classes="notice")


def _render_notice(notice: Notice) -> Content:
    when = time.strftime("%H:%M:%S", time.localtime(notice.at))
    first = Content.assemble(
        (f"{when} {MARKS[notice.severity]} ", _STYLES[notice.severity]), (notice.title, "bold")
    )
    if not notice.detail:
        return first
    indented = "\n".join(f"           {line}" for line in notice.detail.splitlines())
    return Content.assemble(first, "\n", indented)
