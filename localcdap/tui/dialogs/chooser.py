"""A list to choose from by typing some of its letters: the palette, the keys, themes, files, versions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, ClassVar, Generic, TypeVar

from rich.cells import cell_len
from textual import events, on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.content import Content
from textual.widgets import Input, OptionList, Static
from textual.widgets.option_list import Option

from localcdap.tui.dialogs.dialog_screen import DialogScreen
from localcdap.tui.fuzzy_match import rank_matches
from localcdap.tui.lists.options import StudioOptionList, ValueOption
from localcdap.tui.studio import Choice

_T = TypeVar("_T")


class Chooser(DialogScreen[_T | None], Generic[_T]):
    """Lets its user choose one; the answer is the value of the choice, None when there is none.

    :param highlighted: called with the value of the highlighted choice, such as a theme to show.
    """

    DEFAULT_CSS = """
    Chooser {
        align: center top;
        & > #dialog { width: 84; max-height: 80%; margin-top: 2; }
        & #chooser-title { color: $text-muted; padding: 0 1; }
        & #chooser-input {
            height: 1; border: none; padding: 0 1; margin: 0 0 1 0; background: $boost;
        }
        & #chooser-list {
            height: auto; max-height: 100%; border: none; padding: 0; background: transparent;
            & > .option-list--option { padding: 0 1; }
        }
        & #chooser-detail { color: $text-muted; padding: 1 1 0 1; height: auto; max-height: 5; }
    }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("down,ctrl+n,ctrl+j", "move(1)", "next", show=False, priority=True),
        Binding("up,ctrl+p,ctrl+k", "move(-1)", "previous", show=False, priority=True),
        Binding("pagedown", "move(10)", "next page", show=False),
        Binding("pageup", "move(-10)", "previous page", show=False),
    ]

    def __init__(
        self,
        choices: Sequence[Choice[_T]],
        *,
        title: str = "",
        placeholder: str = "type to filter",
        query: str = "",
        start: int = 0,
        on_highlight: Callable[[_T], object] | None = None,
    ) -> None:
        super().__init__()
        self._choices = choices
        self._title = title
        self._placeholder = placeholder
        self._query = query
        self._start = start
        self._highlighted = on_highlight
        self._shown: list[Choice[_T] | None] = []
        self._filled = query
        """What the list is filtered by."""

    def compose_body(self) -> ComposeResult:
        if self._title:
            yield Static(self._title, id="chooser-title")
        yield Input(self._query, placeholder=self._placeholder, id="chooser-input", compact=True)
        listed = StudioOptionList(id="chooser-list")
        listed.can_focus = False
        yield listed
        yield Static(id="chooser-detail")

    def on_mount(self) -> None:
        self._fill(self._query)

    @on(Input.Changed, "#chooser-input")
    def _handle_typing(self, event: Input.Changed) -> None:
        event.stop()
        self._catch_up()

    @on(Input.Submitted, "#chooser-input")
    def _handle_submit(self, event: Input.Submitted) -> None:
        event.stop()
        index = self._list.highlighted
        self._choose(self._shown[index] if index is not None else None)

    @on(OptionList.OptionSelected)
    def _handle_selection(self, event: OptionList.OptionSelected) -> None:
        event.stop()
        if isinstance(event.option, ValueOption):
            self._choose(event.option.value)

    @on(OptionList.OptionHighlighted)
    def _handle_highlight(self, event: OptionList.OptionHighlighted) -> None:
        event.stop()
        choice = self._shown[event.option_index] if event.option_index < len(self._shown) else None
        if choice is None:  # or the list has changed since
            return
        reason = f"Not now: {choice.reason}" if choice.reason else ""
        self.query_one("#chooser-detail", Static).update(Content(reason or choice.detail))
        if self._highlighted is not None and choice.reason is None:
            self._highlighted(choice.value)

    def on_key(self, event: events.Key) -> None:
        """Pass keys to the filter field that are typed before it has the focus."""
        if event.is_printable and event.character and self.focused is None:
            event.stop()
            event.prevent_default()
            field = self.query_one(Input)
            field.insert_text_at_cursor(event.character)
            field.focus()

    def on_resize(self, event: events.Resize) -> None:
        self.call_after_refresh(self._refill)

    def action_move(self, by: int) -> None:
        """Move in what answers to all that was typed before."""
        self.query_one(Input).call_later(self._move, by)

    def _move(self, by: int) -> None:
        self._catch_up()
        listed = self._list
        if not any(self._shown):
            return
        index = (listed.highlighted or 0) + by
        step = 1 if by > 0 else -1
        index = (
            max(0, min(index, len(self._shown) - 1)) if abs(by) > 1 else index % len(self._shown)
        )
        while self._shown[index] is None:
            index = (index + step) % len(self._shown)
        listed.highlighted = index

    @property
    def _list(self) -> OptionList:
        return self.query_one("#chooser-list", OptionList)

    def _choose(self, choice: Choice[_T] | None) -> None:
        if choice is None:
            return
        if choice.reason is not None:
            self.app.bell()
            return
        self.dismiss(choice.value)

    def _refill(self) -> None:
        """Show the same list in another width; who has moved in it stays where they are."""
        self._catch_up()
        index = self._list.highlighted
        self._fill(self._filled)
        self._list.highlighted = index

    def _catch_up(self) -> None:
        """Filter by what has been typed by now."""
        query = self.query_one(Input).value
        if query != self._filled:
            self._fill(query)

    def _fill(self, query: str) -> None:
        """Show what answers the query; the headings only while there is none."""
        self._filled = query
        found = rank_matches(query, [(f"{each.label} {each.hint}", each) for each in self._choices])
        listed = self._list
        width = (listed.size.width or 80) - 3
        options: list[Option] = []
        self._shown = []
        group = ""
        for choice, places in found:
            if not query.strip() and choice.group and choice.group != group:
                group = choice.group
                options.append(Option(Content.styled(group, "$foreground 55% bold"), disabled=True))
                self._shown.append(None)
            options.append(ValueOption(_render_choice(choice, places, width), choice))
            self._shown.append(choice)
        start = self._start if not query.strip() else 0
        with self.prevent(OptionList.OptionHighlighted):
            listed.clear_options()
            listed.add_options(options)
        first = next((place for place, each in enumerate(self._shown) if each is not None), None)
        if first is None:
            self.query_one("#chooser-detail", Static).update("Nothing here answers to that.")
        elif start and start < len(found):
            listed.highlighted = self._shown.index(found[start][0])
        else:
            listed.highlighted = first


def _render_choice(choice: Choice[Any], places: Sequence[int], width: int) -> Content:
    """Render one line: the label with the matched letters marked, and the hint at the right end."""
    label = Content.styled(choice.label, "$foreground 40%" if choice.reason else "")
    for place in places:
        if place < len(choice.label):
            label = label.stylize("$text-accent bold", place, place + 1)
    space = max(1, width - cell_len(choice.label) - cell_len(choice.hint))
    hint = Content.styled(choice.hint, "$foreground 55%")
    return Content.assemble(label, " " * space, hint)
