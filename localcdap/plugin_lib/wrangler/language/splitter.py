"""The text of a recipe as pieces that may each be a directive.

A line holds one directive of the older form, or any number of those of the present form, ended by
semicolons; what stands in braces or in ``/* */`` may go on over several lines.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator
from typing import Final

import msgspec

MASK: Final = "\ue000"
"""Stands for every character of a macro, so that a macro is one word and places stay as they are."""
_MOST_LINES: Final = 400
"""How far braces are followed to their end. Keeps the time linear however many are never closed."""
_MARKS: Final = re.compile(
    r"""'(?:[^'\\\n]|\\[^\n])*'|"(?:[^"\\\n]|\\[^\n])*"|//[^\n]*|--[^\n]*|/\*|['"{};\n]"""
)
_COMMENT_END: Final = "*/"


class Piece(msgspec.Struct, frozen=True):
    """A part of the text that may be a directive."""

    start: int
    end: int


class Line(msgspec.Struct, frozen=True):
    """A line, or several that braces hold together."""

    start: int
    end: int
    pieces: list[Piece]
    """Its directives, if it is written in the present form; not empty ones."""
    unclosed: int | None = None
    """Where a brace or a comment begins that has no end."""


class Places:
    """Lines and columns of a text by offset, both from 1."""

    def __init__(self, text: str) -> None:
        self._starts = [0, *(found.end() for found in re.finditer("\n", text))]

    def at(self, offset: int) -> tuple[int, int]:
        line = bisect_right(self._starts, offset)
        return line, offset - self._starts[line - 1] + 1


def masked(text: str) -> tuple[str, bool]:
    """The text with every macro masked, and whether there was one. Time is linear in the text."""
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


def lines_of(text: str) -> Iterator[Line]:
    """The lines of a masked text that hold more than comments.

    Lines that begin with ``//`` or ``#`` are comments, but for those with ``#pragma``.
    """
    start = 0
    while start < len(text):
        end = _line_end(text, start)
        content = text[start:end].lstrip()
        at = end - len(content) if content else end
        content = content.rstrip()
        if not content or content.startswith("//") or _is_remark(content):
            start = end + 1
            continue
        line = _line(text, at, end)
        yield line
        start = line.end + 1


def _is_remark(content: str) -> bool:
    return content.startswith("#") and not content.startswith("#pragma")


def _line_end(text: str, start: int) -> int:
    end = text.find("\n", start)
    return len(text) if end < 0 else end


class _Scan:
    """Reads the marks of a line, and of those that follow while something is open."""

    def __init__(self, text: str, start: int) -> None:
        self.text = text
        self.start = start
        self.pieces: list[Piece] = []
        self.braces: list[int] = []
        self.is_quoted = False
        self._from = start
        self._lines = 0

    def read(self, first_end: int) -> Line:
        at = self.start
        while True:
            found = _MARKS.search(self.text, at)
            if found is None:
                return self._ended(len(self.text), first_end)
            mark = found.group()
            at = found.end()
            if mark == "\n":
                self._lines += 1
                if not self.braces or self._lines > _MOST_LINES:
                    return self._ended(found.start(), first_end)
            elif mark == "/*":
                close = self.text.find(_COMMENT_END, at, at + 200 * _MOST_LINES)
                if close < 0:
                    return Line(self.start, first_end, [], found.start())
                at = close + len(_COMMENT_END)
            else:
                self._mark(mark, found.start())

    def _mark(self, mark: str, at: int) -> None:
        if mark == "{":
            self.braces.append(at)
        elif mark == "}" and self.braces:
            self.braces.pop()
        elif mark == ";" and not self.braces:
            self._cut(at)
        elif mark in ("'", '"'):
            self.is_quoted = True

    def _cut(self, end: int) -> None:
        if self.text[self._from : end].strip():
            self.pieces.append(Piece(self._from, end))
        self._from = end + 1

    def _ended(self, end: int, first_end: int) -> Line:
        if self.braces:
            return Line(self.start, first_end, [Piece(self.start, first_end)], self.braces[0])
        self._cut(end)
        if self.is_quoted and end == first_end:
            # A quote without its other one is a character of the older form.
            return Line(self.start, end, [Piece(self.start, end)])
        return Line(self.start, end, self.pieces)


def _line(text: str, start: int, end: int) -> Line:
    return _Scan(text, start).read(end)
