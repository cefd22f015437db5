"""The older form of directives: bare columns, texts without quotes, bare expressions.

Each line is one directive. Words are separated by spaces, and an argument that is the last one, or an
expression, takes the rest of the line (wrangler ``MigrateToV2``). Words with ``:`` and quotes are taken as
in the present form, so that mixed lines are understood too.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

import msgspec

from localcdap.api.directive.argument import Argument, ArgumentKind
from localcdap.plugin_lib.wrangler.language.binding import Bound, Mismatch, bind
from localcdap.plugin_lib.wrangler.language.grammar import (
    Given,
    SyntaxProblemError,
    number,
    parse_statement,
    unquoted,
)
from localcdap.plugin_lib.wrangler.language.splitter import MASK

_WORD: Final = re.compile(r"""'[^'\n]*'(?=\s|$)|"[^"\n]*"(?=\s|$)|\S+""")
_NUMBER: Final = re.compile(r"-?[0-9]+(?:\.[0-9]*)?[Ll]*")
_NAME: Final = re.compile(r""":?[^\s,;'"=(){}:][^\s,;'"=(){}]*""")
_IDENTIFIER: Final = re.compile(r"[A-Za-z_\-][A-Za-z0-9_\-.]*")
_REMARK: Final = re.compile(r"//|--|#")
_FIRST: Final = re.compile(r"\S+")
_JOINED: Final = re.compile(r"\s*,\s*|(?<=,)\s+")
_MEMBER: Final = re.compile(r"[^\s,]\S*")
_COMMA: Final = re.compile(r"\s*,\s*")
_FLAGS: Final = {"true": True, "false": False}


class Renamed(msgspec.Struct, frozen=True):
    """A directive that has another name now."""

    words: tuple[str, ...]
    """What it begins with in the older form."""
    name: str
    first: str = ""
    """What stands before its arguments in the present form."""
    last: str = ""
    """What stands behind them."""


RENAMED: Final = (
    Renamed(("set", "columns"), "set-headers"),
    Renamed(("set", "column"), "set-column"),
    Renamed(("filter-row-if-matched",), "filter-by-regex", first="if-matched"),
    Renamed(("filter-row-if-not-matched",), "filter-by-regex", first="if-not-matched"),
    Renamed(("filter-row-if-true",), "filter-row", last="true"),
    Renamed(("filter-row-if-false",), "filter-row", last="false"),
    Renamed(("filter-rows-on", "condition-true"), "filter-row", last="true"),
    Renamed(("filter-rows-on", "condition-false"), "filter-row", last="false"),
    Renamed(("filter-rows-on", "empty-or-null-columns"), "filter-empty-or-null"),
    Renamed(("filter-rows-on", "regex-match"), "filter-by-regex", first="if-matched"),
    Renamed(("filter-rows-on", "regex-not-match"), "filter-by-regex", first="if-not-matched"),
)
NAMES: Final = frozenset(renamed.words[0] for renamed in RENAMED)
"""The first words of directives that have another name now."""


class Header(msgspec.Struct, frozen=True):
    """The name that a line of the older form begins with, and where its arguments begin."""

    name: str
    rest: int
    renamed: Renamed | None = None


def header(text: str) -> Header | None:
    """The beginning of a directive; None where there is no word."""
    words = list(_take_words(text, 2))
    if not words:
        return None
    spelt = [word.group() for word in words]
    for renamed in RENAMED:
        if tuple(part.lower() for part in spelt[: len(renamed.words)]) == renamed.words:
            return Header(renamed.name, words[len(renamed.words) - 1].end(), renamed)
    return Header(spelt[0], words[0].end())


def _take_words(text: str, most: int) -> list[re.Match[str]]:
    found: list[re.Match[str]] = []
    at = 0
    while len(found) < most:
        match = _FIRST.search(text, at)
        if match is None:
            break
        found.append(match)
        at = match.end()
    return found


def read_older(text: str, head: Header, declared: Sequence[Argument]) -> Bound | Mismatch:
    """The arguments of a line in the older form.

    :param text: the whole line, masked, without a semicolon at its end.
    """
    arguments = list(declared)
    before: list[Given] = []
    after: list[Given] = []
    if head.renamed is not None:
        if head.renamed.first:
            before = [Given(ArgumentKind.IDENTIFIER, head.renamed.first, 0)]
            arguments = arguments[1:]
        if head.renamed.last:
            after = [Given(ArgumentKind.BOOL, _FLAGS[head.renamed.last], 0)]
            arguments = arguments[:-1]
    words = _Words(text, head.rest)
    given = words.read(arguments)
    if isinstance(given, Mismatch):
        return given
    bound = bind(declared, [*before, *given, *after])
    if isinstance(bound, Bound) and words.at < len(text) and not _REMARK.match(text, words.at):
        bound.ignored.append(Given(None, text[words.at :], words.at))
    return bound


