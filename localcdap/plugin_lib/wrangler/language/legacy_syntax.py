"""The legacy syntax of directives: bare columns, texts without quotes, bare expressions.

Each line is one directive. Spaces separate words; the last argument, and an expression, takes the rest of the
line (wrangler ``MigrateToV2``). Words with ``:`` and quotes have the meaning of the current syntax, so that
mixed lines can be parsed too.

An optional argument whose kind does not match is skipped. A bare ``null``, which stands in recipes that CDAP
has migrated, is ignored.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, Final

import msgspec

from localcdap.api.directive.argument import Argument, ArgumentKind
from localcdap.plugin_lib.wrangler.language.grammar import (
    MASK,
    MEMBER_KINDS,
    ParsedArgument,
    RecipeSyntaxError,
    parse_number,
    parse_statement,
    strip_quotes,
)

_KIND_NAMES: Final = {
    ArgumentKind.COLUMN: "a column",
    ArgumentKind.COLUMNS: "a list of columns",
    ArgumentKind.TEXT: "a text",
    ArgumentKind.TEXTS: "a list of texts",
    ArgumentKind.NUMBER: "a number",
    ArgumentKind.NUMBERS: "a list of numbers",
    ArgumentKind.BOOL: "true or false",
    ArgumentKind.BOOLS: "a list of true and false",
    ArgumentKind.IDENTIFIER: "a word",
    ArgumentKind.EXPRESSION: "an expression",
    ArgumentKind.RANGES: "ranges of numbers",
    ArgumentKind.PROPERTIES: "properties",
}


class ArgumentMismatch(msgspec.Struct):
    """The reason why arguments do not fit a declaration."""

    message: str
    offset: int
    """The position of the argument; -1 for the whole directive."""


class BoundArguments(msgspec.Struct):
    """The arguments of a call, by attribute."""

    values: dict[str, Any]
    macros: list[str]
    """Attributes of the arguments that hold macros."""
    ignored: list[ParsedArgument]
    """Arguments that fit no declared one; the original ignores them silently."""


def bind_arguments(
    declared: Sequence[Argument], given: Sequence[ParsedArgument]
) -> BoundArguments | ArgumentMismatch:
    """Return the given arguments by attribute, or the reason why they do not fit."""
    given = [each for each in given if not _is_null(each)]
    required = sum(not argument.is_optional for argument in declared)
    if len(given) < required:
        missing = [a.name for a in declared if not a.is_optional][len(given) :]
        return ArgumentMismatch(f"{_quote_names(missing)} missing", -1)
    bound = BoundArguments({}, [], [])
    position = 0
    for each in given:
        while position < len(declared):
            argument = declared[position]
            position += 1
            if _can_bind(argument.kind, each):
                _bind(bound, argument, each)
                break
            if not argument.is_optional:
                kind = _KIND_NAMES[argument.kind]
                message = f"'{argument.name}' must be {kind}, not {_describe(each)}"
                return ArgumentMismatch(message, each.start)
        else:
            bound.ignored.append(each)
    left = [a.name for a in declared[position:] if not a.is_optional]
    if left:
        return ArgumentMismatch(f"{_quote_names(left)} missing", -1)
    return _check_choices(bound, declared, given)


def _check_choices(
    bound: BoundArguments, declared: Sequence[Argument], given: Sequence[ParsedArgument]
) -> BoundArguments | ArgumentMismatch:
    """Check the number of arguments, and spell choices as they are declared."""
    if len(given) > len(declared):
        return ArgumentMismatch(f"there are {len(given)} arguments for {len(declared)}", -1)
    for argument in declared:
        value = bound.values.get(argument.attribute)
        if not argument.choices or not isinstance(value, str):
            continue
        choice = next((c for c in argument.choices if c.lower() == value.lower()), None)
        if choice is None:
            allowed = ", ".join(argument.choices)
            message = f"'{argument.name}' must be one of {allowed}, not '{value}'"
            return ArgumentMismatch(message, -1)
        bound.values[argument.attribute] = choice
    return bound


def _can_bind(kind: ArgumentKind, given: ParsedArgument) -> bool:
    return given.kind is kind or given.kind is MEMBER_KINDS.get(kind) or given.kind is None


def _bind(bound: BoundArguments, argument: Argument, given: ParsedArgument) -> None:
    if given.has_macro:
        bound.macros.append(argument.attribute)
    elif argument.kind in MEMBER_KINDS and given.kind is MEMBER_KINDS[argument.kind]:
        bound.values[argument.attribute] = [given.value]
    else:
        bound.values[argument.attribute] = given.value


def _is_null(given: ParsedArgument) -> bool:
    return given.kind is ArgumentKind.IDENTIFIER and given.value == "null"


def _quote_names(names: Sequence[str]) -> str:
    quoted = ", ".join(f"'{name}'" for name in names)
    return f"{quoted} {'is' if len(names) == 1 else 'are'}"


def _describe(given: ParsedArgument) -> str:
    return "a value" if given.kind is None else _KIND_NAMES[given.kind]


_WORD: Final = re.compile(r"""'[^'\n]*'(?=\s|$)|"[^"\n]*"(?=\s|$)|\S+""")
_NUMBER: Final = re.compile(r"-?[0-9]+(?:\.[0-9]*)?[Ll]*")
_NAME: Final = re.compile(r""":?[^\s,;'"=(){}:][^\s,;'"=(){}]*""")
_IDENTIFIER: Final = re.compile(r"[A-Za-z_\-][A-Za-z0-9_\-.]*")
_COMMENT: Final = re.compile(r"//|--|#")
_FIRST: Final = re.compile(r"\S+")
_JOINED: Final = re.compile(r"\s*,\s*|(?<=,)\s+")
_MEMBER: Final = re.compile(r"[^\s,]\S*")
_COMMA: Final = re.compile(r"\s*,\s*")
_FLAGS: Final = {"true": True, "false": False}


