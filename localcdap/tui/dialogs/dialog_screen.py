"""The base of all dialogs."""

from __future__ import annotations

from textual.await_complete import AwaitComplete
from textual.screen import ModalScreen, ScreenResultType

from localcdap.tui.studio import StudioNode


class DialogScreen(StudioNode, ModalScreen[ScreenResultType]):
    """A dialog over a screen; ``escape`` closes it without an answer."""

    BINDINGS = [("escape", "dismiss_empty", "back")]
    _is_answered = False

    def dismiss(self, result: ScreenResultType | None = None) -> AwaitComplete:
        """Close with an answer. Later answers, such as that of a second click, are ignored."""
        if self._is_answered or self.app.screen is not self:
            return AwaitComplete()
        self._is_answered = True
        return super().dismiss(result)

    def action_dismiss_empty(self) -> None:
        self.dismiss(None)
