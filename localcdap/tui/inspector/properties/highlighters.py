"""The languages of texts of several lines: those of tree-sitter, and some that are coloured line by line."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import Final

TREES: Final = frozenset(("javascript", "json", "python", "sql"))
"""Languages that tree-sitter parses."""
LONGEST: Final = 200_000
"""Characters of a text that is coloured."""

Span = tuple[int, int, str]
"""First and last character of a line, and what stands there: ``keyword``, ``string``, ``number`` …"""
LineHighlighter = Callable[[str], Iterable[Span]]

_RECIPE: Final = re.compile(
    r"""(?P<comment>^\s*(?://|\#(?!pragma)).*$)
    |(?P<keyword>^\s*(?:\#pragma\s+)?[\w-]+)
    |(?P<string>'(?:\\.|[^'\\])*'|"(?:\\.|[^"\\])*"|`[^`]*`)
    |(?P<variable>:[\w-]+|\$\{[^}]*\})
    |(?P<number>\b\d+(?:\.\d+)?\b)
    |(?P<function>\b(?:exp|prop)(?=:\s*\{))""",
    re.VERBOSE,
)
_EXPRESSION: Final = re.compile(
    r"""(?P<string>'(?:\\.|[^'\\])*'|"(?:\\.|[^"\\])*")
    |(?P<number>\b\d+(?:\.\d+)?\b)
    |(?P<keyword>\b(?:and|or|not|true|false|null|empty|size|eq|ne|lt|gt|le|ge)\b)
    |(?P<function>\b\w+(?=\())""",
    re.VERBOSE,
)


def _create_highlighter(pattern: re.Pattern[str]) -> LineHighlighter:
    def find_spans(line: str) -> Iterable[Span]:
        for found in pattern.finditer(line):
            assert found.lastgroup is not None
            yield found.start(), found.end(), found.lastgroup

    return find_spans


HIGHLIGHTERS: Final[dict[str, LineHighlighter]] = {
    "wrangler": _create_highlighter(_RECIPE),
    "jexl": _create_highlighter(_EXPRESSION),
}
"""The highlighters by language; a better one can replace one of these."""
