"""Private parts of widgets of Textual: lists, tables, text areas and completion."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import cache
from itertools import chain
from typing import Final, Literal

from rich.style import Style
from textual.document._syntax_aware_document import SyntaxAwareDocument
from textual.geometry import Region
from textual.strip import Strip
from textual.widgets import OptionList, TextArea, _text_area
from textual_autocomplete import AutoComplete, TargetState
from textual_fastdatatable import DataTable
from tree_sitter import Language, Query

from localcdap.tui.textual_internals.strip import mark_line


class SafeOptionList(OptionList):
    """An option list whose page keys work while it is empty, and whose enter key has a hint.

    The highlighted option has a mark besides its colour, where the colour shows too.
    """

    def set_enter_hint(self, description: str) -> None:
        """Show what enter does in the footer."""
        keys = self._bindings.key_to_bindings
        keys["enter"] = [
            replace(each, description=description, key_display="enter", show=True)
            for each in keys["enter"]
        ]

    def _update_lines(self) -> None:
        padding = self.get_component_styles("option-list--option").padding
        # Textual divides by the width that is left for text.
        if self.scrollable_content_region.width - self._get_left_gutter_width() > padding.width:
            super()._update_lines()

    def render_line(self, y: int) -> Strip:
        line, number = super().render_line(y), self.scroll_offset.y + y
        is_shown = self.has_focus or not self.can_focus or not self.has_class("plain")
        if is_shown and number < len(self._lines) and self._lines[number] == (self.highlighted, 0):
            return mark_line(line)
        return line

    def _move_page(self, direction: Literal[-1, 1]) -> None:
        if self._lines:  # Textual divides by the number of lines
            super()._move_page(direction)


_HEADER: Final = -1
"""The index of the row of headers."""


class TallHeaderTable(DataTable):
    """Draws all lines of the headers; rows have one line, as in fastdatatable."""

    def _render_line(self, y: int, x1: int, x2: int, base_style: Style) -> Strip:
        if not self.show_header or y >= self.header_height:
            return super()._render_line(y - self.header_height + 1, x1, x2, base_style)
        width = self.size.width
        fixed, scrollable, hidden, _ = self._render_line_in_row(
            _HEADER,
            y,
            x1,
            x2,
            base_style,
            cursor_location=self.cursor_coordinate,
            hover_location=self.hover_coordinate,
            selection_anchor_location=self.selection_anchor_coordinate,
        )
        line = Strip(chain.from_iterable(scrollable)).crop(x1 - hidden, x2 - hidden)
        segments = [*chain.from_iterable(fixed), *line]
        return Strip(segments).adjust_cell_length(width, base_style).simplify()


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


LineHighlighter = Callable[[str], Iterable[tuple[int, int, str]]]
"""Yields start, end and the name of the style of each highlighted part of a line."""


class HighlightedTextArea(TextArea):
    """A text area that can highlight by line."""

    highlight_line: LineHighlighter | None = None
    """Highlights each line besides the query of the language."""

    def render_lines(self, crop: Region) -> list[Strip]:
        """Draw blank lines before the styles are there.

        Behind a dialog that opens in the same moment, Textual draws a new area too early, and fails.
        """
        if "text-area--gutter" not in self._component_styles:
            return [Strip.blank(crop.width)] * crop.height
        return super().render_lines(crop)

    def _build_highlight_map(self) -> None:
        super()._build_highlight_map()
        if self.highlight_line is None:
            return
        for index, line in enumerate(self.document.lines):
            for start, end, style in self.highlight_line(line):
                first, last = len(line[:start].encode()), len(line[:end].encode())
                self._highlights[index].append((first, last, style))


class CachedQueryDocument(SyntaxAwareDocument):
    """A document that compiles the queries of its language once for all documents.

    Textual compiles the highlighting query for each text area, which takes up to 100 ms for SQL, and even an
    empty query of SQL takes 40 ms.
    """

    def prepare_query(self, query: str) -> Query | None:
        return _compile_query(self.language, query)


@cache
def _compile_query(language: Language, query: str) -> Query:
    """Compile a query."""
    return Query(language, query)


_text_area.SyntaxAwareDocument = CachedQueryDocument  # type: ignore[attr-defined]  # text areas create it by that name
