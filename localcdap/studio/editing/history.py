"""The drafts of a session, to go back to."""

from __future__ import annotations

from typing import Final

from localcdap.api.errors import ConflictError
from localcdap.studio.editing.draft import Draft

_KEPT: Final = 1000
"""Edits that can be taken back; drafts share what they have in common."""


class History:
    """A line of drafts, and where in it the session is."""

    def __init__(self, draft: Draft) -> None:
        self._drafts = [draft]
        self._place = 0

    @property
    def draft(self) -> Draft:
        return self._drafts[self._place]

    @property
    def can_undo(self) -> bool:
        return self._place > 0

    @property
    def can_redo(self) -> bool:
        return self._place + 1 < len(self._drafts)

    def add(self, draft: Draft) -> None:
        """Go on to another draft; what was taken back is forgotten."""
        self._drafts = [*self._drafts[: self._place + 1][-_KEPT:], draft]
        self._place = len(self._drafts) - 1

    def undo(self) -> None:
        """:raises ConflictError: when there is nothing to take back."""
        if not self.can_undo:
            raise ConflictError("There is nothing to undo.")
        self._place -= 1

    def redo(self) -> None:
        """:raises ConflictError: when nothing was taken back, or another edit came since."""
        if not self.can_redo:
            raise ConflictError("There is nothing to redo.")
        self._place += 1