class RenamedDirective(msgspec.Struct, frozen=True):
    """A directive that has another name in the current syntax."""

    words: tuple[str, ...]
    """The words that it begins with in the legacy syntax."""
    name: str
    first: str = ""
    """An argument that the current syntax has before the others."""
    last: str = ""
    """An argument that the current syntax has after the others."""


RENAMED_DIRECTIVES: Final = (
    RenamedDirective(("set", "columns"), "set-headers"),
    RenamedDirective(("set", "column"), "set-column"),
    RenamedDirective(("filter-row-if-matched",), "filter-by-regex", first="if-matched"),
    RenamedDirective(("filter-row-if-not-matched",), "filter-by-regex", first="if-not-matched"),
    RenamedDirective(("filter-row-if-true",), "filter-row", last="true"),
    RenamedDirective(("filter-row-if-false",), "filter-row", last="false"),
    RenamedDirective(("filter-rows-on", "condition-true"), "filter-row", last="true"),
    RenamedDirective(("filter-rows-on", "condition-false"), "filter-row", last="false"),
    RenamedDirective(("filter-rows-on", "empty-or-null-columns"), "filter-empty-or-null"),
    RenamedDirective(("filter-rows-on", "regex-match"), "filter-by-regex", first="if-matched"),
    RenamedDirective(
        ("filter-rows-on", "regex-not-match"), "filter-by-regex", first="if-not-matched"
    ),
)
LEGACY_NAMES: Final = frozenset(renamed.words[0] for renamed in RENAMED_DIRECTIVES)
"""The first words of the directives that have another name in the current syntax."""


class StatementHeader(msgspec.Struct, frozen=True):
    """The name at the beginning of a line, and the offset of its end."""

    name: str
    end: int
    renamed: RenamedDirective | None = None


def read_header(text: str) -> StatementHeader | None:
    """Read the name at the beginning of a directive; None for a text without words."""
    words = list(_find_words(text, 2))
    if not words:
        return None
    names = [word.group() for word in words]
    for renamed in RENAMED_DIRECTIVES:
        if tuple(part.lower() for part in names[: len(renamed.words)]) == renamed.words:
            return StatementHeader(renamed.name, words[len(renamed.words) - 1].end(), renamed)
    return StatementHeader(names[0], words[0].end())


def _find_words(text: str, limit: int) -> list[re.Match[str]]:
    found: list[re.Match[str]] = []
    at = 0
    while len(found) < limit:
        match = _FIRST.search(text, at)
        if match is None:
            break
        found.append(match)
        at = match.end()
    return found


def parse_legacy_arguments(
    text: str, header: StatementHeader, declared: Sequence[Argument]
) -> BoundArguments | ArgumentMismatch:
    """Parse the arguments of a line in the legacy syntax.

    :param text: the whole masked line, without a semicolon at its end.
    """
    arguments = list(declared)
    before: list[ParsedArgument] = []
    after: list[ParsedArgument] = []
    if header.renamed is not None:
        if header.renamed.first:
            before = [ParsedArgument(ArgumentKind.IDENTIFIER, header.renamed.first, 0)]
            arguments = arguments[1:]
        if header.renamed.last:
            after = [ParsedArgument(ArgumentKind.BOOL, _FLAGS[header.renamed.last], 0)]
            arguments = arguments[:-1]
    words = _LegacyWords(text, header.end)
    given = words.parse(arguments)
    if isinstance(given, ArgumentMismatch):
        return given
    bound = bind_arguments(declared, [*before, *given, *after])
    if (
        isinstance(bound, BoundArguments)
        and words.at < len(text)
        and not _COMMENT.match(text, words.at)
    ):
        bound.ignored.append(ParsedArgument(None, text[words.at :], words.at))
    return bound


