"""A list to choose from by typing some of its letters: the palette, the keys, themes, files, versions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import ClassVar, Generic, TypeVar

from textual import events, on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.content import Content
from textual.screen import ScreenResultType
from textual.widgets import Input, Static

from localcdap.tui.dialogs.dialog_screen import DialogScreen
from localcdap.tui.lists import FilteredList, FilteredListOptions, ListEntry
from localcdap.tui.studio import Choice

_T = TypeVar("_T")


class ListDialog(DialogScreen[ScreenResultType]):
    """The base of dialogs in which typing filters a list, the arrows move in it, and enter takes an entry.

    A subclass yields a :class:`FilteredList` and implements :meth:`take`. Keys have their effect on what all
    letters that were typed before have left in the list.
    """

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("down,ctrl+n,ctrl+j", "move(1)", "next", show=False, priority=True),
        Binding("up,ctrl+p,ctrl+k", "move(-1)", "previous", show=False, priority=True),
        Binding("pagedown", "move(10)", "next page", show=False),
        Binding("pageup", "move(-10)", "previous page", show=False),
        Binding("enter", "accept", "take", show=False, priority=True),
        Binding("escape", "dismiss_empty", "back", show=False, priority=True),
    ]
    DEFAULT_CSS = """
    ListDialog {
        align: center top;
        & FilteredList > .filter { margin-bottom: 1; background: $boost; }
        & FilteredList > FilteredListOptions > .option-list--option-highlighted {
            background: $primary 40%; color: $text;
        }
    }
    """
    AUTO_FOCUS = ".filter"

    @property
    def listing(self) -> FilteredList:
        return self.query_one(FilteredList)

    def on_mount(self) -> None:
        self.query_one(".filter", Input).placeholder = "type to filter"
        self.query_one(FilteredListOptions).can_focus = False  # the keys are those of the filter

    def take(self, key: str) -> None:
        """Answer with the entry of a key."""
        raise NotImplementedError

    def on_key(self, event: events.Key) -> None:
        """Pass keys to the filter field that are typed before it has the focus."""
        if event.is_printable and event.character and self.focused is None:
            event.stop()
            event.prevent_default()
            self.listing.type_filter(event.character)

    @on(FilteredList.Chosen)
    def _take_chosen(self, event: FilteredList.Chosen) -> None:
        event.stop()
        self.take(event.key)

    def action_move(self, by: int) -> None:
        self.listing.call_when_filtered(lambda: self.listing.move(by))

    def action_accept(self) -> None:
        self.listing.call_when_filtered(self._take_highlighted)

    def _take_highlighted(self) -> None:
        if self.listing.key is not None:
            self.take(self.listing.key)


class Chooser(ListDialog[_T | None], Generic[_T]):
    """Lets its user choose one; the answer is the value of the choice, None when there is none.

    :param start: the place of the choice that is highlighted at first.
    :param on_highlight: called with the value of the highlighted choice, such as a theme to show.
    """

    DEFAULT_CSS = """
    Chooser {
        & > #dialog { width: 84; max-height: 80%; margin-top: 2; }
        & #chooser-title { color: $text-muted; padding: 0 1; }
        & FilteredList { height: auto; max-height: 55vh; }
        & FilteredList > FilteredListOptions { height: auto; max-height: 42vh; }
        & #chooser-detail { color: $text-muted; padding: 1 1 0 1; height: auto; max-height: 5; }
    }
    """

    def __init__(
        self,
        choices: Sequence[Choice[_T]],
        *,
        title: str = "",
        start: int = 0,
        on_highlight: Callable[[_T], object] | None = None,
    ) -> None:
        super().__init__()
        self._choices = choices
        self._title = title
        self._start = start
        self._on_highlight = on_highlight

    def compose_body(self) -> ComposeResult:
        if self._title:
            yield Static(self._title, id="chooser-title")
        yield FilteredList(id="chooser-list", empty="There is nothing to choose.")
        yield Static(id="chooser-detail")

    def on_mount(self) -> None:
        self.listing.show(str(self._start))
        self.listing.set_entries([_build_entry(*each) for each in enumerate(self._choices)])

    @on(FilteredList.Highlighted)
    def _show_highlighted(self, event: FilteredList.Highlighted) -> None:
        event.stop()
        detail = self.query_one("#chooser-detail", Static)
        if event.key is None:
            detail.update("Nothing here answers to that.")
            return
        choice = self._choices[int(event.key)]
        detail.update(Content(f"Not now: {choice.reason}" if choice.reason else choice.detail))
        if self._on_highlight is not None and choice.reason is None:
            self._on_highlight(choice.value)

    def take(self, key: str) -> None:
        choice = self._choices[int(key)]
        if choice.reason is not None:
            self.app.bell()
        else:
            self.dismiss(choice.value)


def _build_entry(place: int, choice: Choice[_T]) -> ListEntry:
    tone = "$foreground 40%" if choice.reason else ""
    return ListEntry(
        str(place), choice.label, "", choice.hint, choice.group, words=choice.hint, tone=tone
    )
