"""The drafts of a session, to go back to."""

from __future__ import annotations

from typing import Final

from localcdap.api.errors import ConflictError
from localcdap.pipeline.editing.draft import Draft
from localcdap.pipeline.editing.edits import Edit, SetProperty

_KEPT: Final = 1000
"""Edits that can be taken back; drafts share what they have in common."""


class History:
    """A line of drafts, and where in it the session is."""

    def __init__(self, draft: Draft) -> None:
        self._drafts = [draft]
        self._place = 0
        self._last: Edit | None = None
        """The edit that led here; None after going back or forth."""

    @property
    def draft(self) -> Draft:
        return self._drafts[self._place]

    @property
    def can_undo(self) -> bool:
        return self._place > 0

    @property
    def can_redo(self) -> bool:
        return self._place + 1 < len(self._drafts)

    def add(self, draft: Draft, edit: Edit | None = None) -> None:
        """Go on to another draft; what was taken back is forgotten.

        :param edit: what led to it; one that continues the last edit takes its place.
        """
        kept = self._place + (not _is_continued(self._last, edit))
        self._drafts = [*self._drafts[:kept][-_KEPT:], draft]
        self._place = len(self._drafts) - 1
        self._last = edit

    def undo(self) -> None:
        """:raises ConflictError: when there is nothing to take back."""
        if not self.can_undo:
            raise ConflictError("There is nothing to undo.")
        self._place -= 1
        self._last = None

    def redo(self) -> None:
        """:raises ConflictError: when nothing was taken back, or another edit came since."""
        if not self.can_redo:
            raise ConflictError("There is nothing to redo.")
        self._place += 1
        self._last = None


def _is_continued(last: Edit | None, edit: Edit | None) -> bool:
    return (
        isinstance(edit, SetProperty)
        and edit.continues
        and isinstance(last, SetProperty)
        and (last.stage, last.name) == (edit.stage, edit.name)
    )
