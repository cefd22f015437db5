"""A list of things under headings, with a filter; what is highlighted stays so when the things change."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import ClassVar, Final

from rich.cells import cell_len, set_cell_size
from textual import events, on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.message import Message
from textual.widgets import Input, OptionList, Static
from textual.widgets.option_list import Option

from localcdap.tui.fuzzy_match import rank_matches
from localcdap.tui.lists.options import StudioOptionList, ValueOption

_LEAST_HINT: Final = 6
"""Columns that there must be for a hint, or the beginning of one."""


@dataclass(frozen=True)
class ListEntry:
    """A line of a list.

    :param key: tells it from the others, also when the list is filled anew.
    :param mark: a glyph before the label; a state is never told by it alone.
    :param hint: stands at the right end, muted.
    :param group: the heading it stands under, entries of one group after each other; before its hint when
        the list is filtered.
    :param words: further text that the filter finds it by.
    :param tone: style of the label, such as ``$text-muted``.
    """

    key: str
    label: str
    mark: str = ""
    hint: str = ""
    group: str = ""
    words: str = ""
    tone: str = ""


class FilteredListOptions(StudioOptionList):
    """The lines; moved in with vim's keys too."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("j", "cursor_down", "down", show=False),
        Binding("k", "cursor_up", "up", show=False),
        Binding("g", "first", "first", show=False),
        Binding("G", "last", "last", show=False),
        Binding("ctrl+d", "page_down", "page down", show=False),
        Binding("ctrl+u", "page_up", "page up", show=False),
    ]


