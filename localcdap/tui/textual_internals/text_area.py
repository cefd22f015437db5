"""Private parts of Textual's text area: highlighting with cached queries and with functions of lines."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import cache

from textual.document._syntax_aware_document import SyntaxAwareDocument
from textual.geometry import Region
from textual.strip import Strip
from textual.widgets import TextArea, _text_area
from tree_sitter import Language, Query

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
