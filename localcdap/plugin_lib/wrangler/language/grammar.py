"""The grammar of one statement in the current syntax (wrangler ``Directives.g4``).

A column may have any name without spaces, commas, quotes and braces; the original allows only ASCII letters,
digits, ``_``, ``-`` and ``:``.

Splits the text of a recipe into statements, each of which may be a directive or a pragma.

A line holds one directive of the legacy syntax, or any number of directives of the current syntax, which
semicolons end; text in braces or in ``/* */`` may extend over several lines.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator
from decimal import Decimal
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final

import msgspec

from localcdap.api.directive.argument import ArgumentKind, NumberRange

if TYPE_CHECKING:
    from lark import Lark, Token, Tree


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
    spans = find_macros(text)
    parts: list[str] = []
    done = 0
    for start, end in spans:
        parts += (text[done:start], MASK * (end - start))
        done = end
    parts.append(text[done:])
    return "".join(parts), bool(spans)


def find_macros(text: str) -> list[tuple[int, int]]:
    """Return where the macros of a text begin and end, without those inside of others."""
    if "${" not in text:
        return []
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
    return spans


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


_GRAMMAR: Final = r"""
start: directive | pragma | MACRO+ | conditional
directive: NAME argument*
?argument: list | ranges | code | properties
list: _value ("," _value)*
_value: COLUMN | STRING | NUMBER | BOOL | NAME | MACRO
ranges: range ("," range)*
range: RANGE (STRING | NUMBER | COLUMN | BOOL | NAME | MACRO)
code: EXP inside* CLOSE
inside: OTHER | STRING | OPEN inside* CLOSE
properties: PROP (property ("," property)*)? CLOSE
property: NAME "=" (STRING | NUMBER | BOOL | NAME | MACRO)
pragma: LOADS NAME ("," NAME)* -> loads
      | VERSION NUMBER -> version
conditional: IF anything
anything: (OPEN | CLOSE | OTHER | STRING)*

