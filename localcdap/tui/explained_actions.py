"""Actions that a node of the studio disables while it has a reason."""

from __future__ import annotations

from typing import cast

from textual.message_pump import MessagePump
from textual.widget import Widget


class ExplainedActions(MessagePump):
    """Mixed into a widget or screen some of whose keys do nothing at times, and say why."""

    def explain_disabled(self, action: str) -> str | None:
        """Return why a key does nothing now; None when it works. Called only while mounted."""
        return None

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Show an action as disabled, as Textual's None does, while there is a reason or no widget."""
        if not cast(Widget, self).is_mounted or self.explain_disabled(action) is not None:
            return None
        return True