class _LegacyWords:
    """Reads the arguments of a line one by one."""

    def __init__(self, text: str, at: int) -> None:
        self.text = text
        self.at = at

    def parse(self, declared: Sequence[Argument]) -> list[ParsedArgument] | ArgumentMismatch:
        given: list[ParsedArgument] = []
        for index, argument in enumerate(declared):
            self._skip_spaces()
            if self.at >= len(self.text):
                break
            is_last_text = index == len(declared) - 1 and argument.kind in _LAST_KINDS
            start = self.at
            if is_last_text or argument.kind is ArgumentKind.EXPRESSION:
                word = self._read_rest()
            else:
                word = self._read_word(argument)
            value = _parse_value(argument, word, start)
            if isinstance(value, ArgumentMismatch):
                if not argument.is_optional:
                    return value
                self.at = start
                continue
            given.append(value)
        self._skip_spaces()
        return given

    def _skip_spaces(self) -> None:
        while self.at < len(self.text) and self.text[self.at].isspace():
            self.at += 1

    def _read_rest(self) -> str:
        rest = self.text[self.at :].rstrip()
        self.at = len(self.text)
        return rest

    def _read_word(self, argument: Argument) -> str:
        found = _WORD.match(self.text, self.at)
        assert found is not None
        end = found.end()
        if argument.kind in _LIST_KINDS:
            end = self._find_list_end(end)
        word = self.text[self.at : end]
        self.at = end
        return word

    def _find_list_end(self, end: int) -> int:
        """Return the end of the words that commas join: ``a, b,c``."""
        while True:
            comma = _JOINED.match(self.text, end)
            more = _MEMBER.match(self.text, comma.end()) if comma else None
            if more is None:
                return end
            end = more.end()


_LAST_KINDS: Final = (
    ArgumentKind.TEXT,
    ArgumentKind.TEXTS,
    ArgumentKind.RANGES,
    ArgumentKind.PROPERTIES,
)
_LIST_KINDS: Final = (ArgumentKind.COLUMNS, ArgumentKind.NUMBERS, ArgumentKind.BOOLS)


def _parse_value(argument: Argument, word: str, start: int) -> ParsedArgument | ArgumentMismatch:
    """Parse a word as a value of the argument's kind."""
    kind = argument.kind
    has_macro = MASK in word
    if kind in (ArgumentKind.COLUMN, ArgumentKind.COLUMNS):
        return _parse_columns(argument, word, start)
    if kind is ArgumentKind.TEXT:
        return ParsedArgument(kind, _strip_enclosing_quotes(word), start, has_macro)
    if kind is ArgumentKind.EXPRESSION:
        return ParsedArgument(kind, (start, start + len(word)), start, has_macro)
    if kind is ArgumentKind.IDENTIFIER:
        if not has_macro and not _IDENTIFIER.fullmatch(word):
            return ArgumentMismatch(
                f"'{_shorten(word)}' is not a value of '{argument.name}'", start
            )
        return ParsedArgument(kind, word, start, has_macro)
    if has_macro:
        return ParsedArgument(None, word, start, has_macro)
    return _parse_typed(argument, word, start)


def _parse_columns(argument: Argument, word: str, start: int) -> ParsedArgument | ArgumentMismatch:
    """Parse one column, or a list that commas separate; commas after the last column are ignored."""
    is_list = argument.kind is ArgumentKind.COLUMNS
    names = _COMMA.split(word.rstrip(", ")) if is_list else [word]
    if names == [""]:
        return ArgumentMismatch(f"'{argument.name}' names no column", start)
    if "" in names:
        return ArgumentMismatch(f"'{argument.name}' has a comma without a name before it", start)
    for name in names:
        if not _NAME.fullmatch(name):
            return ArgumentMismatch(f"'{_shorten(name)}' is not a name of a column", start)
    columns = [name.removeprefix(":") for name in names]
    return ParsedArgument(argument.kind, columns if is_list else columns[0], start, MASK in word)


def _parse_typed(argument: Argument, word: str, start: int) -> ParsedArgument | ArgumentMismatch:
    kind = argument.kind
    wrong = ArgumentMismatch(f"'{_shorten(word)}' is not a value of '{argument.name}'", start)
    if kind is ArgumentKind.BOOL:
        flag = _FLAGS.get(word.lower())
        return wrong if flag is None else ParsedArgument(kind, flag, start)
    if kind is ArgumentKind.NUMBER:
        return ParsedArgument(kind, parse_number(word), start) if _NUMBER.fullmatch(word) else wrong
    if kind is ArgumentKind.NUMBERS:
        parts = _COMMA.split(word)
        if all(_NUMBER.fullmatch(part) for part in parts):
            return ParsedArgument(kind, [parse_number(part) for part in parts], start)
        return wrong
    try:
        given = parse_statement(f"x {word}").arguments
    except RecipeSyntaxError:
        return wrong
    if len(given) != 1 or given[0].kind is not kind:
        return wrong
    return msgspec.structs.replace(given[0], start=start)


def _strip_enclosing_quotes(word: str) -> str:
    is_quoted = len(word) > 1 and word[0] == word[-1] and word[0] in "'\""
    return strip_quotes(word) if is_quoted else word


def _shorten(text: str) -> str:
    return text if len(text) <= 30 else text[:29] + "…"