COLUMN: /:[^\s,;'"=(){}]+/
STRING.3: /'(?:[^'\\\n]|\\[^\n])*'|"(?:[^"\\\n]|\\[^\n])*"|'[^'\n]*'|"[^"\n]*"/
RANGE.4: /-?[0-9]+(?:\.[0-9]*)?\s*:\s*-?[0-9]+(?:\.[0-9]*)?\s*=/
NUMBER.2: /-?[0-9]+(?:\.[0-9]*)?[Ll]*(?![A-Za-z0-9_MASK])/
BOOL.2: /(?:true|false)(?![A-Za-z0-9_\-MASK])/
MACRO.2: /MASK+(?![A-Za-z0-9_\-])/
NAME: /[A-Za-z_\-MASK][A-Za-z0-9_\-.MASK]*/
EXP.4: /exp\s*:\s*\{/
PROP.4: /prop\s*:\s*\{/
LOADS: /#pragma\s+load-directives(?![A-Za-z0-9_\-])/
VERSION: /#pragma\s+version(?![A-Za-z0-9_\-])/
IF.3: /if\s*(?=\()/
OPEN: "{"
CLOSE: "}"
OTHER: /[^'"{}\s]+?(?=['"{}\s\/\-]|$)|[\/\-'"]/
COMMENT.5: /\/\/[^\n]*|--[^\n]*|\/\*(?:[^*]|\*(?!\/))*\*\//
%ignore COMMENT
%ignore /[\s]+/
""".replace("MASK", MASK)

_KINDS: Final = {
    "COLUMN": ArgumentKind.COLUMN,
    "STRING": ArgumentKind.TEXT,
    "NUMBER": ArgumentKind.NUMBER,
    "BOOL": ArgumentKind.BOOL,
    "NAME": ArgumentKind.IDENTIFIER,
}
_LISTS: Final = {
    ArgumentKind.COLUMN: ArgumentKind.COLUMNS,
    ArgumentKind.TEXT: ArgumentKind.TEXTS,
    ArgumentKind.NUMBER: ArgumentKind.NUMBERS,
    ArgumentKind.BOOL: ArgumentKind.BOOLS,
}
_MAX_DIGITS: Final = 40
"""Longer numbers are Decimals: Python parses long ints slowly, or not at all."""
MEMBER_KINDS: Final = {several: one for one, several in _LISTS.items()}
"""The kind of a list's members by the kind of the list."""


class ParsedArgument(msgspec.Struct):
    """An argument that a recipe gives."""

    kind: ArgumentKind | None
    """None for a macro, or a list with a macro: it may be of any kind."""
    value: Any
    start: int
    """The offset of the statement in the parsed text."""
    has_macro: bool = False


class Statement(msgspec.Struct):
    """A directive, a pragma, a macro or a conditional block."""

    name: str
    """Empty for pragmas and macros; ``if`` for a conditional block."""
    start: int
    arguments: list[ParsedArgument] = []
    loads: list[tuple[str, int]] = []
    """The directives that a pragma loads, with their offsets."""
    version: str | None = None


class RecipeSyntaxError(Exception):
    """A text is not a valid statement. ``offset`` is the position of the problem in it."""

    def __init__(self, message: str, offset: int) -> None:
        super().__init__(message)
        self.message = message
        self.offset = offset


@lru_cache(maxsize=1)
def _load_parser() -> Lark:
    from lark import Lark

    return Lark(_GRAMMAR, parser="lalr", lexer="contextual", maybe_placeholders=False)


@lru_cache(maxsize=4096)
def parse_statement(text: str) -> Statement:
    """Parse one statement. The result is cached and shared: do not change it.

    :param text: masked, see :mod:`localcdap.plugin_lib.wrangler.language.grammar`; without the semicolon.
    :raises RecipeSyntaxError: for a text that is not a statement.
    """
    from lark.exceptions import UnexpectedCharacters, UnexpectedEOF, UnexpectedToken

    try:
        tree = _load_parser().parse(text)
    except UnexpectedToken as error:
        if error.token.type == "$END":
            raise RecipeSyntaxError("the directive is not complete", len(text.rstrip())) from None
        raise RecipeSyntaxError(
            f"'{_shorten(str(error.token))}' is not expected here", error.token.start_pos or 0
        ) from None
    except UnexpectedCharacters as error:
        at = error.pos_in_stream or 0
        raise RecipeSyntaxError(f"'{_shorten(text[at:])}' is not expected here", at) from None
    except UnexpectedEOF:
        raise RecipeSyntaxError("the directive is not complete", len(text.rstrip())) from None
    return _to_statement(tree.children[0], text)


def _shorten(text: str) -> str:
    word = text.split(maxsplit=1)[0] if text.split() else text
    return word if len(word) <= 30 else word[:29] + "…"


def _to_statement(node: Any, text: str) -> Statement:
    kind = getattr(node, "data", None)
    if kind == "directive":
        name, *arguments = node.children
        parsed = [_to_argument(argument, text) for argument in arguments]
        return Statement(str(name), name.start_pos, parsed)
    if kind == "loads":
        names = [(str(token), int(token.start_pos)) for token in node.children[1:]]
        return Statement("", node.children[0].start_pos, loads=names)
    if kind == "version":
        return Statement("", node.children[0].start_pos, version=str(node.children[1]))
    if kind == "conditional":
        return Statement("if", node.children[0].start_pos)
    return Statement("", node.start_pos)


def _to_argument(node: Tree[Token], text: str) -> ParsedArgument:
    first: Any = next(node.scan_values(lambda _: True))
    start: int = first.start_pos
    if node.data == "code":
        close: Any = node.children[-1]
        end = close.start_pos
        inner = text[first.end_pos : end]
        lead = len(inner) - len(inner.lstrip())
        at = first.end_pos + lead
        return ParsedArgument(
            ArgumentKind.EXPRESSION, (at, at + len(inner.strip())), start, MASK in inner
        )
    if node.data == "ranges":
        ranges = [_to_range(each) for each in node.children]
        has_macro = any(MASK in each.value for each in ranges)
        return ParsedArgument(ArgumentKind.RANGES, ranges, start, has_macro)
    if node.data == "properties":
        pairs: list[Any] = [each.children for each in node.children if hasattr(each, "children")]
        values = {str(name): _to_scalar(value) for name, value in pairs}
        has_macro = any(MASK in str(value) for value in values.values())
        return ParsedArgument(ArgumentKind.PROPERTIES, values, start, has_macro)
    return _to_list_argument(node.children, start)


def _to_list_argument(tokens: list[Any], start: int) -> ParsedArgument:
    has_macro = any(MASK in token for token in tokens)
    kinds = {_KINDS.get(token.type) for token in tokens}
    kind = kinds.pop() if len(kinds) == 1 else None
    if len(tokens) == 1:
        return ParsedArgument(kind, _to_scalar(tokens[0]), start, has_macro)
    if not has_macro and (kind is None or kind not in _LISTS):
        raise RecipeSyntaxError("the members of a list must be of one kind", start)
    several = None if kind is None else _LISTS.get(kind)
    return ParsedArgument(several, [_to_scalar(token) for token in tokens], start, has_macro)


def _to_range(node: Any) -> NumberRange:
    low, high = str(node.children[0]).rstrip("=").rstrip().split(":")
    return NumberRange(
        parse_number(low.strip()), parse_number(high.strip()), _to_range_value(node.children[1])
    )


def _to_range_value(token: Token) -> str:
    return strip_quotes(token) if token.type == "STRING" else str(token)


def _to_scalar(token: Any) -> Any:
    if token.type == "COLUMN":
        return str(token[1:])
    if token.type == "STRING":
        return strip_quotes(token)
    if token.type == "NUMBER":
        return parse_number(token)
    if token.type == "BOOL":
        return str(token) == "true"
    return str(token)


def strip_quotes(text: str) -> str:
    """Return a text without its quotes; backslashes stay as they are (wrangler ``RecipeVisitor``)."""
    return str(text[1:-1])


def parse_number(text: str) -> int | Decimal:
    """Return the number that a text holds, with or without the suffix ``L``."""
    digits = text.rstrip("Ll")
    is_whole = "." not in digits and len(digits) <= _MAX_DIGITS
    return int(digits) if is_whole else Decimal(digits)
