"""Completion of a path while it is typed into a property."""

from __future__ import annotations

from collections.abc import Callable

from textual import events
from textual.content import Content
from textual.widgets import Input
from textual_autocomplete import DropdownItem, TargetState

from localcdap.pipeline.paths.service import PathListing
from localcdap.tui.dialogs.path_completion import rank_completions, split_path
from localcdap.tui.inspector.context import FieldContext
from localcdap.tui.inspector.properties.completion import PropertyAutoComplete, find_open_macro

PathLister = Callable[[str, Callable[[PathListing], None]], None]
"""Lists the folder of a typed path, and hands the listing over when it is there."""


class PathAutoComplete(PropertyAutoComplete):
    """The list below the line of a path: macros behind ``${``, else the entries of the folder typed so far.

    :param list_folder: lists in the background; the list grows when the listing comes.
    :param only_folders: whether files are left out.
    """

    def __init__(
        self, target: Input, context: FieldContext, list_folder: PathLister, *, only_folders: bool
    ) -> None:
        super().__init__(target, context, list)
        self._list_folder = list_folder
        self._only_folders = only_folders
        self._listing: PathListing | None = None
        self._asked: str | None = None
        """The folder of the newest listing that was asked for."""
        self._typed: str | None = None
        """The text after the last key of the user."""

    def get_candidates(self, target_state: TargetState) -> list[DropdownItem]:
        if self._is_in_macro(target_state):
            return super().get_candidates(target_state)
        before = target_state.text[: target_state.cursor_position]
        head, _ = split_path(before)
        if head != self._asked and self.target.has_focus:
            self._asked = head
            self._list_folder(before, self._take_listing)
        listing = self._listing
        if listing is None or listing.head != head:
            return []
        entries = (e for e in listing.entries if e.is_folder or not self._only_folders)
        return [
            DropdownItem(Content.styled(each.name, "$primary" if each.is_folder else ""))
            for each in rank_completions(before, entries)
        ]

    def get_matches(
        self, target_state: TargetState, candidates: list[DropdownItem], search_string: str
    ) -> list[DropdownItem]:
        if self._is_in_macro(target_state):
            return super().get_matches(target_state, candidates, search_string)
        return candidates[: self.most_shown]  # they are ranked already

    def get_search_string(self, target_state: TargetState) -> str:
        if self._is_in_macro(target_state):
            return super().get_search_string(target_state)
        return split_path(target_state.text[: target_state.cursor_position])[1]

    def should_show_dropdown(self, search_string: str) -> bool:
        if self._is_in_macro(self._get_target_state()):
            return super().should_show_dropdown(search_string)
        options = self.option_list.options
        names = [each.value for each in options if isinstance(each, DropdownItem)]
        return (
            self.target.has_focus and bool(self.target.value) and names not in ([], [search_string])
        )

    def apply_completion(self, value: str, state: TargetState) -> None:
        if self._is_in_macro(state):
            super().apply_completion(value, state)
            return
        head, _ = split_path(state.text[: state.cursor_position])
        self.target.value = head + value
        self.target.cursor_position = len(head + value)
        self.rebuild(self.get_search_string(self._get_target_state()))

    def _listen_to_messages(self, event: events.Event) -> None:
        if isinstance(event, Input.Changed):
            self._typed = event.value
        super()._listen_to_messages(event)

    def _take_listing(self, listing: PathListing) -> None:
        self._listing = listing
        if not (self.is_attached and self.target.has_focus):
            return
        if self._typed == self.target.value:
            self._handle_target_update()
        else:  # nothing was typed: the list waits for the key that shows it
            self.rebuild(self.get_search_string(self._get_target_state()))

    def _is_in_macro(self, state: TargetState) -> bool:
        return find_open_macro(state.text, state.cursor_position) is not None
