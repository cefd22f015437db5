"""Splits the text of a recipe into statements, each of which may be a directive or a pragma.

A line holds one directive of the legacy syntax, or any number of directives of the current syntax, which
semicolons end; text in braces or in ``/* */`` may extend over several lines.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator
from typing import Final

import msgspec

MASK: Final = "\ue000"
"""Replaces every character of a macro, so that a macro is one word and positions stay the same."""
_MAX_LINES: Final = 400
"""Lines over which an open brace is followed. It keeps the time linear however many are never closed."""
_MARKS: Final = re.compile(
    r"""'(?:[^'\\\n]|\\[^\n])*'|"(?:[^"\\\n]|\\[^\n])*"|//[^\n]*|--[^\n]*|/\*|['"{};\n]"""
)
_COMMENT_END: Final = "*/"


class SourceSpan(msgspec.Struct, frozen=True):
    """A part of the text that may be a statement."""

    start: int
    end: int


class RecipeLine(msgspec.Struct, frozen=True):
    """A line, or several lines that open braces join."""

    start: int
    end: int
    statements: list[SourceSpan]
    """The statements of the line in the current syntax, without empty ones."""
    unclosed: int | None = None
    """Offset of a brace or comment that is never closed."""


class SourcePositions:
    """Converts offsets in a text to lines and columns, both from 1."""

    def __init__(self, text: str) -> None:
        self._starts = [0, *(found.end() for found in re.finditer("\n", text))]

    def locate(self, offset: int) -> tuple[int, int]:
        """Return the line and column of an offset."""
        line = bisect_right(self._starts, offset)
        return line, offset - self._starts[line - 1] + 1


def mask_macros(text: str) -> tuple[str, bool]:
    """Return the text with every macro masked, and whether it holds macros. Takes linear time."""
    if "${" not in text:
        return text, False
    opened: list[int] = []
    spans: list[tuple[int, int]] = []
    for found in re.finditer(r"\$\{|[{}\n]", text):
        mark = found.group()
        if mark == "${":
            opened.append(found.start())
        elif mark == "{" and opened:
            opened.append(-1)
        elif mark == "}" and opened:
            start = opened.pop()
            if start >= 0 and not opened:
                spans.append((start, found.end()))
        elif mark == "\n":
            opened.clear()
    parts: list[str] = []
    done = 0
    for start, end in spans:
        parts += (text[done:start], MASK * (end - start))
        done = end
    parts.append(text[done:])
    return "".join(parts), bool(spans)


def split_lines(text: str) -> Iterator[RecipeLine]:
    """Yield the lines of a masked text that hold more than comments.

    Lines that begin with ``//`` or ``#`` are comments, except those that begin with ``#pragma``.
    """
    start = 0
    while start < len(text):
        end = _find_line_end(text, start)
        content = text[start:end].lstrip()
        at = end - len(content) if content else end
        content = content.rstrip()
        if not content or content.startswith("//") or _is_hash_comment(content):
            start = end + 1
            continue
        line = _LineScanner(text, at).scan(end)
        yield line
        start = line.end + 1


def _is_hash_comment(content: str) -> bool:
    return content.startswith("#") and not content.startswith("#pragma")


def _find_line_end(text: str, start: int) -> int:
    end = text.find("\n", start)
    return len(text) if end < 0 else end


class _LineScanner:
    """Reads a line, and the lines that follow while a brace or a comment is open."""

    def __init__(self, text: str, start: int) -> None:
        self._text = text
        self._start = start
        self._statements: list[SourceSpan] = []
        self._braces: list[int] = []
        self._has_unpaired_quote = False
        self._statement_start = start
        self._lines = 0

    def scan(self, first_end: int) -> RecipeLine:
        """Return the line that begins at the scanner's start.

        :param first_end: offset of the first line end.
        """
        at = self._start
        while True:
            found = _MARKS.search(self._text, at)
            if found is None:
                return self._finish(len(self._text), first_end)
            mark = found.group()
            at = found.end()
            if mark == "\n":
                self._lines += 1
                if not self._braces or self._lines > _MAX_LINES:
                    return self._finish(found.start(), first_end)
            elif mark == "/*":
                close = self._text.find(_COMMENT_END, at, at + 200 * _MAX_LINES)
                if close < 0:
                    return RecipeLine(self._start, first_end, [], found.start())
                at = close + len(_COMMENT_END)
            else:
                self._handle_mark(mark, found.start())

    def _handle_mark(self, mark: str, at: int) -> None:
        if mark == "{":
            self._braces.append(at)
        elif mark == "}" and self._braces:
            self._braces.pop()
        elif mark == ";" and not self._braces:
            self._end_statement(at)
        elif mark in ("'", '"'):
            self._has_unpaired_quote = True

    def _end_statement(self, end: int) -> None:
        if self._text[self._statement_start : end].strip():
            self._statements.append(SourceSpan(self._statement_start, end))
        self._statement_start = end + 1

    def _finish(self, end: int, first_end: int) -> RecipeLine:
        if self._braces:
            span = SourceSpan(self._start, first_end)
            return RecipeLine(self._start, first_end, [span], self._braces[0])
        self._end_statement(end)
        if self._has_unpaired_quote and end == first_end:
            # A quote without a matching one is an ordinary character of the legacy syntax.
            return RecipeLine(self._start, end, [SourceSpan(self._start, end)])
        return RecipeLine(self._start, end, self._statements)
