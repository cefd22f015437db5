"""A list of entries under headings, with a filter, and the option list below it.

The highlight stays on its entry when the list changes; an option carries the value it stands for. The
filter matches fuzzily: the letters of what is typed occur in this order. :func:`watch_topics` waits for the
events after which a list must be read again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import ClassVar, Final, Generic, TypeVar

from rich.cells import cell_len, set_cell_size
from textual import events, on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.events import Click
from textual.fuzzy import FuzzySearch
from textual.message import Message
from textual.widgets import Input, OptionList, Static
from textual.widgets.option_list import Option

from localcdap.api.app.events import SYSTEM_NAMESPACE
from localcdap.host.cdap import Cdap
from localcdap.tui.studio import get_studio, run_explained
from localcdap.tui.textual_internals.strips import SafeOptionList


class StudioOptionList(SafeOptionList):
    """A list of options that may change at any time.

    Textual's list fails when options are replaced between a click and its event, and when a page is turned
    while the list has no lines. This one ignores such a click and such a key.

    :param verb: what enter does with an option, for the hints of the footer.
    """

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "select", "choose", id="list.choose", show=False),
        Binding("j", "cursor_down", "down", show=False),
        Binding("k", "cursor_up", "up", show=False),
    ]

    def __init__(
        self,
        *options: Option,
        verb: str = "",
        id: str | None = None,
        classes: str | None = None,
    ) -> None:
        super().__init__(*options, id=id, classes=classes)
        if verb:
            self.set_enter_hint(verb)

    def action_select(self) -> None:
        if self.highlighted is None:
            get_studio(self).explain_no_effect("nothing is highlighted")
        else:
            super().action_select()

    def on_click(self, event: Click) -> None:
        clicked = event.style.meta.get("option")
        if clicked is not None and clicked >= self.option_count:
            event.prevent_default()


_T = TypeVar("_T")


class ValueOption(Option, Generic[_T]):
    """An option with its value.

    The message of a choice carries the option. Its index may belong to another option by then, so handlers
    read the value.
    """

    def __init__(self, line: Content, value: _T) -> None:
        super().__init__(line)
        self.value = value


_SEARCH = FuzzySearch()
_GOOD_SHARE: Final = 0.67
"""Of the best score. Five letters in a row score 15, in two places 9.8."""


def match_query(query: str, text: str) -> tuple[float, list[int]] | None:
    """Return the score of a text for a query and the indexes of the matched letters, or None.

    Every word of the query must match, in any order; the letters of a word must match in order.
    """
    score = 0.0
    indexes: set[int] = set()
    for word in query.split():
        found, letters = _SEARCH.match(word, text)
        if not found:
            return None
        score += found
        indexes.update(letters)
    return score, sorted(indexes)


def rank_matches(query: str, items: Iterable[tuple[str, _T]]) -> list[tuple[_T, Sequence[int]]]:
    """Return the items whose text matches the query, best first; all in their order for an empty query.

    A text that has only scattered letters of the query is left out when others match much better:
    'parse' finds "CSVParser", not "Time partitioned fileset".
    """
    found = [
        (result[0], result[1], item, text)
        for text, item in items
        if (result := match_query(query, text)) is not None
    ]
    if query.strip():
        found.sort(key=lambda each: -each[0])
        least = _GOOD_SHARE * max((score for score, *_ in found), default=0)
        words = query.lower().split()
        found = [
            each for each in found if each[0] >= least or all(w in each[3].lower() for w in words)
        ]
    return [(item, indexes) for _, indexes, item, _ in found]


_LEAST_HINT: Final = 6
"""The fewest cells in which a hint, or its beginning, is shown."""


@dataclass(frozen=True)
class ListEntry:
    """An entry of a list.

    :param key: identifies the entry, also after the list is filled again.
    :param mark: a glyph before the label. It never shows a state alone.
    :param hint: a muted text at the right end.
    :param group: the heading of the entry; entries of one group follow each other. In a filtered list it is
        part of the hint.
    :param words: further text that the filter searches.
    :param tone: the style of the label, such as ``$text-muted``.
    """

    key: str
    label: str
    mark: str = ""
    hint: str = ""
    group: str = ""
    words: str = ""
    tone: str = ""


class FilteredListOptions(StudioOptionList):
    """The lines of the list, with the keys of vim too."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("g", "first", "first", show=False),
        Binding("G", "last", "last", show=False),
        Binding("ctrl+d", "page_down", "page down", show=False),
        Binding("ctrl+u", "page_up", "page up", show=False),
    ]


