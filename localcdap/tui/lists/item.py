"""An option that knows what it stands for."""

from __future__ import annotations

from typing import Generic, TypeVar

from textual.content import Content
from textual.widgets.option_list import Option

_T = TypeVar("_T")


class Item(Option, Generic[_T]):
    """That it was chosen may be heard when its place in the list is another one, or another's."""

    def __init__(self, line: Content, stands_for: _T) -> None:
        super().__init__(line)
        self.stands_for = stands_for
