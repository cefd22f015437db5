"""The list of options that every part of the studio uses."""

from __future__ import annotations

from dataclasses import replace
from typing import ClassVar, Generic, Literal, TypeVar

from textual.binding import Binding, BindingType
from textual.content import Content
from textual.events import Click
from textual.widgets import OptionList
from textual.widgets.option_list import Option


class StudioOptionList(OptionList):
    """A list of options that bears what Textual's does not expect.

    Its options may be others between a click and the moment at which it is heard, and it may have no room.

    :param verb: what enter does with an option, where hints of keys tell it.
    """

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "select", "choose", id="list.choose", show=False)
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
            keys = self._bindings.key_to_bindings
            keys["enter"] = [
                replace(each, description=verb, key_display="enter", show=True)
                for each in keys["enter"]
            ]

    def _move_page(self, direction: Literal[-1, 1]) -> None:
        if self._lines:
            super()._move_page(direction)

    def on_click(self, event: Click) -> None:
        clicked = event.style.meta.get("option")
        if clicked is not None and clicked >= self.option_count:
            event.prevent_default()


_T = TypeVar("_T")


class ValueOption(Option, Generic[_T]):
    """That it was chosen may be heard when its place in the list is another one, or another's."""

    def __init__(self, line: Content, value: _T) -> None:
        super().__init__(line)
        self.value = value