class FilteredList(Vertical):
    """A list of entries to choose from. The keys of the screen follow what is highlighted.

    :param empty: the text of an empty list.
    :param verb: what enter does with an entry.
    :param action: the action that enter does, of the screen or the panel that the list is in; it is not done
        while that has a reason. Without it, the list posts :class:`Chosen`.
    :param can_filter: whether the list has a filter field.
    """

    DEFAULT_CSS = """
    FilteredList {
        & > .filter { height: 1; border: none; padding: 0 1; background: $surface; }
        & > FilteredListOptions, & > FilteredListOptions:focus {
            height: 1fr; border: none; padding: 0; background: transparent;
        }
        & > FilteredListOptions > .option-list--option-highlighted { background: $boost; text-style: none; }
        & > FilteredListOptions:focus > .option-list--option-highlighted {
            background: $primary 40%; color: $text;
        }
        & > .note { height: auto; color: $text-muted; padding: 0 1; }
        & > .note.-empty { height: 1fr; padding: 1 2; }
    }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "clear_filter", "clear filter", id="list.clear", show=False),
    ]

    class Highlighted(Message):
        """The highlight has moved; the key is None when no entry is highlighted."""

        def __init__(self, listing: FilteredList, key: str | None) -> None:
            super().__init__()
            self.listing = listing
            self.key = key

        @property
        def control(self) -> FilteredList:
            return self.listing

    class Chosen(Message):
        """An entry was chosen with enter or a click."""

        def __init__(self, listing: FilteredList, key: str) -> None:
            super().__init__()
            self.listing = listing
            self.key = key

        @property
        def control(self) -> FilteredList:
            return self.listing

    def __init__(
        self,
        *,
        empty: str = "The list is empty.",
        verb: str = "",
        action: str = "",
        can_filter: bool = True,
        id: str | None = None,
    ) -> None:
        super().__init__(id=id)
        self._verb = verb
        self._action = action
        self._can_filter = can_filter
        self._empty = empty
        self._entries: Sequence[ListEntry] = ()
        self._shown: list[ListEntry | None] = []
        self._query = ""
        """The text that the list is filtered by now."""
        self._posted_key: str | None = None
        """The key of the last :class:`Highlighted`."""
        self._wanted_key: str | None = None
        """The key to highlight as soon as the list has it."""
        self._is_filled = False
        """Whether entries were set."""
        self._had_focus = False
        """Whether the lines had the focus when they were hidden."""

    def compose(self) -> ComposeResult:
        # Selected text would be replaced by the next key: what was typed before the focus would be lost.
        box = Input(placeholder="/ filter", classes="filter", compact=True, select_on_focus=False)
        box.display = self._can_filter
        yield box
        yield FilteredListOptions(verb=self._verb)
        yield Static(classes="note")

    @property
    def key(self) -> str | None:
        """The key of the highlighted entry; None when there is none, or before the list is mounted."""
        if not self.is_mounted:
            return None
        at = self._options.highlighted
        entry = self._shown[at] if at is not None and at < len(self._shown) else None
        return entry.key if entry is not None else None

    @property
    def keys(self) -> list[str]:
        """The keys of the shown entries in their order."""
        return [entry.key for entry in self._shown if entry is not None]

    def set_entries(self, entries: Sequence[ListEntry], *, empty: str | None = None) -> None:
        """Replace the entries. The highlight stays on its entry, or near its row when the entry is gone."""
        self._entries, self._is_filled = entries, True
        if empty is not None:
            self._empty = empty
        self._fill(self._wanted_key or self.key)

    def show(self, key: str) -> None:
        """Highlight the entry of a key, now or as soon as the list has it."""
        self._wanted_key = key
        if any(entry.key == key for entry in self._entries):
            self._fill(key)

    def move(self, by: int) -> None:
        """Move the highlight to the next entry, or to the previous one for -1; by a page for more."""
        options = self._options
        if abs(by) == 1:
            move = options.action_cursor_down if by > 0 else options.action_cursor_up
        else:
            move = options.action_page_down if by > 0 else options.action_page_up
        move()

    def type_filter(self, text: str) -> None:
        """Insert a text into the filter, and move the focus there."""
        self._filter.insert_text_at_cursor(text)
        self._filter.focus()

    def call_when_filtered(self, callback: Callable[[], object]) -> None:
        """Call a function once the keys that were pressed before have filtered the list."""

        def filter_and_call() -> None:
            self._apply_filter()
            callback()

        self._filter.call_later(filter_and_call)

    def focus_list(self) -> None:
        self._options.focus()

    def action_clear_filter(self) -> None:
        """Show all entries, and move the focus to the list."""
        self._filter.value = ""
        self._options.focus()

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        if action == "clear_filter":
            if not self.is_mounted:
                return False
            # Without entries there is no filter to leave.
            return bool(self._filter.value or (self._entries and self._filter.has_focus))
        return True

    @property
    def _filter(self) -> Input:
        return self.query_one(".filter", Input)

    @property
    def _options(self) -> FilteredListOptions:
        return self.query_one(FilteredListOptions)

    @on(Input.Changed, ".filter")
    def _filter_typed(self, event: Input.Changed) -> None:
        event.stop()
        self._apply_filter()

    @on(Input.Submitted, ".filter")
    def _focus_lines(self, event: Input.Submitted) -> None:
        event.stop()
        self._options.focus()

    def on_key(self, event: events.Key) -> None:
        if event.key == "down" and self._filter.has_focus:
            event.stop()
            self._options.focus()

    @on(OptionList.OptionHighlighted)
    def _follow_highlight(self, event: OptionList.OptionHighlighted) -> None:
        event.stop()
        if self.key is not None:
            self._wanted_key = None
        if self._find_row(None, 0) == event.option_index:
            self._options.scroll_to(y=0, animate=False)  # show the heading too
        self._post_highlighted()

    @on(OptionList.OptionSelected)
    async def _choose(self, event: OptionList.OptionSelected) -> None:
        event.stop()
        if self._action:
            await run_explained(self, self._action, self._verb)
        elif isinstance(event.option, ValueOption):
            self.post_message(self.Chosen(self, event.option.value))

    def on_resize(self) -> None:
        self.call_after_refresh(self._refill)

    def _refill(self) -> None:
        if self.is_mounted and self._is_filled:
            self._fill(self.key)

    def _post_highlighted(self) -> None:
        if self.key != self._posted_key:
            self._posted_key = self.key
            self.screen.refresh_bindings()
            self.post_message(self.Highlighted(self, self.key))

    def _apply_filter(self) -> None:
        """Filter the list by the text in the filter field."""
        if self._filter.value != self._query:
            self._fill(self.key)

    def _fill(self, key: str | None) -> None:
        """Show the entries that match the filter, and highlight a key, or an entry near the last row.

        When the filter has changed, the best match is highlighted, unless :meth:`show` waits for a key.
        """
        options, before = self._options, self._options.highlighted
        query = self._filter.value
        if query != self._query and query.strip() and (key is None or key != self._wanted_key):
            key = before = None
        self._query = query
        found = rank_matches(
            query, [(f"{each.label} {each.words}", each) for each in self._entries]
        )
        width = (options.size.width or 40) - 1
        lines, self._shown = _build_lines(found, width, grouped=not query.strip())
        offset = options.scroll_offset.y
        with self.prevent(OptionList.OptionHighlighted):
            options.clear_options()
            options.add_options(lines)
            options.highlighted = self._find_row(key, before)
        if self.key == self._wanted_key:
            self._wanted_key = None
        options.scroll_to(y=offset, animate=False, force=True)
        options.scroll_to_highlight()
        self._show_or_hide_lines()
        self._update_note(query, len(found))
        self.screen.refresh_bindings()
        self._post_highlighted()

    def _show_or_hide_lines(self) -> None:
        """Show the lines when there are any. Lines that lost the focus when they were hidden get it back,
        unless another widget has it.
        """
        options, is_shown = self._options, bool(self._shown)
        if is_shown == options.display:
            return
        had_focus, self._had_focus = self._had_focus, options.has_focus
        options.display = is_shown
        if is_shown and had_focus and self.screen.focused is None:
            options.focus()

    def _find_row(self, key: str | None, before: int | None) -> int | None:
        """Return the row of a key; without it, the row of an entry nearest to the row before."""
        keys = {row: entry.key for row, entry in enumerate(self._shown) if entry is not None}
        for row, each in keys.items():
            if key is not None and each == key:
                return row
        return min(keys, key=lambda row: abs(row - (before or 0)), default=None)

    def _update_note(self, query: str, count: int) -> None:
        note = self.query_one(".note", Static)
        note.set_class(not self._entries, "-empty")
        note.display = not self._entries or bool(query.strip())
        self._filter.display = self._can_filter and bool(self._entries)
        note.update(Content(f"{count} of {len(self._entries)}" if self._entries else self._empty))


def _build_lines(
    found: Sequence[tuple[ListEntry, Sequence[int]]], width: int, *, grouped: bool
) -> tuple[list[Option], list[ListEntry | None]]:
    """Return the lines with their headings, and the entry of each line; None for a heading."""
    lines: list[Option] = []
    shown: list[ListEntry | None] = []
    group = ""
    for entry, positions in found:
        if grouped and entry.group != group:
            group = entry.group
            lines.append(
                Option(Content.styled(f" {group}", "$foreground 60% italic"), disabled=True)
            )
            shown.append(None)
        hint = entry.hint if grouped else " · ".join(filter(None, (entry.group, entry.hint)))
        lines.append(ValueOption(_build_line(entry, positions, hint, width), entry.key))
        shown.append(entry)
    return lines, shown


def _build_line(entry: ListEntry, positions: Sequence[int], hint: str, width: int) -> Content:
    """Return mark and label with the matched letters highlighted, and the hint where it has space."""
    mark = f" {entry.mark} " if entry.mark else "   "
    label = Content.styled(entry.label, entry.tone)
    for position in positions:
        if position < len(entry.label):
            label = label.stylize("$text-accent bold", position, position + 1)
    label = label.truncate(max(1, width - cell_len(mark)), ellipsis=True)
    available = width - cell_len(mark) - label.cell_length - 1
    if not hint or available < _LEAST_HINT:
        return Content.assemble(mark, label)
    if cell_len(hint) > available:
        hint = set_cell_size(hint, available - 1).rstrip() + "…"
    space = available + 1 - cell_len(hint)
    return Content.assemble(mark, label, " " * space, Content.styled(hint, "$foreground 60%"))


_WAIT_S: Final = 1.0
"""The longest wait for an event, in seconds."""


def watch_topics(*topics: str) -> Callable[[Cdap], Iterator[bool | None]]:
    """Return a source for ``follow`` that yields True whenever the system topics had events.

    It yields None after a wait without events. The first item is True: a list that was read before the
    position in the topics was known may be old.
    """

    def wait_for_events(cdap: Cdap) -> Iterator[bool | None]:
        position = cdap.messaging.get_newest_id()
        yield True
        while True:
            found = cdap.messaging.fetch(
                SYSTEM_NAMESPACE, list(topics), position, limit=1000, wait_s=_WAIT_S
            )
            position = found[-1].id if found else position
            yield True if found else None

    return wait_for_events
