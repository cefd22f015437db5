"""Private parts of Textual's text area: highlighting with cached queries and with functions of lines."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import cache

from textual.document._syntax_aware_document import SyntaxAwareDocument
from textual.geometry import Region
from textual.strip import Strip
from textual.widgets import TextArea
from tree_sitter import Language, Query

LineHighlighter = Callable[[str], Iterable[tuple[int, int, str]]]
"""Yields start, end and the name of the style of each highlighted part of a line."""


class HighlightedTextArea(TextArea):
    """A text area that prepares the highlighting query of a language once, and can highlight by line."""

    highlight_line: LineHighlighter | None = None
    """Highlights each line besides the query of the language."""

    def render_lines(self, crop: Region) -> list[Strip]:
        """Draw blank lines before the styles are there.

        Behind a dialog that opens in the same moment, Textual draws a new area too early, and fails.
        """
        if "text-area--gutter" not in self._component_styles:
            return [Strip.blank(crop.width)] * crop.height
        return super().render_lines(crop)

    @staticmethod
    def _get_builtin_highlight_query(language_name: str) -> str:  # noqa: ARG004 - as Textual calls it
        """Return no query: Textual would compile it for each text area, which takes up to 40 ms."""
        return ""

    def _set_document(self, text: str, language: str | None) -> None:
        super()._set_document(text, language)
        if language and isinstance(self.document, SyntaxAwareDocument):
            self._highlight_query = _compile_query(self.document.language, language)
            self._build_highlight_map()

    def _build_highlight_map(self) -> None:
        super()._build_highlight_map()
        if self.highlight_line is None:
            return
        for index, line in enumerate(self.document.lines):
            for start, end, style in self.highlight_line(line):
                first, last = len(line[:start].encode()), len(line[:end].encode())
                self._highlights[index].append((first, last, style))


@cache
def _compile_query(language: Language, name: str) -> Query:
    """Compile the highlighting query of a language."""
    return Query(language, TextArea._get_builtin_highlight_query(name))
