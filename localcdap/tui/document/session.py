"""What the editor knows of its session at the service."""

from __future__ import annotations

from localcdap.api.errors import NotFoundError
from localcdap.pipeline.editing.edits import Edit, Redo, SetProperty, Undo


class Session:
    """A session that is being opened, or is open."""

    def __init__(self) -> None:
        self.id: str | None = None
        """None until it is open; set in the thread of the call that opens it."""
        self.is_over = False
        """Whether nobody needs it any more."""
        self.open_edits = 0
        """Edits given to the service and not yet made there."""
        self._undoable = 0
        self._redoable = 0

    def needed(self) -> str:
        """Its id.

        :raises NotFoundError: when it could not be opened.
        """
        if self.id is None:
            raise NotFoundError("The pipeline is not open.", "Open it again.")
        return self.id

    def can_make(self, edit: Edit) -> bool:
        """Whether the session can follow an edit; counts it.

        A session does not remember what was done before it was opened.
        """
        if isinstance(edit, Undo):
            self._undoable -= 1
            self._redoable += 1
            return self._undoable >= 0
        if isinstance(edit, Redo):
            self._undoable += 1
            self._redoable -= 1
            return self._redoable >= 0
        if isinstance(edit, SetProperty) and edit.continues:
            self._redoable = 0
            return True  # no step of its own where the one before is known
        self._undoable += 1
        self._redoable = 0
        return True