class _Words:
    """Takes the arguments of a line one by one."""

    def __init__(self, text: str, at: int) -> None:
        self.text = text
        self.at = at

    def read(self, declared: Sequence[Argument]) -> list[Given] | Mismatch:
        given: list[Given] = []
        for index, argument in enumerate(declared):
            self._skip()
            if self.at >= len(self.text):
                break
            is_last_text = index == len(declared) - 1 and argument.kind in _TO_THE_END
            start = self.at
            if is_last_text or argument.kind is ArgumentKind.EXPRESSION:
                word = self._rest()
            else:
                word = self._word(argument)
            value = _value(argument, word, start)
            if isinstance(value, Mismatch):
                if not argument.is_optional:
                    return value
                self.at = start
                continue
            given.append(value)
        self._skip()
        return given

    def _skip(self) -> None:
        while self.at < len(self.text) and self.text[self.at].isspace():
            self.at += 1

    def _rest(self) -> str:
        rest = self.text[self.at :].rstrip()
        self.at = len(self.text)
        return rest

    def _word(self, argument: Argument) -> str:
        found = _WORD.match(self.text, self.at)
        assert found is not None
        end = found.end()
        if argument.kind in _SEPARATED:
            end = self._list_end(end)
        word = self.text[self.at : end]
        self.at = end
        return word

    def _list_end(self, end: int) -> int:
        """Behind the words that commas join: ``a, b,c``."""
        while True:
            comma = _JOINED.match(self.text, end)
            more = _MEMBER.match(self.text, comma.end()) if comma else None
            if more is None:
                return end
            end = more.end()


_TO_THE_END: Final = (
    ArgumentKind.TEXT,
    ArgumentKind.TEXTS,
    ArgumentKind.RANGES,
    ArgumentKind.PROPERTIES,
)
_SEPARATED: Final = (ArgumentKind.COLUMNS, ArgumentKind.NUMBERS, ArgumentKind.BOOLS)


def _value(argument: Argument, word: str, start: int) -> Given | Mismatch:
    """A word as a value of the argument's kind."""
    kind = argument.kind
    has_macro = MASK in word
    if kind in (ArgumentKind.COLUMN, ArgumentKind.COLUMNS):
        return _named(argument, word, start)
    if kind is ArgumentKind.TEXT:
        return Given(kind, _text(word), start, has_macro)
    if kind is ArgumentKind.EXPRESSION:
        return Given(kind, (start, start + len(word)), start, has_macro)
    if kind is ArgumentKind.IDENTIFIER:
        if not has_macro and not _IDENTIFIER.fullmatch(word):
            return Mismatch(f"'{_shortened(word)}' is no value of '{argument.name}'", start)
        return Given(kind, word, start, has_macro)
    if has_macro:
        return Given(None, word, start, has_macro)
    return _typed(argument, word, start)


def _named(argument: Argument, word: str, start: int) -> Given | Mismatch:
    """One column, or those that commas separate; commas behind the last one are passed over."""
    is_list = argument.kind is ArgumentKind.COLUMNS
    names = _COMMA.split(word.rstrip(", ")) if is_list else [word]
    if names == [""]:
        return Mismatch(f"'{argument.name}' names no column", start)
    if "" in names:
        return Mismatch(f"'{argument.name}' has a comma without a name before it", start)
    for name in names:
        if not _NAME.fullmatch(name):
            return Mismatch(f"'{_shortened(name)}' is no name of a column", start)
    columns = [name.removeprefix(":") for name in names]
    return Given(argument.kind, columns if is_list else columns[0], start, MASK in word)


def _typed(argument: Argument, word: str, start: int) -> Given | Mismatch:
    kind = argument.kind
    wrong = Mismatch(f"'{_shortened(word)}' is no value of '{argument.name}'", start)
    if kind is ArgumentKind.BOOL:
        flag = _FLAGS.get(word.lower())
        return wrong if flag is None else Given(kind, flag, start)
    if kind is ArgumentKind.NUMBER:
        return Given(kind, number(word), start) if _NUMBER.fullmatch(word) else wrong
    if kind is ArgumentKind.NUMBERS:
        parts = _COMMA.split(word)
        if all(_NUMBER.fullmatch(part) for part in parts):
            return Given(kind, [number(part) for part in parts], start)
        return wrong
    try:
        given = parse_statement(f"x {word}").given
    except SyntaxProblemError:
        return wrong
    if len(given) != 1 or given[0].kind is not kind:
        return wrong
    return msgspec.structs.replace(given[0], start=start)


def _text(word: str) -> str:
    is_quoted = len(word) > 1 and word[0] == word[-1] and word[0] in "'\""
    return unquoted(word) if is_quoted else word


def _shortened(text: str) -> str:
    return text if len(text) <= 30 else text[:29] + "…"
