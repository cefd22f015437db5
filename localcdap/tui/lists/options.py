"""The option list of the studio, and an option that carries the value it stands for."""

from __future__ import annotations

from typing import ClassVar, Generic, TypeVar

from textual.binding import Binding, BindingType
from textual.content import Content
from textual.events import Click
from textual.widgets.option_list import Option

from localcdap.tui.studio import get_studio
from localcdap.tui.textual_internals.drawing import SafeOptionList


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
