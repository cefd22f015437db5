"""A session of the editing service as the editor sees it."""

from __future__ import annotations

from localcdap.api.errors import NotFoundError
from localcdap.pipeline.editing.edits import Edit, Redo, SetProperty, Undo


class EditSession:
    """A session that is being opened or is open."""

    def __init__(self) -> None:
        self.id: str | None = None
        """None until the session is open; set in the thread of the call that opens it."""
        self.is_closed = False
        """Whether the editor has given the session up."""
        self.pending_edits = 0
        """Edits that were sent and are not answered yet."""
        self._undoable = 0
        self._redoable = 0

    def require_id(self) -> str:
        """Return the id.

        :raises NotFoundError: when the session could not be opened.
        """
        if self.id is None:
            raise NotFoundError("The pipeline is not open.", "Open it again.")
        return self.id

    def accept_edit(self, edit: Edit) -> bool:
        """Count an edit and return whether the session can make it.

        The history of a session starts when it is opened, so that it cannot undo earlier steps.
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
            return True  # continues the step before it
        self._undoable += 1
        self._redoable = 0
        return True
