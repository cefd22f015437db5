"""Completion of what is typed into a line: macros behind ``${``, and what the field offers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import ClassVar, Final

from textual import events
from textual.content import Content
from textual.widgets import Input
from textual_autocomplete import DropdownItem, TargetState

from localcdap.pipeline.paths.service import PathListing
from localcdap.tui.dialogs.path_dialog import rank_completions, split_path
from localcdap.tui.inspector.properties.field_plan import FieldContext, Suggestion
from localcdap.tui.textual_internals.libraries import QuietAutoComplete

SuggestionSource = Callable[[], Sequence[Suggestion]]
_HINT: Final = 24
"""Cells for what a candidate is."""


def find_open_macro(text: str, cursor: int) -> int | None:
    """Return the index at which the macro name around the cursor begins; None outside of a macro.

    >>> find_open_macro("${pa", 4), find_open_macro("${path}/x", 9), find_open_macro("a${b${c", 7)
    (2, None, 6)
    """
    depth: list[int] = []
    at = 0
    while at < cursor:
        if text.startswith("${", at) and at + 2 <= cursor:
            depth.append(at + 2)
            at += 2
            continue
        if text[at] == "}" and depth:
            depth.pop()
        at += 1
    return depth[-1] if depth else None


def complete_text(text: str, cursor: int, chosen: str) -> tuple[str, int]:
    """Return the text after a completion, and the new position of the cursor.

    >>> complete_text("/data/${pa", 10, "path")
    ('/data/${path}', 13)
    """
    start = find_open_macro(text, cursor)
    if start is None:
        return chosen, len(chosen)
    rest = text[cursor:]
    ending = "" if rest.startswith("}") else "}"
    place = start + len(chosen) + 1
    return text[:start] + chosen + ending + rest, place


class PropertyAutoComplete(QuietAutoComplete):
    """The list that drops down below a line. It is mounted on the screen, where it has the space.

    :param offers: what the field itself has to offer.
    """

    most_shown: ClassVar[int] = 50
    """Candidates that are shown; typing brings the others."""
    DEFAULT_CSS = """
    PropertyAutoComplete { max-height: 10; background: $panel; }
    PropertyAutoComplete AutoCompleteList { scrollbar-size-vertical: 1; }
    """

    def __init__(self, target: Input, context: FieldContext, offers: SuggestionSource) -> None:
        super().__init__(target)
        self._known = context
        self._offers = offers

    def get_candidates(self, target_state: TargetState) -> list[DropdownItem]:
        in_macro = find_open_macro(target_state.text, target_state.cursor_position) is not None
        offers = self._known.list_macros() if in_macro else self._offers()
        width = min(max((len(offer.hint) for offer in offers), default=0), _HINT)
        return [_create_item(offer, width) for offer in offers]

    def get_search_string(self, target_state: TargetState) -> str:
        before = target_state.text[: target_state.cursor_position]
        start = find_open_macro(before, len(before))
        return before if start is None else before[start:]

    def get_matches(
        self, target_state: TargetState, candidates: list[DropdownItem], search_string: str
    ) -> list[DropdownItem]:
        if any(_get_item_text(each) == search_string for each in candidates):
            return candidates[: self.most_shown]  # chosen already: show what there is instead
        return super().get_matches(target_state, candidates, search_string)[: self.most_shown]

    def should_show_dropdown(self, search_string: str) -> bool:
        options = self.option_list.options
        if not options or not self.target.has_focus:
            return False
        in_macro = find_open_macro(self.target.value, self.target.cursor_position) is not None
        is_chosen = any(_get_item_text(each) == search_string for each in options)
        return not is_chosen and (in_macro or bool(search_string))

    def apply_completion(self, value: str, state: TargetState) -> None:
        text, cursor = complete_text(state.text, state.cursor_position, value)
        self.target.value = text
        self.target.cursor_position = cursor
        self.rebuild(text)

    def post_completion(self) -> None:
        self.action_hide()
        # What was completed is an edit like any typed one; its message was held back.
        self.target.post_message(Input.Changed(self.target, self.target.value))


def _create_item(offer: Suggestion, width: int) -> DropdownItem:
    """Create an item whose hint is its prefix, so that only the text itself is matched and inserted."""
    if not width:
        return DropdownItem(offer.text)
    hint = offer.hint[:width].ljust(width + 1)
    return DropdownItem(offer.text, prefix=Content.styled(hint, "$foreground 60%"))


def _get_item_text(option: object) -> str:
    assert isinstance(option, DropdownItem)
    return option.value


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
