"""Private parts of textual-autocomplete: its list is laid out only when it has something to show."""

from __future__ import annotations

from textual_autocomplete import AutoComplete, TargetState


class QuietAutoComplete(AutoComplete):
    """An auto-complete list that does nothing while it is hidden or empty.

    Each of these methods costs a layout of the whole screen, for every letter that is typed.
    """

    def action_hide(self) -> None:
        if self.display:
            super().action_hide()

    def action_show(self) -> None:
        if not self.display:
            super().action_show()

    def rebuild(self, text: str) -> None:
        """Fill the list for a text that was put into the input."""
        self._rebuild_options(self._get_target_state(), text)

    def _align_to_target(self) -> None:
        if self.is_attached and self.target.is_attached and self.option_list.option_count:
            super()._align_to_target()

    def _rebuild_options(self, target_state: TargetState, search_string: str) -> None:
        if self.option_list.option_count or self.get_candidates(target_state):
            super()._rebuild_options(target_state, search_string)