class FilteredList(Vertical):
    """Entries to choose from.

    :param empty: what stands there when there is nothing at all.
    :param verb: what enter does with an entry.
    :param can_filter: whether there is a field for a filter.
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
        Binding("escape", "clear_filter", "all again", id="list.clear", show=False),
    ]

    class Highlighted(Message):
        """The highlight is on another entry; the key is None when there is none."""

        def __init__(self, listing: FilteredList, key: str | None) -> None:
            super().__init__()
            self.listing = listing
            self.key = key

        @property
        def control(self) -> FilteredList:
            return self.listing

    class Chosen(Message):
        """Enter or a click on an entry."""

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
        empty: str = "Nothing here.",
        verb: str = "",
        can_filter: bool = True,
        id: str | None = None,
    ) -> None:
        super().__init__(id=id)
        self._verb = verb
        self._can_filter = can_filter
        self._empty = empty
        self._entries: Sequence[ListEntry] = ()
        self._shown: list[ListEntry | None] = []
        self._query = ""
        """What the list is filtered by."""
        self._told: str | None = None
        self._wanted: str | None = None
        self._is_filled = False
        """Whether it was told yet what there is."""
        self._had_focus = False
        """Whether the keys went to the lines when they were hidden."""

    def compose(self) -> ComposeResult:
        box = Input(placeholder="/ filter", classes="filter", compact=True)
        box.display = self._can_filter
        yield box
        yield FilteredListOptions(verb=self._verb)
        yield Static(classes="note")

    @property
    def key(self) -> str | None:
        """That of the highlighted entry; None when there is none, or nothing is mounted yet."""
        if not self.is_mounted:
            return None
        at = self._options.highlighted
        entry = self._shown[at] if at is not None and at < len(self._shown) else None
        return entry.key if entry is not None else None

    @property
    def keys(self) -> list[str]:
        """Those of the entries shown, in their order."""
        return [entry.key for entry in self._shown if entry is not None]

    def put(self, entries: Sequence[ListEntry], *, empty: str | None = None) -> None:
        """Fill the list anew; the highlight stays on its entry, or near its place when that is gone."""
        self._entries, self._is_filled = entries, True
        if empty is not None:
            self._empty = empty
        self._fill(self._wanted or self.key)

    def show(self, key: str) -> None:
        """Put the highlight on an entry, now or when there is one of that key."""
        self._wanted = key
        if any(entry.key == key for entry in self._entries):
            self._fill(key)

    def move(self, by: int) -> None:
        """Put the highlight on the next entry, or on the one before."""
        if by > 0:
            self._options.action_cursor_down()
        else:
            self._options.action_cursor_up()

    def write(self, text: str) -> None:
        """Write into the filter, and have it get the keys from now on."""
        self._filter.insert_text_at_cursor(text)
        self._filter.focus()

    def when_typed(self, do: Callable[[], object]) -> None:
        """Do something once the keys that were pressed before are in the filter, and the list is filtered."""

        def caught_up() -> None:
            self._catch_up()
            do()

        self._filter.call_later(caught_up)

    def focus_list(self) -> None:
        self._options.focus()

    def action_clear_filter(self) -> None:
        """Show all, and go back to the list."""
        self._filter.value = ""
        self._options.focus()

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        if action == "clear_filter":
            return self.is_mounted and (self._filter.has_focus or bool(self._filter.value))
        return True

    @property
    def _filter(self) -> Input:
        return self.query_one(".filter", Input)

    @property
    def _options(self) -> FilteredListOptions:
        return self.query_one(FilteredListOptions)

    @on(Input.Changed, ".filter")
    def _typed(self, event: Input.Changed) -> None:
        event.stop()
        self._catch_up()

    @on(Input.Submitted, ".filter")
    def _submitted(self, event: Input.Submitted) -> None:
        event.stop()
        self._options.focus()

    def on_key(self, event: events.Key) -> None:
        if event.key == "down" and self._filter.has_focus:
            event.stop()
            self._options.focus()

    @on(OptionList.OptionHighlighted)
    def _moved(self, event: OptionList.OptionHighlighted) -> None:
        event.stop()
        if self.key is not None:
            self._wanted = None
        if self._place(None, 0) == event.option_index:
            self._options.scroll_to(y=0, animate=False)  # with the heading
        self._tell()

    @on(OptionList.OptionSelected)
    def _selected(self, event: OptionList.OptionSelected) -> None:
        event.stop()
        if isinstance(event.option, ValueOption):
            self.post_message(self.Chosen(self, event.option.value))

    def on_resize(self) -> None:
        self.call_after_refresh(self._fill_again)

    def _fill_again(self) -> None:
        if self.is_mounted and self._is_filled:
            self._fill(self.key)

    def _tell(self) -> None:
        if self.key != self._told:
            self._told = self.key
            self.post_message(self.Highlighted(self, self.key))

    def _catch_up(self) -> None:
        """Filter by what has been typed by now."""
        if self._filter.value != self._query:
            self._fill(self.key)

    def _fill(self, key: str | None) -> None:
        """Show what answers the filter; the highlight is on a key, or near its place.

        When the filter is another one, it is on what answers best, unless a key is waited for.
        """
        options, before = self._options, self._options.highlighted
        query = self._filter.value
        if query != self._query and query.strip() and (key is None or key != self._wanted):
            key = before = None
        self._query = query
        found = rank_matches(
            query, [(f"{each.label} {each.words}", each) for each in self._entries]
        )
        width = (options.size.width or 40) - 1
        lines, self._shown = _lines(found, width, grouped=not query.strip())
        offset = options.scroll_offset.y
        with self.prevent(OptionList.OptionHighlighted):
            options.clear_options()
            options.add_options(lines)
            options.highlighted = self._place(key, before)
        options.scroll_to(y=offset, animate=False, force=True)
        options.scroll_to_highlight()
        self._show_lines()
        self._note(query, len(found))
        self._tell()

    def _show_lines(self) -> None:
        """Show the lines when there are any. They get the focus back that they lost without, unless
        something else has it.
        """
        options, is_shown = self._options, bool(self._shown)
        if is_shown == options.display:
            return
        had_focus, self._had_focus = self._had_focus, options.has_focus
        options.display = is_shown
        if is_shown and had_focus and self.screen.focused is None:
            options.focus()

    def _place(self, key: str | None, before: int | None) -> int | None:
        places = [place for place, entry in enumerate(self._shown) if entry is not None]
        same = [place for place in places if key is not None and self._key_at(place) == key]
        if same or not places:
            return same[0] if same else None
        return min(places, key=lambda place: abs(place - (before or 0)))

    def _key_at(self, place: int) -> str | None:
        entry = self._shown[place]
        return entry.key if entry is not None else None

    def _note(self, query: str, count: int) -> None:
        note = self.query_one(".note", Static)
        note.set_class(not self._entries, "-empty")
        note.display = not self._entries or bool(query.strip())
        self._filter.display = self._can_filter and bool(self._entries)
        note.update(Content(f"{count} of {len(self._entries)}" if self._entries else self._empty))


def _lines(
    found: Sequence[tuple[ListEntry, Sequence[int]]], width: int, *, grouped: bool
) -> tuple[list[Option], list[ListEntry | None]]:
    """The lines with headings, and the entry of each."""
    lines: list[Option] = []
    shown: list[ListEntry | None] = []
    group = ""
    for entry, places in found:
        if grouped and entry.group != group:
            group = entry.group
            lines.append(
                Option(Content.styled(f" {group}", "$foreground 60% italic"), disabled=True)
            )
            shown.append(None)
        hint = entry.hint if grouped else " · ".join(filter(None, (entry.group, entry.hint)))
        lines.append(ValueOption(_line(entry, places, hint, width), entry.key))
        shown.append(entry)
    return lines, shown


def _line(entry: ListEntry, places: Sequence[int], hint: str, width: int) -> Content:
    """Mark and label, the letters that were typed marked; the hint at the right end where there is room."""
    mark = f" {entry.mark} " if entry.mark else "   "
    label = Content.styled(entry.label, entry.tone)
    for place in places:
        if place < len(entry.label):
            label = label.stylize("$text-accent bold", place, place + 1)
    label = label.truncate(max(1, width - cell_len(mark)), ellipsis=True)
    room = width - cell_len(mark) - label.cell_length - 1
    if not hint or room < _LEAST_HINT:
        return Content.assemble(mark, label)
    if cell_len(hint) > room:
        hint = set_cell_size(hint, room - 1).rstrip() + "…"
    space = room + 1 - cell_len(hint)
    return Content.assemble(mark, label, " " * space, Content.styled(hint, "$foreground 60%"))
